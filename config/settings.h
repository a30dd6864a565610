// SPDX-License-Identifier: Apache-2.0
//
// The one list of settings: where a value is in the config file, in the environment and on the
// command line, what it may be, and which field it fills. Loading, printing, reloading and the help
// text are loops over this list.
//
// Thread-safety: safe (the list is constant).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "config/server_config.h"

namespace gopmill {

struct Setting {
  std::string_view pointer;   // JSON pointer in the config file: "/http/port"
  std::string_view flag;      // "--http-port", or empty: file and environment only
  std::string_view accepted;  // for people: "0 to 65535"
  std::string_view meaning;
  bool reloadable = false;  // can change while the server runs

  // A whole number (bytes and seconds included) within [low, high]...
  std::int64_t& (*number)(ServerConfig&) = nullptr;
  std::int64_t low = 0, high = 0;
  // ...or a text: one of `choices`, or any that is not empty when there are none.
  std::string& (*text)(ServerConfig&) = nullptr;
  std::span<const std::string_view> choices = {};
  bool may_be_empty = false;  // an empty text is a value: nothing
  bool repeatable = false;    // the flag may be given again: texts are joined by blanks
  bool secret = false;        // may hold passwords: never shown
  bool guards = false;  // a reload may change it, and not empty it: that opens what was closed
};

std::span<const Setting> Settings();
// Null if there is none.
const Setting* FindSettingByPointer(std::string_view pointer);
const Setting* FindSettingByFlag(std::string_view flag);

// "/http/port" -> "GOPMILL_HTTP_PORT".
std::string EnvironmentName(const Setting& setting);

// Fill the field if the value is accepted, else leave it and return false. Numbers as text may end
// in KiB, MiB or GiB.
bool SetNumber(const Setting& setting, std::int64_t value, ServerConfig& config);
bool SetText(const Setting& setting, std::string_view value, ServerConfig& config);

// The field's value as it may be shown.
std::string ShownText(const Setting& setting, const ServerConfig& config);
// The field's value as text; copies `from`'s field to `to`.
std::string GetText(const Setting& setting, const ServerConfig& config);
void CopySetting(const Setting& setting, const ServerConfig& from, ServerConfig& to);

}  // namespace gopmill
