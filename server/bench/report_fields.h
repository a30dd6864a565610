// SPDX-License-Identifier: Apache-2.0
//
// What the fields of the JSON mean that are no measures: a legend goes into each file, so that a
// number found there years later can be read without the program.
//
// Thread-safety: safe (constants).
#pragma once

#include <string_view>
#include <vector>

namespace gopmill::bench {

struct FieldDoc {
  std::string_view path;  // "runs.cores.busy_s": lists are passed through, * is any part
  std::string_view meaning;
};
std::vector<FieldDoc> FieldDocs();

}  // namespace gopmill::bench
