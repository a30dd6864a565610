// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with a command line, in words that name the mistake and what was meant.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace gopmill::cli {

// Whether an argument is meant as an option: "-" alone stands for a stream.
bool IsOption(std::string_view arg);

// The one of `known` that differs in the fewest letters, if it is near enough to be what was meant.
// Of several the first.
std::optional<std::string> NearestName(std::string_view given, std::span<const std::string> known);

// "There is no command 'serv'; did you mean serve? The commands are ...". None was given if it is
// empty.
std::string NoSuchCommand(std::string_view given, std::span<const std::string> commands);

// What a command did not take, in the order of the line. `options` are its own, with their dashes,
// and `positional` the names of what it takes without one. Where there is an option that it does
// not know, what else is left over may be a value of that, and nothing is said of it.
std::string NotTaken(std::span<const std::string> left_over, std::span<const std::string> options,
                     std::span<const std::string> positional);

// For a source that cannot be opened: URLs are not read. None if `input` is no URL.
std::optional<std::string> UrlHint(std::string_view command, std::string_view input);

// With the output's `path` in front if the error is that a disk (or a limit) is full and names no
// file.
Error WithFullDisk(const Error& error, const std::string& path);

}  // namespace gopmill::cli
