// SPDX-License-Identifier: Apache-2.0
#include "media/timed_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include "media/muxer.h"
#include "media/segment_muxer.h"

namespace gopmill {
namespace {

// Centred at the bottom, on a dark ground.
constexpr std::string_view kHead =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
    "<tt xmlns=\"http://www.w3.org/ns/ttml\" xmlns:ttp=\"http://www.w3.org/ns/ttml#parameter\" "
    "xmlns:tts=\"http://www.w3.org/ns/ttml#styling\" xml:lang=\"\" ttp:timeBase=\"media\" "
    "ttp:contentProfiles=\"http://www.w3.org/ns/ttml/profile/imsc1.1/text\">\n"
    "<head><layout><region xml:id=\"r\" tts:origin=\"10% 10%\" tts:extent=\"80% 80%\" "
    "tts:displayAlign=\"after\" tts:textAlign=\"center\"/></layout></head>\n"
    "<body region=\"r\"><div>\n";
constexpr std::string_view kTail = "</div></body>\n</tt>\n";
constexpr std::string_view kCueStyle =
    "<span tts:color=\"white\" tts:backgroundColor=\"#000000c0\">";

constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kStyles{
    {{"i", "tts:fontStyle=\"italic\""},
     {"b", "tts:fontWeight=\"bold\""},
     {"u", "tts:textDecoration=\"underline\""}}};
// Named characters of WebVTT.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kCharacters{
    {{"&amp;", "&amp;"},
     {"&lt;", "&lt;"},
     {"&gt;", "&gt;"},
     {"&nbsp;", "\xC2\xA0"},
     {"&lrm;", "\xE2\x80\x8E"},
     {"&rlm;", "\xE2\x80\x8F"}}};

// The text of a cue, as content of a paragraph.
class Content {
 public:
  static std::string Of(std::string_view text) {
    Content content;
    while (!text.empty()) text.remove_prefix(content.Take(text));
    content.CloseTo(0);
    return std::move(content.written_);
  }

 private:
  // Of the front of `text`; how much that was.
  std::size_t Take(std::string_view text) {
    const char c = text.front();
    if (c == '<') return TakeTag(text);
    if (c == '&') return TakeCharacter(text);
    if (text.starts_with("\xEF\xBF\xBE") || text.starts_with("\xEF\xBF\xBF")) return 3;  // no XML
    if (c == '\n') {
      written_ += "<br/>";
    } else if (c == '>') {
      written_ += "&gt;";
    } else if (static_cast<unsigned char>(c) >= 0x20 || c == '\t') {
      written_ += c;
    }
    return 1;
  }
  std::size_t TakeCharacter(std::string_view text) {
    for (const auto& [name, character] : kCharacters) {
      if (!text.starts_with(name)) continue;
      written_ += character;
      return name.size();
    }
    written_ += "&amp;";
    return 1;
  }
  // Tags that TTML has no style for are left out; a "<" that begins none is text.
  std::size_t TakeTag(std::string_view text) {
    const std::size_t end = text.find('>');
    const bool closes = text.substr(1).starts_with('/');
    const std::size_t at = closes ? 2 : 1;
    if (end == std::string_view::npos || end <= at ||
        std::isalnum(static_cast<unsigned char>(text[at])) == 0) {
      written_ += "&lt;";
      return 1;
    }
    const std::string_view name = text.substr(at, text.find_first_of(" .\t\n>", at) - at);
    const auto style =
        std::ranges::find(kStyles, name, [](const auto& known) { return known.first; });
    if (style == kStyles.end()) return end + 1;
    if (!closes) {
      written_ += fmt::format("<span {}>", style->second);
      open_.push_back(name);
    } else if (const auto begun = std::ranges::find(open_, name); begun != open_.end()) {
      CloseTo(static_cast<std::size_t>(begun - open_.begin()));
    }
    return end + 1;
  }
  void CloseTo(std::size_t depth) {
    for (; open_.size() > depth; open_.pop_back()) written_ += "</span>";
  }

  std::string written_;
  std::vector<std::string_view> open_;  // tags
};

MuxTrack TrackOf(const std::string& language) {
  av::CodecParameters parameters(avcodec_parameters_alloc());
  GOPMILL_CHECK(parameters != nullptr);
  parameters->codec_type = AVMEDIA_TYPE_SUBTITLE;
  parameters->codec_id = AV_CODEC_ID_TTML;
  MuxTrack track;
  track.kind = TrackKind::kText;
  track.parameters = std::move(parameters);
  track.time_base = kTimedTextTick;
  track.language = language;
  return track;
}

}  // namespace

std::string CueTime(std::int64_t us) {
  const std::int64_t ms = us / 1000;
  return fmt::format("{:02}:{:02}:{:02}.{:03}", ms / 3'600'000, ms / 60'000 % 60, ms / 1000 % 60,
                     ms % 1000);
}

std::string TimedTextDocument(std::span<const SubtitleCue> cues, std::int64_t zero_us,
                              std::int64_t begin_us, std::int64_t end_us) {
  std::string text(kHead);
  for (const SubtitleCue& cue : cues) {
    const std::int64_t start =
        std::max(cue.start_us - zero_us, std::max<std::int64_t>(begin_us, 0));
    const std::int64_t end = std::min(cue.end_us - zero_us, end_us);
    if (end / 1000 <= start / 1000) continue;
    text += fmt::format("<p begin=\"{}\" end=\"{}\">{}{}</span></p>\n", CueTime(start),
                        CueTime(end), kCueStyle, Content::Of(cue.text));
  }
  return text + std::string(kTail);
}

Result<std::string> MakeTimedTextInit(const std::string& language) {
  return MakeInitSegment(TrackOf(language), 0);
}

Result<std::string> MakeTimedTextSegment(std::int64_t number, std::int64_t begin, std::int64_t end,
                                         const std::string& document) {
  av::Packet packet = av::NewPacket(
      std::span(reinterpret_cast<const std::uint8_t*>(document.data()), document.size()));
  packet->pts = packet->dts = begin;
  packet->duration = end - begin;
  packet->flags |= AV_PKT_FLAG_KEY;
  std::vector<av::Packet> packets;
  packets.push_back(std::move(packet));
  return MakeSegment(Container::kMp4, TrackOf({}), 0, number, std::move(packets));
}

}  // namespace gopmill
