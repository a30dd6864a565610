// SPDX-License-Identifier: Apache-2.0
#include "server/segments/segment_playlist.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/xml_text.h"
#include "server/segments/presentation_rows.h"
#include "server/segments/segment_thumbnails.h"
#include "server/stream/track_names.h"
#include "server/stream/track_roles.h"

namespace gopmill {
namespace {

std::vector<Rational> Durations(const SegmentedMovie& movie, bool audio) {
  std::vector<Rational> durations;
  const std::int64_t count = audio ? movie.audio->grid.count() : movie.segments.count();
  for (std::int64_t k = 0; k < count; ++k) {
    durations.push_back(audio ? AudioSegmentDuration(movie.audio->grid, k)
                              : VideoSegmentDuration(movie.segments, k));
  }
  return durations;
}

double TotalSeconds(const SegmentedMovie& movie) {
  const double pictures =
      static_cast<double>(movie.segments.frames()) / movie.segments.fps.ToDouble();
  if (!movie.audio) return pictures;
  return std::max(pictures,
                  static_cast<double>(movie.audio->grid.samples) / movie.audio->grid.rate);
}

double Longest(const std::vector<Rational>& durations) {
  double longest = 0;
  for (const Rational& duration : durations) longest = std::max(longest, duration.ToDouble());
  return longest;
}

// Of pictures and of the movie's own sound. Thumbnails and text may last longer.
double LongestSegment(const SegmentedMovie& movie) {
  const double pictures = Longest(Durations(movie, false));
  return movie.audio ? std::max(pictures, Longest(Durations(movie, true))) : pictures;
}

// The same for all renditions (RFC 8216 section 6.2.4). Of other sound tracks, which have plans of
// their own, it is known how far one may go beyond the pictures, and that borders lie on packets.
std::int64_t TargetDuration(const SegmentedMovie& movie) {
  constexpr double kLongestPacketSeconds = 0.15;
  double longest = LongestSegment(movie);
  if (movie.audio && movie.index->source->audio_tracks.size() > 1) {
    const std::vector<Rational> pictures = Durations(movie, false);
    const double tail = movie.segment_seconds * kShortestTail;
    longest = std::max({longest, movie.segment_seconds, Longest(pictures),
                        pictures.back().ToDouble() + tail}) +
              kLongestPacketSeconds;
  }
  return std::max<std::int64_t>(1, std::llround(longest));
}

// Runs of equal durations as one element each; times in ticks of the track.
std::string Timeline(const std::vector<Rational>& durations, int timescale) {
  std::string text;
  std::int64_t at = 0;
  for (std::size_t k = 0; k < durations.size();) {
    std::size_t end = k + 1;
    while (end < durations.size() && durations[end] == durations[k]) ++end;
    const std::int64_t ticks = Rescale(durations[k].num, {1, durations[k].den}, {1, timescale});
    text += fmt::format("          <S t=\"{}\" d=\"{}\"", at, ticks);
    if (end > k + 1) text += fmt::format(" r=\"{}\"", end - k - 1);
    text += "/>\n";
    at += ticks * static_cast<std::int64_t>(end - k);
    k = end;
  }
  return text;
}

// `file`: what the names of the segments begin with.
std::string Template(const SegmentedMovie& movie, bool audio, int timescale,
                     std::string_view file) {
  const std::string query = XmlText(movie.query);
  return fmt::format(
             "      <SegmentTemplate timescale=\"{}\" startNumber=\"0\" "
             "initialization=\"{}-init.mp4{}\" media=\"{}-$Number$.m4s{}\">\n"
             "        <SegmentTimeline>\n",
             timescale, file, query, file, query) +
         Timeline(Durations(movie, audio), timescale) +
         "        </SegmentTimeline>\n      </SegmentTemplate>\n";
}

CaptionsState CaptionsIn(const SegmentedMovie& movie) {
  return CaptionsStateOf(movie.index->source->video, movie.video.front().plan->target.vcodec);
}

PicturesRow RowOf(const VideoRendition& video, std::string name) {
  const Target& target = video.plan->target;
  return {.name = std::move(name),
          .codecs = video.codecs,
          .range = video.range,
          .width = target.width,
          .height = target.height,
          .fps = target.fps,
          .peak_bps = video.peak_bps,
          .average_bps = video.average_bps};
}

std::vector<PicturesRow> PicturesOf(const SegmentedMovie& movie) {
  std::vector<PicturesRow> rows;
  for (const VideoRendition& video : movie.video) {
    rows.push_back(RowOf(video, fmt::format("v{}", rows.size())));
  }
  return rows;
}

// Each other track is that of the presentation that is asked for with its number.
SoundRow RowOf(const SegmentedMovie& movie, const AudioChoice& choice) {
  const bool other = !choice.chosen && !movie.packaged;
  return {.name = choice.name,
          .language = choice.language,
          .roles = choice.roles,
          .chosen = choice.chosen,
          .channels = choice.channels,
          .uri = fmt::format("{}a0.m3u8{}{}", SoundFolder(movie, choice), movie.query,
                             other ? fmt::format("&audio={}", choice.number) : "")};
}

TilesRow TilesOf(const SegmentedMovie& movie) {
  const ThumbnailRendition& thumbnails = movie.thumbnails;
  const Target& target = thumbnails.plan->target;
  return {.width = target.width,
          .height = target.height,
          .columns = kThumbnailColumns,
          .rows = kThumbnailRows,
          .peak_bps = thumbnails.peak_bps};
}

// A set for each sound track, those of other presentations with their timelines.
std::string SoundSets(const SegmentedMovie& movie, std::span<const SoundOf> sounds,
                      std::size_t& next_id) {
  std::string text;
  for (std::size_t i = 0; i < sounds.size(); ++i) {
    if (sounds[i] == nullptr || !sounds[i]->audio) continue;
    const AudioChoice& choice = movie.audio_choices[i];
    const AudioRendition& audio = *sounds[i]->audio;
    const SoundForm form{.id = choice.chosen ? "a0" : fmt::format("a0-{}", choice.number),
                         .track = audio,
                         .peak_bps = audio.peak_bps,
                         .rate = audio.grid.rate};
    text +=
        SoundSet(next_id++, RowOf(movie, choice), form,
                 Template(*sounds[i], true, audio.timescale, SoundFolder(movie, choice) + "a0"));
  }
  return text;
}

// One file each: DASH players take WebVTT so. FFmpeg 5.1 writes a BaseURL back into the manifest
// without its escapes, so there is no "&" in it.
std::string TextSets(const SegmentedMovie& movie, std::size_t& next_id) {
  std::string text;
  std::string query = movie.text_query;
  std::ranges::replace(query, '&', ';');
  for (std::size_t i = 0; i < movie.subtitles.size(); ++i) {
    const SubtitleRendition& subtitles = movie.subtitles[i];
    text += fmt::format(
        "    <AdaptationSet id=\"{}\" contentType=\"text\" mimeType=\"text/vtt\"{}>\n"
        "      <Label>{}</Label>\n{}"
        "      <Representation id=\"s{}\" bandwidth=\"1000\">\n"
        "        <BaseURL>s{}.vtt{}</BaseURL>\n      </Representation>\n    </AdaptationSet>\n",
        next_id++, LangAttribute(subtitles.language), XmlText(subtitles.name),
        RoleElements(TextRole(subtitles.forced, subtitles.roles), subtitles.roles), i, i,
        XmlText(query));
  }
  return text;
}

// Tiles of pictures on JPEG sheets; DASH-IF IOP part "Tiles of thumbnail images".
std::string Sheets(const SegmentedMovie& movie) {
  const ThumbnailRendition& thumbnails = movie.thumbnails;
  constexpr int kMillis = 1000;
  const std::int64_t sheet = Rescale(kThumbnailsPerSheet, thumbnails.interval, {1, kMillis});
  return fmt::format(
      "      <SegmentTemplate timescale=\"{}\" duration=\"{}\" startNumber=\"0\" "
      "endNumber=\"{}\" media=\"$RepresentationID$-$Number$.jpg{}\"/>\n",
      kMillis, sheet, thumbnails.sheets() - 1, XmlText(movie.query));
}

// Each is the largest of a segment: there is no mean to tell of.
std::string KeyLine(const SegmentedMovie& movie) {
  if (!movie.iframes) return {};
  PicturesRow keys = RowOf(*movie.iframes, "i0");
  keys.average_bps = 0;
  return KeyMedia(keys, movie.query);
}

std::string SoundLines(const SegmentedMovie& movie) {
  std::vector<SoundRow> rows;
  for (const AudioChoice& choice : movie.audio_choices) rows.push_back(RowOf(movie, choice));
  return SoundMedia(rows);
}

LoudestSound LoudestOf(const SegmentedMovie& movie) {
  LoudestSound loudest;
  if (movie.audio) loudest.codecs = movie.audio->codecs;
  for (const AudioChoice& choice : movie.audio_choices) {
    loudest.peak_bps = std::max(loudest.peak_bps, choice.peak_bps);
    loudest.average_bps = std::max(loudest.average_bps, choice.average_bps);
  }
  return loudest;
}

}  // namespace

std::string SoundFolder(const SegmentedMovie& movie, const AudioChoice& choice) {
  if (!movie.packaged || choice.chosen) return {};
  return fmt::format("audio-{}/", choice.number);
}

std::string MasterPlaylist(const SegmentedMovie& movie) {
  std::string text = fmt::format("#EXTM3U\n#EXT-X-VERSION:{}\n#EXT-X-INDEPENDENT-SEGMENTS\n",
                                 movie.container == Container::kTs ? 4 : 7);
  text += SoundLines(movie) + SubtitleMedia(movie.subtitles, movie.text_query) +
          CaptionMedia(CaptionsIn(movie));
  const std::string groups =
      SubtitleAttribute(movie.subtitles) + CaptionAttribute(CaptionsIn(movie));
  const LoudestSound loudest = LoudestOf(movie);
  for (const PicturesRow& pictures : PicturesOf(movie)) {
    text += PicturesMedia(pictures, loudest, groups, movie.query);
  }
  return text + KeyLine(movie) + ThumbnailMedia(TilesOf(movie), movie.query);
}

std::string MediaPlaylist(const SegmentedMovie& movie, PartTrack track, int rendition) {
  const std::vector<Rational> durations = Durations(movie, track == PartTrack::kAudio);
  const std::int64_t longest = TargetDuration(movie);
  const bool ts = movie.container == Container::kTs;
  const bool subtitles = track == PartTrack::kSubtitles;
  const bool iframes = track == PartTrack::kIFrames;
  const std::string& query = subtitles ? movie.text_query : movie.query;
  std::string text = fmt::format(
      "#EXTM3U\n#EXT-X-VERSION:{}\n#EXT-X-TARGETDURATION:{}\n#EXT-X-MEDIA-SEQUENCE:0\n"
      "#EXT-X-PLAYLIST-TYPE:VOD\n{}\n",
      ts && !iframes ? 3 : 7, longest,
      iframes ? "#EXT-X-I-FRAMES-ONLY" : "#EXT-X-INDEPENDENT-SEGMENTS");
  const std::string name = fmt::format("{}{}", LetterOf(track), rendition);
  if (!ts && !subtitles) text += fmt::format("#EXT-X-MAP:URI=\"{}-init.mp4{}\"\n", name, query);
  for (std::size_t k = 0; k < durations.size(); ++k) {
    text += fmt::format("#EXTINF:{:.6f},\n{}-{}.{}{}\n", durations[k].ToDouble(), name, k,
                        subtitles ? "vtt" : (ts ? "ts" : "m4s"), query);
  }
  return text + "#EXT-X-ENDLIST\n";
}

Result<std::string> DashManifest(const SegmentedMovie& movie, std::span<const SoundOf> sounds) {
  if (movie.container != Container::kMp4) {
    return InvalidArgument("container", "DASH players take CMAF segments only.", "mp4");
  }
  double longest = LongestSegment(movie);
  for (const SoundOf& sound : sounds) {
    if (sound != nullptr) longest = std::max(longest, LongestSegment(*sound));
  }
  std::string text = fmt::format(
      "{} type=\"static\" mediaPresentationDuration=\"PT{:.6f}S\" maxSegmentDuration=\"PT{:.6f}S\" "
      "minBufferTime=\"PT{:.6f}S\">\n  <Period id=\"0\" start=\"PT0S\" duration=\"PT{:.6f}S\">\n",
      ManifestBegin(), TotalSeconds(movie), longest, longest, TotalSeconds(movie));
  const std::string segments =
      Template(movie, false, movie.video.front().timescale, "$RepresentationID$");
  std::size_t next_id = 1;  // behind the pictures
  text += PicturesSet(PicturesOf(movie), CaptionsIn(movie), segments);
  text += SoundSets(movie, sounds, next_id);
  text += TextSets(movie, next_id);
  text += ThumbnailSet(next_id, TilesOf(movie), Sheets(movie));
  return text + "  </Period>\n</MPD>\n";
}

}  // namespace gopmill
