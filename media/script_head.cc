// SPDX-License-Identifier: Apache-2.0
#include "media/script_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <vector>

#include "base/utf8.h"
#include "base/words.h"
#include "media/script_values.h"

namespace gopmill {
namespace {

constexpr int kLeastSide = 100, kMostSide = 10'000, kMostRatio = 3;
constexpr std::size_t kMaxColumns = 40;

enum class FieldKind { kName, kColour, kNumber, kSize, kMargin };
struct StyleField {
  std::string_view name;  // in lower case
  FieldKind kind = FieldKind::kNumber;
  double least = 0, most = 0;  // of a number; a size goes up to the picture's height,
                               // a margin as far to the other side, too
  std::string_view usual;
};
// ASS version 4+, in its order; libass has the same where a script states none.
constexpr std::array kStyleFields = std::to_array<StyleField>({
    {"name", FieldKind::kName, 0, 0, "Default"},
    {"fontname", FieldKind::kName, 0, 0, "Arial"},
    {"fontsize", FieldKind::kSize, 1, 0, "18"},
    {"primarycolour", FieldKind::kColour, 0, 0, "&Hffffff"},
    {"secondarycolour", FieldKind::kColour, 0, 0, "&Hffffff"},
    {"outlinecolour", FieldKind::kColour, 0, 0, "&H0"},
    {"backcolour", FieldKind::kColour, 0, 0, "&H0"},
    {"bold", FieldKind::kNumber, -1, 1000, "0"},
    {"italic", FieldKind::kNumber, -1, 1, "0"},
    {"underline", FieldKind::kNumber, -1, 1, "0"},
    {"strikeout", FieldKind::kNumber, -1, 1, "0"},
    {"scalex", FieldKind::kNumber, 0, 300, "100"},
    {"scaley", FieldKind::kNumber, 0, 300, "100"},
    {"spacing", FieldKind::kSize, 0, 0, "0"},
    {"angle", FieldKind::kNumber, -360, 360, "0"},
    {"borderstyle", FieldKind::kNumber, 0, 4, "1"},
    {"outline", FieldKind::kSize, 0, 0, "1"},
    {"shadow", FieldKind::kSize, 0, 0, "0"},
    {"alignment", FieldKind::kNumber, 1, 11, "2"},
    {"marginl", FieldKind::kMargin, 0, 0, "10"},
    {"marginr", FieldKind::kMargin, 0, 0, "10"},
    {"marginv", FieldKind::kMargin, 0, 0, "10"},
    {"encoding", FieldKind::kNumber, -1, 255, "1"},
});
using StyleValues = std::map<std::string, std::string, std::less<>>;

std::string_view TrimLine(std::string_view text) { return Trim(text, " \t\v\f"); }

double FieldNumber(std::string_view text, double least, double most) {
  return ScriptNumber(text, least, most).value_or(least);
}

std::string WrittenField(const StyleField& field, std::string_view value, double height) {
  if (value.empty()) return std::string(field.usual);
  switch (field.kind) {
    case FieldKind::kName: return std::string(TrimLine(value.substr(0, kMaxScriptName)));
    case FieldKind::kColour: {
      const std::string colour = ScriptColour(value);
      return colour.empty() ? std::string(field.usual) : colour;
    }
    case FieldKind::kNumber: return ScriptDigits(FieldNumber(value, field.least, field.most));
    case FieldKind::kSize: return ScriptDigits(FieldNumber(value, field.least, height));
    case FieldKind::kMargin: return ScriptDigits(ScriptNumber(value, -height, height).value_or(0));
  }
  return {};
}

// As libass compares names: without the blanks around them, then without asterisks in front, and
// "Default" in any case. A name that it does not find it takes for another style, so no others may
// be taken for equal here.
std::string StyleKey(std::string_view name) {
  name = Trim(name, " \t");
  name.remove_prefix(std::min(name.find_first_not_of('*'), name.size()));
  return LowerAscii(name) == "default" ? "Default" : std::string(name);
}

// What a header says, line by line.
class HeadReader {
 public:
  void Read(std::string_view line) {
    line = TrimLine(line);
    if (line.starts_with('[')) {
      section_ = LowerAscii(line);
      return;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    const std::string key = LowerAscii(TrimLine(line.substr(0, colon)));
    const std::string_view value = TrimLine(line.substr(colon + 1));
    if (section_.starts_with("[script info]")) {
      ReadInfo(key, value);
    } else if (section_.find("styles]") != std::string::npos) {
      ReadStyle(key, value);
    }
  }

  [[nodiscard]] ScriptHead Write() const;

 private:
  void ReadInfo(const std::string& key, std::string_view value) {
    int side = 0;
    std::from_chars(value.data(), value.data() + value.size(), side);
    if (key == "playresx" && side >= kLeastSide && side <= kMostSide) width_ = side;
    if (key == "playresy" && side >= kLeastSide && side <= kMostSide) height_ = side;
    if (key == "wrapstyle" && side >= 0 && side <= 3) wrap_ = side;
  }
  void ReadStyle(const std::string& key, std::string_view value) {
    if (key == "format") {
      order_.clear();
      for (const auto name : Split(value, ',', kMaxColumns))
        order_.push_back(LowerAscii(TrimLine(name)));
      old_ = section_ == "[v4 styles]";
    }
    if (key != "style" || styles_.size() >= kMaxStyles) return;
    const std::vector<std::string_view> parts = Split(value, ',', kMaxColumns);
    StyleValues values;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const bool known = order_.empty() ? i < kStyleFields.size() : i < order_.size();
      if (!known) break;
      values[order_.empty() ? std::string(kStyleFields.at(i).name) : order_[i]] =
          TrimLine(parts[i]);
    }
    if (old_) Modernise(values);
    styles_.push_back(std::move(values));
  }
  // SSA (version 4) counts places otherwise and draws outlines in the colour of the back.
  static void Modernise(StyleValues& values) {
    values["outlinecolour"] = values["backcolour"];
    const int place = static_cast<int>(FieldNumber(values["alignment"], 1, 11));
    const int row = (place & 4) != 0 ? 6 : (place & 8) != 0 ? 3 : 0;
    values["alignment"] = fmt::format("{}", std::clamp(place & 3, 1, 3) + row);
  }

