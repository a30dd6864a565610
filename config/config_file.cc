// SPDX-License-Identifier: Apache-2.0
#include "config/config_file.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "config/settings.h"

namespace gopmill {
namespace {

using Json = nlohmann::json;

// Line and column, counted from 1, of what the parser has read.
struct Position {
  std::size_t line = 1, column = 1;
};

// Reads characters for the parser and keeps count, since the parser itself reports no positions of
// the values it finds.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, Position* position) : at_(at), position_(position) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    if (*at_ == '\n') {
      ++position_->line;
      position_->column = 1;
    } else {
      ++position_->column;
    }
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  // The other comparison is derived from it.
  friend bool operator==(const CountingIterator& a, const CountingIterator& b) {
    return a.at_ == b.at_;
  }

 private:
  const char* at_;
  Position* position_;
};

// Receives the parser's events and applies each value to the config as it comes.
class FileReader : public nlohmann::json_sax<Json> {
 public:
  FileReader(const std::string& name, const Position* position, ServerConfig* config,
             ConfigOrigins* origins)
      : name_(name), position_(position), config_(config), origins_(origins) {}

  std::vector<ConfigProblem> TakeProblems() { return std::move(problems_); }

  bool null() override { return OnWrongType("null"); }
  bool boolean(bool) override { return OnWrongType("true or false"); }
  bool number_float(number_float_t, const string_t& text) override {
    return OnWrongType("the number " + text);
  }
  bool binary(binary_t&) override { return OnWrongType("binary data"); }
  bool number_integer(number_integer_t value) override { return OnInteger(value); }
  bool number_unsigned(number_unsigned_t value) override {
    constexpr auto kMax = static_cast<number_unsigned_t>(INT64_MAX);
    return OnInteger(static_cast<std::int64_t>(std::min(value, kMax)));
  }

  bool string(string_t& value) override {
    if (const Setting* setting = Expect()) {
      Accept(*setting, SetText(*setting, value, *config_), "the text \"" + Shown(value) + "\"");
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (path_.empty() && !started_) {
      started_ = true;
    } else if (skipping_ == 0 && !IsSection(Pointer())) {
      OnWrongType("an object");
      skipping_ = depth_ + 1;
    }
    ++depth_;
    return true;
  }
  bool start_array(std::size_t) override {
    if (skipping_ == 0) {
      OnWrongType("a list");
      skipping_ = depth_ + 1;
    }
    ++depth_;
    return true;
  }
  bool end_object() override { return OnEnd(); }
  bool end_array() override { return OnEnd(); }

  bool key(string_t& name) override {
    if (skipping_ != 0) return true;
    path_.resize(static_cast<std::size_t>(depth_ - 1));
    path_.push_back(name);
    key_at_ = *position_;
    // The parser has just read the closing quote.
    const std::size_t length = name.size() + 2;
    key_at_.column = key_at_.column > length ? key_at_.column - length : 1;
    const std::string pointer = Pointer();
    if (!seen_.insert(pointer).second) Report(Shown(pointer) + " is given twice.");
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const Json::exception& error) override {
    // "[json.exception.parse_error.101] parse error at line 3, column 11: syntax error ..."
    // What was read last may be a password.
    const std::string whole = error.what();
    const std::string what = whole.substr(0, whole.find("; last read:"));
    const std::size_t colon = what.find(": ");
    key_at_ = *position_;
    std::sscanf(what.c_str(), "%*[^]]] parse error at line %zu, column %zu", &key_at_.line,
                &key_at_.column);
    Report("This is not valid JSON: " +
           Shown(colon == std::string::npos ? what : what.substr(colon + 2)) + ".");
    return false;
  }

 private:
  static std::string Shown(const std::string& text) {
    constexpr std::size_t kShown = 120;
    std::string shown;
    for (const char c : text.substr(0, kShown)) shown += (c >= ' ' && c <= '~') ? c : '?';
    return text.size() > kShown ? shown + "..." : shown;
  }

  std::string Pointer() const {
    std::string pointer;
    for (const std::string& part : path_) {
      pointer += '/';
      for (const char c : part) pointer += c == '/' ? "~1" : std::string(1, c);  // RFC 6901
    }
    return pointer;
  }

  static bool IsSection(const std::string& pointer) {
    for (const Setting& setting : Settings()) {
      if (setting.pointer.starts_with(pointer + "/")) return true;
    }
    return false;
  }

  void Report(std::string message) {
    problems_.push_back(
        {name_ + ":" + std::to_string(key_at_.line) + ":" + std::to_string(key_at_.column),
         std::move(message)});
  }

  // The setting that the value which follows belongs to; reports when there is none.
  const Setting* Expect() {
    if (skipping_ != 0) return nullptr;
    const std::string pointer = Pointer();
    const Setting* setting = FindSettingByPointer(pointer);
    if (setting != nullptr) return setting;
    if (pointer.empty()) {
      Report("The file must hold one object, { ... }.");
    } else if (IsSection(pointer)) {
      Report(Shown(pointer) + " must be an object, { ... }.");
    } else {
      Report(Shown(pointer) + " is not a setting.");
    }
    return nullptr;
  }

  void Accept(const Setting& setting, bool accepted, const std::string& got) {
    if (accepted) {
      origins_->insert_or_assign(std::string(setting.pointer),
                                 "file " + name_ + ":" + std::to_string(key_at_.line));
      return;
    }
    Report(std::string(setting.pointer) + " must be " + std::string(setting.accepted) +
           (setting.secret ? "." : ", not " + got + "."));
  }

  bool OnInteger(std::int64_t value) {
    if (const Setting* setting = Expect()) {
      Accept(*setting, SetNumber(*setting, value, *config_), std::to_string(value));
    }
    return true;
  }

  bool OnWrongType(const std::string& got) {
    if (const Setting* setting = Expect()) Accept(*setting, false, got);
    return true;
  }

  bool OnEnd() {
    if (skipping_ == depth_) skipping_ = 0;
    --depth_;
    return true;
  }

  const std::string name_;
  const Position* position_;
  ServerConfig* config_;
  ConfigOrigins* origins_;
  std::vector<ConfigProblem> problems_;
  std::vector<std::string> path_;  // keys from the root to the value that is being read
  std::set<std::string> seen_;
  Position key_at_;
  int depth_ = 0;
  int skipping_ = 0;  // depth of the object or list whose contents are skipped; 0 = none
  bool started_ = false;
};

}  // namespace

std::vector<ConfigProblem> ApplyConfigFile(std::string_view text, const std::string& name,
                                           ServerConfig& config, ConfigOrigins& origins) {
  Position position;
  FileReader reader(name, &position, &config, &origins);
  constexpr bool kStrict = true, kIgnoreComments = true;
  // With a handler of events the parser reports errors to it and throws nothing.
  Json::sax_parse(CountingIterator(text.data(), &position),
                  CountingIterator(text.data() + text.size(), &position), &reader,
                  nlohmann::detail::input_format_t::json, kStrict, kIgnoreComments);
  return reader.TakeProblems();
}

}  // namespace gopmill
