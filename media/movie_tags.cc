// SPDX-License-Identifier: Apache-2.0
#include "media/movie_tags.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include "base/rational.h"
#include "base/utf8.h"
#include "media/av_error.h"
#include "media/subtitle_track.h"

namespace gopmill {
namespace {

// Names that FFmpeg translates between the containers.
constexpr std::array kNames{"title",         "artist",    "album",      "album_artist",
                            "composer",      "performer", "genre",      "date",
                            "creation_time", "show",      "episode_id", "season_number",
                            "episode_sort",  "network",   "comment",    "description",
                            "synopsis",      "copyright", "track"};

// Paragraphs stay what they are, other control characters go.
std::string Cleaned(std::string_view text) {
  const std::string good = WellFormed(text, kMaxTagBytes);
  std::string clean;
  for (std::string_view rest = good; !rest.empty();) {
    const std::string_view character = rest.substr(0, CharacterLength(rest));
    if (!IsControl(character) || character == "\n" || character == "\t") clean += character;
    rest.remove_prefix(character.size());
  }
  return clean;
}

std::string ValueOf(const AVDictionary* tags, const char* name) {
  const AVDictionaryEntry* entry = av_dict_get(tags, name, nullptr, 0);
  return Cleaned(entry == nullptr ? "" : entry->value);
}

// Times far from any movie's would overflow.
constexpr std::int64_t kLatest = std::int64_t{1} << 52;

std::int64_t MicrosOf(std::int64_t ticks, Rational time_base) {
  const double us = static_cast<double>(ticks) * time_base.ToDouble() * 1e6;
  if (!(std::abs(us) < static_cast<double>(kLatest))) return us < 0 ? -kLatest : kLatest;
  return Rescale(ticks, time_base, kMicros);
}

// Of the last chapter, where nothing says when it ends.
constexpr std::int64_t kShortMicros = 1'000'000;

// A chapter ends where the next begins, or before. Of those that begin together the shortest stays.
void Order(std::vector<Chapter>& chapters) {
  std::ranges::stable_sort(chapters, [](const Chapter& a, const Chapter& b) {
    return a.start_us != b.start_us ? a.start_us < b.start_us : a.end_us > b.end_us;
  });
  for (std::size_t i = 0; i + 1 < chapters.size(); ++i) {
    chapters[i].end_us = std::min(chapters[i].end_us, chapters[i + 1].start_us);
  }
  if (!chapters.empty() && chapters.back().end_us == kLatest) {
    chapters.back().end_us = chapters.back().start_us + kShortMicros;
  }
  std::erase_if(chapters, [](const Chapter& c) { return c.end_us <= c.start_us; });
}

Status AddChapter(AVFormatContext& output, Container container, std::size_t number,
                  const Chapter& chapter) {
  auto* added = static_cast<AVChapter*>(av_mallocz(sizeof(AVChapter)));
  if (added == nullptr) return av::AvError("The chapters cannot be written", AVERROR(ENOMEM));
  std::span(output.chapters, number + 1).back() = added;
  output.nb_chapters = static_cast<unsigned>(number + 1);
  added->id = static_cast<std::int64_t>(number + 1);
  added->time_base = av::ToAv(kMicros);
  added->start = chapter.start_us;
  added->end = chapter.end_us;
  if (!chapter.title.empty() || container == Container::kMp4) {
    // FFmpeg leaves a chapter without a title out of an MP4.
    av_dict_set(&added->metadata, "title", chapter.title.c_str(), 0);
  }
  return OkStatus();
}

}  // namespace

std::string MovieTags::Text(std::string_view name) const {
  const auto found = std::ranges::find(texts, name, &std::pair<std::string, std::string>::first);
  return found == texts.end() ? "" : found->second;
}

MovieTags ReadTags(const AVFormatContext& source, std::int64_t start_us) {
  MovieTags tags;
  for (const char* name : kNames) {
    std::string value = ValueOf(source.metadata, name);
    if (!value.empty()) tags.texts.emplace_back(name, std::move(value));
  }
  const std::span all(source.chapters, source.nb_chapters);
  for (const AVChapter* chapter : all.first(std::min(all.size(), kMaxChapters))) {
    const Rational tick = av::FromAv(chapter->time_base);
    if (!tick.positive()) continue;
    const auto place = [&](std::int64_t ticks) {
      return std::max<std::int64_t>(0, MicrosOf(ticks, tick) - start_us);
    };
    if (chapter->start == AV_NOPTS_VALUE || place(chapter->start) >= kLatest) continue;
    // FFmpeg lets one without an end be without length.
    const bool ends = chapter->end != AV_NOPTS_VALUE && chapter->end > chapter->start;
    tags.chapters.push_back({place(chapter->start), ends ? place(chapter->end) : kLatest,
                             TagText(ValueOf(chapter->metadata, "title"))});
  }
  Order(tags.chapters);
  return tags;
}

MovieTags TagsWithoutJumps(MovieTags tags, const ClosedJumps& jumps) {
  if (jumps.empty()) return tags;
  for (Chapter& chapter : tags.chapters) {
    chapter.start_us = WithoutJumps(jumps, chapter.start_us);
    chapter.end_us = WithoutJumps(jumps, chapter.end_us);
  }
  Order(tags.chapters);
  return tags;
}

MovieTags TagsWithin(const MovieTags& tags, const SourceClip& clip) {
  MovieTags within = tags;
  for (Chapter& chapter : within.chapters) {
    chapter.start_us = std::max<std::int64_t>(0, chapter.start_us - clip.start_us);
    chapter.end_us = std::min(chapter.end_us, clip.end_us) - clip.start_us;
  }
  std::erase_if(within.chapters, [](const Chapter& c) { return c.end_us <= c.start_us; });
  return within;
}

Status AddTags(AVFormatContext& output, Container container, bool streamed, const MovieTags& tags) {
  for (const auto& [name, text] : tags.texts) {
    av_dict_set(&output.metadata, name.c_str(), text.c_str(), 0);
  }
  const bool fragmented = container == Container::kMp4 && streamed;
  if (tags.chapters.empty() || fragmented || container == Container::kTs) return OkStatus();
  output.chapters = static_cast<AVChapter**>(av_calloc(tags.chapters.size(), sizeof(AVChapter*)));
  if (output.chapters == nullptr) {
    return av::AvError("The chapters cannot be written", AVERROR(ENOMEM));
  }
  for (std::size_t i = 0; i < tags.chapters.size(); ++i) {
    GOPMILL_RETURN_IF_ERROR(AddChapter(output, container, i, tags.chapters[i]));
  }
  return OkStatus();
}

}  // namespace gopmill
