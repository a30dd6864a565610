// SPDX-License-Identifier: Apache-2.0
#include "media/ass_escapes.h"

#include <cstddef>
#include <utility>

namespace gopmill {
namespace {

constexpr std::string_view kHardBlank = "\xC2\xA0";  // U+00A0
constexpr std::string_view kApart = "\xE2\x81\xA0";  // U+2060, which shows nothing
constexpr std::string_view kSwitches = "bisu";       // tags that the encoders look into
constexpr std::size_t kSwitchLength = 3;             // "\i1"

bool IsStyled(AVCodecID codec) { return codec == AV_CODEC_ID_ASS || codec == AV_CODEC_ID_SSA; }

// What follows the digit of a switch ends the encoders' reading of the whole event.
std::string_view TagForEncoders(std::string_view tag) {
  const bool is_switch = tag.size() > kSwitchLength &&
                         kSwitches.find(tag[1]) != std::string_view::npos &&
                         (tag[2] == '0' || tag[2] == '1');
  if (!is_switch) return tag;
  const bool is_weight = tag[kSwitchLength] >= '0' && tag[kSwitchLength] <= '9';  // of \b100
  return is_weight ? std::string_view() : tag.substr(0, kSwitchLength);
}

// The tags of a block alone: words between them are comments.
std::string Block(std::string_view inside) {
  std::string tags;
  for (std::size_t at = inside.find('\\'); at != std::string_view::npos;) {
    const std::size_t next = inside.find('\\', at + 1);
    tags += TagForEncoders(inside.substr(at, next - at));
    at = next;
  }
  return tags.empty() ? "" : "{" + tags + "}";
}

class Writer {
 public:
  // A backslash behind a brace would begin a block.
  void Put(char c) {
    const bool would_begin = c == '\\' ? text_.ends_with('{') : (c == 'n' || c == 'N') && behind_;
    if (would_begin) text_ += kApart;
    text_ += c;
    behind_ = false;
  }
  // One that stands for itself: the letter behind it would make a new line.
  void PutBackslash() {
    Put('\\');
    behind_ = true;
  }
  void PutWhole(std::string_view piece) {
    text_ += piece;
    behind_ = false;
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
  bool behind_ = false;  // such a backslash
};

}  // namespace

std::string WithoutEscapes(std::string_view text, AVCodecID codec) {
  // Decoders of others write braces and backslashes as they are.
  const bool escapes = IsStyled(codec) || codec == AV_CODEC_ID_WEBVTT || codec == AV_CODEC_ID_TEXT;
  if (!escapes || text.find_first_of("\\{") == std::string_view::npos) return std::string(text);
  Writer writer;
  bool closes = true;  // a brace that opens; once none does, looking again takes time without end
  while (!text.empty()) {
    const char next = text.size() > 1 ? text[1] : ' ';
    const bool opens = text.front() == '{' && closes;
    const std::size_t close = opens ? text.find('}') : std::string_view::npos;
    closes = closes && (!opens || close != std::string_view::npos);
    const bool is_block = close != std::string_view::npos && (IsStyled(codec) || next == '\\');
    std::size_t taken = 1;
    if (text.front() == '\\' && next == 'h' && codec != AV_CODEC_ID_TEXT) {
      writer.PutWhole(kHardBlank);
      taken = 2;
    } else if (text.front() == '\\' && (next == '{' || next == '}')) {
      writer.Put(next);
      taken = 2;
    } else if (text.starts_with("\\\\") && codec == AV_CODEC_ID_TEXT) {
      writer.PutBackslash();
      taken = 2;
    } else if (is_block) {
      writer.PutWhole(Block(text.substr(1, close - 1)));
      taken = close + 1;
    } else {
      writer.Put(text.front());
    }
    text.remove_prefix(taken);
  }
  return writer.Take();
}

}  // namespace gopmill
