// SPDX-License-Identifier: Apache-2.0
#include "config/small_file.h"

#include <fstream>

namespace gopmill {

Result<std::string> ReadSmallFile(const std::string& path, std::size_t most) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{.code = Code::kNotFound, .message = "The file cannot be opened."};
  std::string text(most + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  // A folder opens but does not read.
  if (file.bad()) return Error{.code = Code::kIo, .message = "The file cannot be read."};
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > most) {
    return Error{.code = Code::kResourceExhausted, .message = "The file is too large."};
  }
  return text;
}

}  // namespace gopmill
