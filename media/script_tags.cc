// SPDX-License-Identifier: Apache-2.0
#include "media/script_tags.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/words.h"
#include "media/script_values.h"

namespace gopmill {
namespace {

enum class TagKind {
  kNumber,     // up to `most`
  kSize,       // up to the picture's height, also below 0
  kColour,     // hexadecimal
  kName,       // of a font or style
  kList,       // numbers in parentheses
  kAnimation,  // tags in parentheses, behind numbers
  kDrawing,
  kUnwanted,  // begins like another one
};
struct Tag {
  std::string_view name;
  TagKind kind = TagKind::kNumber;
  double most = 0;
};
// A longer name before one that it begins with, as libass looks for them.
constexpr std::array kScriptTags = std::to_array<Tag>({
    {"xbord", TagKind::kSize},
    {"ybord", TagKind::kSize},
    {"xshad", TagKind::kSize},
    {"yshad", TagKind::kSize},
    {"fscx", TagKind::kNumber, 300},
    {"fscy", TagKind::kNumber, 300},
    {"fsc", TagKind::kUnwanted},
    {"frx", TagKind::kUnwanted},
    {"fry", TagKind::kUnwanted},
    {"fax", TagKind::kUnwanted},
    {"fay", TagKind::kUnwanted},
    {"fe", TagKind::kUnwanted},
    {"pbo", TagKind::kUnwanted},
    {"kt", TagKind::kUnwanted},
    {"fsp", TagKind::kSize},
    {"fs", TagKind::kSize},
    {"bord", TagKind::kSize},
    {"move", TagKind::kList},
    {"frz", TagKind::kNumber, 3600},
    {"fr", TagKind::kNumber, 3600},
    {"fn", TagKind::kName},
    {"alpha", TagKind::kColour},
    {"an", TagKind::kNumber, 9},
    {"a", TagKind::kNumber, 11},
    {"pos", TagKind::kList},
    {"fade", TagKind::kList},
    {"fad", TagKind::kList},
    {"org", TagKind::kList},
    {"t", TagKind::kAnimation},
    {"clip", TagKind::kList},
    {"iclip", TagKind::kList},
    {"c", TagKind::kColour},
    {"1c", TagKind::kColour},
    {"2c", TagKind::kColour},
    {"3c", TagKind::kColour},
    {"4c", TagKind::kColour},
    {"1a", TagKind::kColour},
    {"2a", TagKind::kColour},
    {"3a", TagKind::kColour},
    {"4a", TagKind::kColour},
    {"r", TagKind::kName},
    {"be", TagKind::kNumber, 20},
    {"blur", TagKind::kNumber, 50},
    {"b", TagKind::kNumber, 1000},
    {"i", TagKind::kNumber, 1},
    {"kf", TagKind::kNumber, 100'000},
    {"ko", TagKind::kNumber, 100'000},
    {"k", TagKind::kNumber, 100'000},
    {"K", TagKind::kNumber, 100'000},
    {"shad", TagKind::kSize},
    {"s", TagKind::kNumber, 1},
    {"u", TagKind::kNumber, 1},
    {"p", TagKind::kDrawing},
    {"q", TagKind::kNumber, 3},
});
constexpr std::size_t kMaxListed = 7;
constexpr double kFarthest = 1e7;  // places and milliseconds
constexpr double kLeastAccel = 0.01, kMostAccel = 10;

// With or without its parentheses.
std::string_view TrimArgument(std::string_view text) { return Trim(text, " \t()"); }

// Nothing if there is anything else, such as a drawing.
std::vector<double> Listed(std::string_view text) {
  std::vector<double> numbers;
  for (const std::string_view part : Split(TrimArgument(text), ',', kMaxListed + 1)) {
    const auto number = ScriptNumber(Trim(part), -kFarthest, kFarthest);
    if (!number || numbers.size() == kMaxListed) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

class Block {
 public:
  Block(const ScriptHead& head, std::string_view style)
      : head_(head), height_(head.height), sizes_(head.SizesOf(style)) {}
  // The tags of a block without its braces.
  std::string Write(std::string_view block, bool inside = false);
  [[nodiscard]] bool drawing() const { return drawing_; }
  // Of one letter at most.
  [[nodiscard]] double ink() const {
    const double side = sizes_.letter * sizes_.scale + 2 * sizes_.border + 2 * blur_;
    return side * side / (height_ * height_);
  }

 private:
  std::string WriteTag(const Tag& tag, std::string_view argument, bool inside);
  std::string WriteAnimation(std::string_view argument);
  void Measure(const Tag& tag, double number);

  const ScriptHead& head_;
  const double height_;
  ScriptSizes sizes_;
  double blur_ = 0;
  bool drawing_ = false;
};

std::string Block::WriteAnimation(std::string_view argument) {
  const std::size_t tags = argument.find('\\');
  if (tags == std::string_view::npos) return {};
  const std::string inner = Write(argument.substr(tags), true);
  if (inner.empty()) return {};
  std::string_view front = TrimArgument(argument.substr(0, tags));
  if (front.ends_with(',')) front.remove_suffix(1);
  std::vector<double> numbers = Listed(front);
  if (numbers.size() > 3) numbers.clear();
  // The last of one or three is the speed.
  if (numbers.size() % 2 == 1) {
    numbers.back() = std::clamp(numbers.back(), kLeastAccel, kMostAccel);
  }
  std::string text = "\\t(";
  for (const double number : numbers) text += ScriptDigits(number) + ",";
  return text + inner + ")";
}

void Block::Measure(const Tag& tag, double number) {
  if (tag.name == "fs") sizes_.letter = std::max(sizes_.letter, number);
  if (tag.name.ends_with("bord")) sizes_.border = std::max(sizes_.border, std::abs(number));
  if (tag.name.starts_with("fsc")) {
    sizes_.scale = std::max(sizes_.scale, std::abs(number) / 100);
  }
  if (tag.name == "blur" || tag.name == "be") blur_ = std::max(blur_, std::abs(number));
}

std::string Block::WriteTag(const Tag& tag, std::string_view argument, bool inside) {
  const std::string_view plain = TrimArgument(argument);
  switch (tag.kind) {
    case TagKind::kNumber:
    case TagKind::kSize: {
      const double most = tag.kind == TagKind::kSize ? height_ : tag.most;
      if (plain.empty()) return fmt::format("\\{}", tag.name);
      const auto number = ScriptNumber(plain, -most, most);
      // A sign makes a font's size relative, and adds up.
      const bool relative = tag.name == "fs" && (plain.front() == '+' || plain.front() == '-');
      if (!number || relative) return {};
      Measure(tag, *number);
      return fmt::format("\\{}{}", tag.name, ScriptDigits(*number));
    }
    case TagKind::kColour: return fmt::format("\\{}{}", tag.name, ScriptColour(plain));
    case TagKind::kName: {
      // Nothing that libass could take for another tag, or for the end of this one.
      const std::string_view whole = plain.substr(0, plain.find_first_of("\\(){}"));
      const std::string_view name = TrimArgument(whole.substr(0, kMaxScriptName));
      // Without a name it is the event's own style that comes back.
      if (tag.name == "r" && !name.empty()) sizes_.Enlarge(head_.SizesOf(name));
      return fmt::format("\\{}{}", tag.name, name);
    }
    case TagKind::kList: {
      const std::vector<double> numbers = Listed(argument);
      if (numbers.empty()) return {};
      std::string list;
      for (const double number : numbers) list += (list.empty() ? "" : ",") + ScriptDigits(number);
      return fmt::format("\\{}({})", tag.name, list);
    }
    case TagKind::kUnwanted: break;
    case TagKind::kAnimation: return inside ? "" : WriteAnimation(argument);
    case TagKind::kDrawing: {
      const auto scale = ScriptNumber(plain, 0, 1);
      drawing_ = drawing_ || (scale && *scale > 0);
      return {};
    }
  }
  return {};
}

// Where the argument at the start of `text` ends: at the next tag, or behind its parenthesis.
std::size_t ArgumentEnd(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos || text[first] != '(') {
    return std::min(text.find('\\'), text.size());
  }
  int depth = 0;
  for (std::size_t at = first; at < text.size(); ++at) {
    if (text[at] == '(') ++depth;
    if (text[at] == ')' && --depth == 0) return at + 1;
  }
  return text.size();
}

std::string Block::Write(std::string_view block, bool inside) {
  std::string text;
  while (true) {
    const std::size_t slash = block.find('\\');
    if (slash == std::string_view::npos) return text;
    block.remove_prefix(slash + 1);
    block.remove_prefix(std::min(block.find_first_not_of(" \t"), block.size()));
    const auto begins = [&](std::string_view name) { return block.starts_with(name); };
    const auto* tag = std::ranges::find_if(kScriptTags, begins, &Tag::name);
    if (tag == kScriptTags.end()) continue;
    block.remove_prefix(tag->name.size());
    const std::size_t end = ArgumentEnd(block);
    text += WriteTag(*tag, block.substr(0, end), inside);
    block.remove_prefix(end);
  }
}

// Of UTF-8: bytes that do not continue one.
std::size_t CharactersIn(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
}

}  // namespace

TamedEvent TameEvent(std::string_view text, const ScriptHead& head, std::string_view style) {
  TamedEvent tamed;
  if (text.size() > kMaxEventBytes) return tamed;
  Block writer(head, style);
  std::size_t letters = 0;
  while (!text.empty()) {
    const std::size_t plain = std::min(text.find_first_of("\\{"), text.size());
    letters += CharactersIn(text.substr(0, plain));
    tamed.text += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t close = text.find('}');
    if (text.front() == '\\') {
      // An escape: of a brace, a line end or a blank.
      const std::size_t escape = std::min<std::size_t>(text.size(), 2);
      tamed.text += text.substr(0, escape);
      text.remove_prefix(escape);
      ++letters;
    } else if (close == std::string_view::npos) {
      tamed.text += "\\{";  // no block
      text.remove_prefix(1);
    } else {
      const std::string block = writer.Write(text.substr(1, close - 1));
      if (!block.empty()) tamed.text += "{" + block + "}";
      text.remove_prefix(close + 1);
    }
  }
  if (writer.drawing()) tamed.text.clear();
  tamed.ink = static_cast<double>(letters) * writer.ink();
  return tamed;
}

}  // namespace gopmill
