// SPDX-License-Identifier: Apache-2.0
#include "server/live/live_playlist.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

#include "base/utc_time.h"
#include "server/live/live_thumbnails.h"

namespace gopmill {
namespace {

// With delta updates; for players that know transport streams alone, with key frames by themselves.
constexpr int kVersion = 9, kTsVersion = 4;
constexpr const char* kKeyName = "i0";
constexpr const char* kThumbnailName = "t0";

std::span<const LiveTrack> SoundsOf(const LiveView& view) {
  return std::span(view.tracks).subspan(view.terms.targets.size());
}

auto FirstListed(const LiveTrack& track) {
  return std::ranges::find_if(track.segments(),
                              [&](const LiveSegment& s) { return track.listed(s); });
}

// What a playlist says of parts, in the server control and on a line of its own.
struct PartTags {
  std::string control, line;
};

PartTags TagsOfParts(const LiveTerms& terms, const LiveTrack& track) {
  if (!terms.in_parts()) return {};
  const double part = std::max(terms.part.ToDouble(), track.longest_part());
  // Not less than so many parts for who reads both numbers as they are written.
  const double hold_back = terms.hold_back_parts * part + 0.001;
  return {.control = fmt::format(",PART-HOLD-BACK={:.5f}", hold_back),
          .line = fmt::format("#EXT-X-PART-INF:PART-TARGET={:.5f}\n", part)};
}

// `skipped`: segments that a delta update leaves out.
std::string Header(const LiveView& view, const LiveTrack& track, const PartTags& parts,
                   std::int64_t skipped) {
  const int target = view.terms.window.target_seconds;
  const auto first = FirstListed(track);
  return fmt::format(
      "#EXTM3U\n#EXT-X-VERSION:{}\n#EXT-X-TARGETDURATION:{}\n"
      "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL={},HOLD-BACK={}{}\n{}"
      "#EXT-X-MEDIA-SEQUENCE:{}\n#EXT-X-DISCONTINUITY-SEQUENCE:{}\n",
      view.terms.in_parts() || skipped > 0 ? kVersion : kTsVersion, target, kSkipTargets * target,
      3 * target, parts.control, parts.line, first->number,
      first->period - (first->discontinuity ? 1 : 0));
}

// How many of the listed segments end before the skip boundary.
std::int64_t Skippable(const LiveView& view, const LiveTrack& track) {
  const std::int64_t edge = track.segments().back().end();
  const double boundary = kSkipTargets * view.terms.window.target_seconds;
  const auto listed = FirstListed(track);
  const auto near = std::find_if(listed, track.segments().end(), [&](const LiveSegment& segment) {
    return !segment.complete || track.Seconds(edge - segment.end()) <= boundary;
  });
  return near - listed;
}

void AddTime(const LiveSegment& segment, std::string& text) {
  if (segment.discontinuity) text += "#EXT-X-DISCONTINUITY\n";
  text += "#EXT-X-PROGRAM-DATE-TIME:" + UtcMillis(segment.wall) + "\n";
}

std::string_view SuffixOf(const LiveTerms& terms) { return terms.in_parts() ? "m4s" : "ts"; }

// What a playlist lists: "v0", and how its segments' names end.
struct Listed {
  std::string name;
  std::string_view suffix;
  ThumbnailSize tile = {};
  [[nodiscard]] bool pictures() const { return suffix == "jpg"; }
};

// Where nothing has come, as long as the pictures next to it: players hold the tracks side by side.
double SecondsOf(const LiveView& view, const LiveTrack& track, const LiveSegment& segment) {
  if (segment.ticks > 0) return track.Seconds(segment.ticks);
  const LiveTrack& pictures = view.tracks.front();
  const LiveSegment* beside = pictures.Find(segment.number);
  const bool known = beside != nullptr && beside->ticks > 0;
  return known ? pictures.Seconds(beside->ticks) : view.terms.segment_seconds;
}

// `there`: it can be asked for.
void AddWhole(const LiveView& view, const LiveTrack& track, const LiveSegment& segment, bool there,
              const Listed& listed, std::string& text) {
  if (!there) text += "#EXT-X-GAP\n";
  const double seconds = SecondsOf(view, track, segment);
  text += fmt::format("#EXTINF:{:.5f},\n", seconds);
  if (listed.pictures()) {
    text += fmt::format("#EXT-X-TILES:RESOLUTION={}x{},LAYOUT=1x1,DURATION={:.5f}\n",
                        listed.tile.width, listed.tile.height, seconds);
  }
  text += fmt::format("{}-{}.{}{}\n", listed.name, segment.number, listed.suffix, view.terms.query);
}

void AddSegment(const LiveView& view, const LiveTrack& track, const LiveSegment& segment,
                const std::string& name, std::string& text) {
  if (!segment.complete && segment.parts.empty()) return;
  const std::string& query = view.terms.query;
  AddTime(segment, text);
  const bool in_parts = view.terms.in_parts() && track.parts_listed(segment);
  const std::size_t parts = in_parts ? segment.parts.size() : 0;
  for (std::size_t n = 0; n < parts; ++n) {
    const LivePart& part = segment.parts[n];
    text += fmt::format("#EXT-X-PART:DURATION={:.5f},URI=\"{}-{}.{}.m4s{}\"{}\n",
                        track.Seconds(part.ticks), name, segment.number, n, query,
                        part.independent ? ",INDEPENDENT=YES" : "");
  }
  if (!segment.complete) return;
  AddWhole(view, track, segment, segment.whole != nullptr, {name, SuffixOf(view.terms)}, text);
}

std::string Skip(std::int64_t skipped) {
  return skipped > 0 ? fmt::format("#EXT-X-SKIP:SKIPPED-SEGMENTS={}\n", skipped) : "";
}

std::string MapAndSkip(const LiveView& view, const std::string& name, std::int64_t skipped) {
  if (!view.terms.in_parts()) return Skip(skipped);
  return fmt::format("#EXT-X-MAP:URI=\"{}-init.mp4{}\"\n", name, view.terms.query) + Skip(skipped);
}

// The complete segments that are listed, but `skipped` ones; `there` tells of each whether it has
// what is listed.
template <class There>
std::string WholeSegments(const LiveView& view, const LiveTrack& track, std::int64_t skipped,
                          const Listed& listed, const There& there) {
  std::string text;
  for (const LiveSegment& segment : track.segments()) {
    if (!segment.complete || !track.listed(segment) || skipped-- > 0) continue;
    AddTime(segment, text);
    AddWhole(view, track, segment, there(segment), listed, text);
  }
  return text + (view.ended ? "#EXT-X-ENDLIST\n" : "");
}

// At most what the whole rendition takes: it holds them.
PicturesRow KeysOf(const LiveView& view) {
  PicturesRow keys = PicturesRowOf(view, view.terms.key_rendition);
  keys.name = kKeyName;
  keys.average_bps = view.tracks[view.terms.key_rendition].key_average_bps();
  return keys;
}

LoudestSound LoudestOf(const LiveView& view) {
  LoudestSound loudest;
  const std::span sounds = SoundsOf(view);
  if (!sounds.empty()) loudest.codecs = sounds.front().track().codecs;
  for (const LiveTrack& sound : sounds) {
    loudest.peak_bps = std::max(loudest.peak_bps, sound.peak_bps());
    loudest.average_bps = std::max(loudest.average_bps, sound.track().average_bps);
  }
  return loudest;
}

// The part that comes next, and how far the other renditions are.
std::string Ahead(const LiveView& view, std::size_t index) {
  if (!view.terms.in_parts()) return {};
  const LiveTrack& track = view.tracks[index];
  std::string text =
      fmt::format("#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"{}-{}.{}.m4s{}\"\n", TrackName(view, index),
                  track.last_complete() + 1, track.parts_behind(), view.terms.query);
  for (std::size_t other = 0; other < view.tracks.size(); ++other) {
    const auto& segments = view.tracks[other].segments();
    const auto newest = std::find_if(segments.rbegin(), segments.rend(),
                                     [](const LiveSegment& s) { return !s.parts.empty(); });
    if (other == index || newest == segments.rend()) continue;
    text += fmt::format("#EXT-X-RENDITION-REPORT:URI=\"{}.m3u8{}\",LAST-MSN={},LAST-PART={}\n",
                        TrackName(view, other), view.terms.query, newest->number,
                        newest->parts.size() - 1);
  }
  return text;
}

}  // namespace

std::optional<std::size_t> SoundNumber(const LiveView& view, std::size_t track) {
  const std::size_t videos = view.terms.targets.size();
  return track < videos ? std::nullopt : std::optional(track - videos);
}

std::string TrackName(const LiveView& view, std::size_t track) {
  const auto sound = SoundNumber(view, track);
  return sound ? fmt::format("a{}", *sound) : fmt::format("v{}", track);
}

PicturesRow PicturesRowOf(const LiveView& view, std::size_t track) {
  const LiveTrack& video = view.tracks[track];
  const CodedTrack& coded = video.coded();
  return {.name = TrackName(view, track),
          .codecs = video.track().codecs,
          .range = video.track().range,
          .width = coded.width,
          .height = coded.height,
          .fps = coded.frame_rate,
          .peak_bps = video.peak_bps(),
          .average_bps = video.track().average_bps};
}

SoundRow SoundRowOf(const LiveView& view, std::size_t number) {
  const LiveSound& sound = view.terms.sounds[number];
  return {.name = sound.name,
          .language = sound.language,
          .roles = sound.roles,
          .chosen = number == 0,
          .channels = SoundsOf(view)[number].coded().channels,
          .uri = fmt::format("a{}.m3u8{}", number, view.terms.query)};
}

TilesRow TilesRowOf(const LiveView& view) {
  const ThumbnailSize& size = view.terms.thumbnail;
  return {.width = size.width,
          .height = size.height,
          .peak_bps = LiveThumbnailBps(size, view.terms.segment_seconds)};
}

std::string LiveMasterPlaylist(const LiveView& view) {
  std::string text = fmt::format("#EXTM3U\n#EXT-X-VERSION:{}\n#EXT-X-INDEPENDENT-SEGMENTS\n",
                                 view.terms.in_parts() ? kVersion : kTsVersion);
  std::vector<SoundRow> sounds;
  for (std::size_t i = 0; i < view.terms.sounds.size(); ++i) sounds.push_back(SoundRowOf(view, i));
  text += SoundMedia(sounds) + SubtitleMedia(view.terms.texts, view.terms.query) +
          CaptionMedia(view.terms.captions);
  const std::string groups =
      SubtitleAttribute(view.terms.texts) + CaptionAttribute(view.terms.captions);
  const LoudestSound loudest = LoudestOf(view);
  for (std::size_t i = 0; i < view.terms.targets.size(); ++i) {
    text += PicturesMedia(PicturesRowOf(view, i), loudest, groups, view.terms.query);
  }
  return text + KeyMedia(KeysOf(view), view.terms.query) +
         ThumbnailMedia(TilesRowOf(view), view.terms.query);
}

std::string LiveMediaPlaylist(const LiveView& view, std::size_t index, bool delta) {
  const LiveTrack& track = view.tracks[index];
  const std::string name = TrackName(view, index);
  std::int64_t skipped = delta ? Skippable(view, track) : 0;
  std::string text = Header(view, track, TagsOfParts(view.terms, track), skipped) +
                     "#EXT-X-INDEPENDENT-SEGMENTS\n" + MapAndSkip(view, name, skipped);
  for (const LiveSegment& segment : track.segments()) {
    if (!track.listed(segment) || skipped-- > 0) continue;
    AddSegment(view, track, segment, name, text);
  }
  return text + (view.ended ? "#EXT-X-ENDLIST\n" : Ahead(view, index));
}

std::string LiveKeyPlaylist(const LiveView& view, bool delta) {
  const LiveTrack& track = view.tracks[view.terms.key_rendition];
  const std::int64_t skipped = delta ? Skippable(view, track) : 0;
  return Header(view, track, {}, skipped) + "#EXT-X-I-FRAMES-ONLY\n" +
         MapAndSkip(view, kKeyName, skipped) +
         WholeSegments(view, track, skipped, {kKeyName, SuffixOf(view.terms)},
                       [](const LiveSegment& segment) { return segment.key.bytes != nullptr; });
}

std::string LiveThumbnailPlaylist(const LiveView& view, bool delta) {
  const LiveTrack& track = view.tracks[view.terms.key_rendition];
  const std::int64_t skipped = delta ? Skippable(view, track) : 0;
  return Header(view, track, {}, skipped) + "#EXT-X-IMAGES-ONLY\n" + Skip(skipped) +
         WholeSegments(view, track, skipped, {kThumbnailName, "jpg", view.terms.thumbnail},
                       [](const LiveSegment& segment) { return segment.key.packet != nullptr; });
}

std::string LiveTextPlaylist(const LiveView& view, std::size_t text, bool delta) {
  const LiveTrack& track = view.tracks.front();
  const std::int64_t skipped = delta ? Skippable(view, track) : 0;
  return Header(view, track, {}, skipped) + Skip(skipped) +
         WholeSegments(view, track, skipped, {fmt::format("s{}", text), "vtt"},
                       [](const LiveSegment&) { return true; });
}

}  // namespace gopmill
