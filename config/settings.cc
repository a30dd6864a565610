// SPDX-License-Identifier: Apache-2.0
#include "config/settings.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "base/digits.h"

namespace gopmill {
namespace {

// digits[KiB|MiB|GiB]; nothing else.
std::optional<std::int64_t> ParseNumber(std::string_view text) {
  std::int64_t scale = 1;
  for (const auto& [suffix, factor] : {std::pair<std::string_view, std::int64_t>{"KiB", 1 << 10},
                                       {"MiB", 1 << 20},
                                       {"GiB", 1 << 30}}) {
    if (text.ends_with(suffix)) {
      scale = factor;
      text.remove_suffix(suffix.size());
      break;
    }
  }
  const auto value = ParseDigits(text);
  if (!value || (*value > (std::int64_t{1} << 32) && scale > 1)) return std::nullopt;
  return *value * scale;
}

bool SetWord(const Setting& setting, std::string_view value, ServerConfig& config) {
  const auto& choices = setting.choices;
  const bool accepted =
      choices.empty()
          ? (setting.may_be_empty || !value.empty()) && value.find('\0') == std::string_view::npos
          : std::find(choices.begin(), choices.end(), value) != choices.end();
  if (accepted) setting.text(config) = std::string(value);
  return accepted;
}

template <class Field>
const Setting* Find(Field Setting::*field, std::string_view wanted) {
  for (const Setting& setting : Settings()) {
    if (setting.*field == wanted && !wanted.empty()) return &setting;
  }
  return nullptr;
}

}  // namespace

const Setting* FindSettingByPointer(std::string_view pointer) {
  return Find(&Setting::pointer, pointer);
}

const Setting* FindSettingByFlag(std::string_view flag) { return Find(&Setting::flag, flag); }

std::string EnvironmentName(const Setting& setting) {
  std::string name = "GOPMILL";
  for (const char c : setting.pointer) {
    name += c == '/' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

bool SetNumber(const Setting& setting, std::int64_t value, ServerConfig& config) {
  if (setting.number == nullptr || value < setting.low || value > setting.high) return false;
  setting.number(config) = value;
  return true;
}

bool SetText(const Setting& setting, std::string_view value, ServerConfig& config) {
  if (setting.text != nullptr) return SetWord(setting, value, config);
  const auto number = ParseNumber(value);
  return number && SetNumber(setting, *number, config);
}

std::string GetText(const Setting& setting, const ServerConfig& config) {
  ServerConfig copy = config;  // the accessors give references that can be written to
  return setting.text != nullptr ? setting.text(copy) : std::to_string(setting.number(copy));
}

std::string ShownText(const Setting& setting, const ServerConfig& config) {
  std::string text = GetText(setting, config);
  return setting.secret && !text.empty() ? "(not shown)" : text;
}

void CopySetting(const Setting& setting, const ServerConfig& from, ServerConfig& to) {
  ServerConfig copy = from;
  if (setting.text != nullptr) {
    setting.text(to) = setting.text(copy);
  } else {
    setting.number(to) = setting.number(copy);
  }
}

}  // namespace gopmill
