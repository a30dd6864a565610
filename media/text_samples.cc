// SPDX-License-Identifier: Apache-2.0
#include "media/text_samples.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

namespace gopmill {
namespace {

constexpr std::size_t kLengthBytes = 2;
constexpr std::size_t kBoxHead = 8;
constexpr std::size_t kStyleBytes = 12;  // first and last character, font, face, size, colour
constexpr std::size_t kMostText = std::numeric_limits<std::uint16_t>::max();

std::size_t Number(std::string_view bytes, std::size_t at, std::size_t length) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < length; ++i) {
    value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
  }
  return value;
}

std::string Bytes(std::size_t value, std::size_t length) {
  std::string bytes;
  for (std::size_t i = length; i > 0; --i) {
    bytes += static_cast<char>(value >> (8 * (i - 1)) & 0xFFU);
  }
  return bytes;
}

struct Sample {
  std::string_view text;
  std::string_view styles;  // entries of the box
};

std::optional<Sample> Parse(std::string_view bytes) {
  if (bytes.size() < kLengthBytes) return std::nullopt;
  const std::size_t length = Number(bytes, 0, kLengthBytes);
  if (length > bytes.size() - kLengthBytes) return std::nullopt;
  Sample sample{.text = bytes.substr(kLengthBytes, length), .styles = {}};
  for (bytes.remove_prefix(kLengthBytes + length); bytes.size() >= kBoxHead + 2;) {
    const std::size_t size = Number(bytes, 0, 4);
    if (size < kBoxHead || size > bytes.size()) break;
    if (bytes.substr(4, 4) == "styl" && size >= kBoxHead + 2) {
      const std::size_t entries = Number(bytes, kBoxHead, 2) * kStyleBytes;
      sample.styles = bytes.substr(kBoxHead + 2, std::min(entries, size - kBoxHead - 2));
    }
    bytes.remove_prefix(size);
  }
  sample.styles = sample.styles.substr(0, sample.styles.size() / kStyleBytes * kStyleBytes);
  return sample;
}

// Styles count characters, not bytes.
std::size_t Characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// The same styles of characters that come `by` later.
std::string Shifted(std::string_view styles, std::size_t by) {
  std::string shifted;
  for (std::size_t at = 0; at < styles.size(); at += kStyleBytes) {
    shifted += Bytes(Number(styles, at, 2) + by, 2) + Bytes(Number(styles, at + 2, 2) + by, 2);
    shifted += styles.substr(at + 4, kStyleBytes - 4);
  }
  return shifted;
}

// Makes the timeline flat from the front to the back.
class Flattener {
 public:
  void Add(const SubtitleCue& cue) {
    if (cue.end_us <= cue.start_us) return;
    ShowUntil(cue.start_us);
    const auto same = std::ranges::find(shown_, cue.text, &SubtitleCue::text);
    if (same != shown_.end()) {
      same->end_us = std::max(same->end_us, cue.end_us);
      return;
    }
    if (shown_.size() == kMaxJoinedCues) shown_.erase(shown_.begin());
    shown_.push_back(cue);
  }

  std::vector<SubtitleCue> Finish() {
    ShowUntil(std::numeric_limits<std::int64_t>::max());
    return std::move(flat_);
  }

 private:
  void ShowUntil(std::int64_t until) {
    while (!shown_.empty() && now_ < until) {
      const auto first = std::ranges::min_element(shown_, {}, &SubtitleCue::end_us);
      const std::int64_t next = std::min(until, first->end_us);
      Show(next, Together());
      std::erase_if(shown_, [&](const SubtitleCue& cue) { return cue.end_us <= now_; });
    }
    now_ = until;
  }

  void Show(std::int64_t until, std::string text) {
    const bool goes_on = !flat_.empty() && flat_.back().end_us == now_ && flat_.back().text == text;
    if (goes_on) {
      flat_.back().end_us = until;
    } else {
      flat_.push_back({now_, until, std::move(text)});
    }
    now_ = until;
  }

  // Texts that are repeated without end would take memory without end.
  std::string Together() {
    std::string text = shown_.front().text;
    if (bytes_ > kMaxCueBytes) return shown_.back().text;
    for (std::size_t i = 1; i < shown_.size(); ++i) text = JoinSamples(text, shown_[i].text);
    bytes_ += text.size();
    return text;
  }

  std::vector<SubtitleCue> shown_;  // by start
  std::vector<SubtitleCue> flat_;
  std::int64_t now_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace

std::string JoinSamples(std::string_view first, std::string_view second) {
  const std::optional<Sample> a = Parse(first), b = Parse(second);
  if (!a || !b || a->text.size() + 1 + b->text.size() > kMostText) return std::string(first);
  const std::string text = std::string(a->text) + "\n" + std::string(b->text);
  const std::string styles = std::string(a->styles) + Shifted(b->styles, Characters(a->text) + 1);
  const std::size_t entries = styles.size() / kStyleBytes;
  std::string joined = Bytes(text.size(), kLengthBytes) + text;
  if (entries == 0 || entries > kMostText) return joined;
  joined += Bytes(kBoxHead + 2 + styles.size(), 4) + "styl" + Bytes(entries, 2);
  return joined + styles;
}

std::vector<SubtitleCue> WithoutOverlap(const std::vector<SubtitleCue>& cues) {
  Flattener flattener;
  for (const SubtitleCue& cue : cues) flattener.Add(cue);
  return flattener.Finish();
}

}  // namespace gopmill
