// SPDX-License-Identifier: Apache-2.0
//
// Whether a file is XML that can hold a topology, before hwloc reads it: hwloc takes half a
// document for a whole one, fills gigabytes over a number that is too big, and the stack over
// objects that are too deep inside each other, and where it refuses a file it does not say at which
// line.
//
// Thread-safety: safe (pure function). Memory: one buffer of 64 KiB; depth does not recurse.
#pragma once

#include <filesystem>

#include "base/status.h"

namespace gopmill {

// OK when the file is well-formed, its outermost element is <topology>, at most 64 elements are
// inside each other, and PUs and memory nodes have numbers of at most 1048576. Otherwise
// kInvalidArgument with line and column; kNotFound when it cannot be read.
Status CheckTopologyXml(const std::filesystem::path& file);

}  // namespace gopmill