  static void Measure(const StyleValues& values, std::string_view name, ScriptHead& head) {
    const auto value = [&](std::string_view field, double usual, double most) {
      const auto found = values.find(field);
      return found == values.end() || found->second.empty() ? usual
                                                            : FieldNumber(found->second, 0, most);
    };
    const double scale = std::max(value("scalex", 100, 300), value("scaley", 100, 300)) / 100;
    const ScriptSizes sizes{.letter = value("fontsize", 18, head.height),
                            .scale = scale,
                            .border = value("outline", 1, head.height)};
    head.largest.Enlarge(sizes);
    head.styles.try_emplace(StyleKey(name), sizes).first->second.Enlarge(sizes);
  }

  std::string section_;
  int width_ = 0, height_ = 0, wrap_ = 0;  // 0 = not stated
  bool old_ = false;
  std::vector<std::string> order_;
  std::vector<StyleValues> styles_;
};

ScriptHead HeadReader::Write() const {
  ScriptHead head;
  head.text = "[Script Info]\nScriptType: v4.00+\n";
  // libass derives the one that is missing from the other. Borders scale by either side.
  const bool usable = width_ == 0 || height_ == 0 ||
                      (width_ <= kMostRatio * height_ && height_ <= kMostRatio * width_);
  if (usable && width_ > 0) head.text += fmt::format("PlayResX: {}\n", width_);
  if (usable && height_ > 0) head.text += fmt::format("PlayResY: {}\n", height_);
  // Always scaled: otherwise a border is in pixels of the output.
  head.text +=
      fmt::format("WrapStyle: {}\nScaledBorderAndShadow: yes\n\n[V4+ Styles]\nFormat: ", wrap_);
  if (usable && (height_ > 0 || width_ > 0)) head.height = height_ > 0 ? height_ : 0.75 * width_;
  for (const StyleField& field : kStyleFields) {
    head.text += fmt::format("{}{}", &field == kStyleFields.data() ? "" : ", ", field.name);
  }
  head.text += '\n';
  for (const StyleValues& values : styles_) {
    const auto written = [&](const StyleField& field) {
      const auto found = values.find(field.name);
      return WrittenField(field, found == values.end() ? "" : found->second, head.height);
    };
    Measure(values, written(kStyleFields.front()), head);
    head.text += "Style: ";
    for (const StyleField& field : kStyleFields) {
      if (&field != kStyleFields.data()) head.text += ',';
      head.text += written(field);
    }
    head.text += '\n';
  }
  return head;
}

}  // namespace

void ScriptSizes::Enlarge(const ScriptSizes& other) {
  letter = std::max(letter, other.letter);
  scale = std::max(scale, other.scale);
  border = std::max(border, other.border);
}

ScriptSizes ScriptHead::SizesOf(std::string_view style) const {
  const auto found = styles.find(StyleKey(style));
  return found == styles.end() ? largest : found->second;
}

ScriptHead WriteScriptHead(std::string_view header) {
  constexpr std::string_view kBom = "\xef\xbb\xbf";
  if (header.starts_with(kBom)) header.remove_prefix(kBom.size());
  header = header.substr(0, kMaxHeaderBytes);
  HeadReader reader;
  while (!header.empty()) {
    const std::size_t end = std::min(header.find_first_of("\r\n"), header.size());
    reader.Read(header.substr(0, end));
    header.remove_prefix(std::min(end + 1, header.size()));
  }
  return reader.Write();
}

}  // namespace gopmill
