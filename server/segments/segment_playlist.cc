// SPDX-License-Identifier: Apache-2.0
#include "server/segments/segment_playlist.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <vector>

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

std::string VideoSet(const SegmentedMovie& movie) {
  std::string text =
      "    <AdaptationSet id=\"0\" contentType=\"video\" mimeType=\"video/mp4\" "
      "segmentAlignment=\"true\" startWithSAP=\"1\">\n" +
      movie.video.front().range.dash + CaptionAccessibility(CaptionsIn(movie)) +
      Template(movie, false, movie.video.front().timescale, "$RepresentationID$");
  int id = 0;
  for (const VideoRendition& video : movie.video) {
    const Target& target = video.plan->target;
    text += fmt::format(
        "      <Representation id=\"v{}\" codecs=\"{}\" bandwidth=\"{}\" width=\"{}\" "
        "height=\"{}\" frameRate=\"{}/{}\"/>\n",
        id++, video.codecs, video.peak_bps, target.width, target.height, target.fps.num,
        target.fps.den);
  }
  return text + "    </AdaptationSet>\n";
}

// A set for each sound track, those of other presentations with their timelines.
std::string AudioSets(const SegmentedMovie& movie, std::span<const SoundOf> sounds, int& next_id) {
  std::string text;
  for (std::size_t i = 0; i < sounds.size(); ++i) {
    if (sounds[i] == nullptr || !sounds[i]->audio) continue;
    const AudioChoice& choice = movie.audio_choices[i];
    const AudioRendition& audio = *sounds[i]->audio;
    text += fmt::format(
        "    <AdaptationSet id=\"{}\" contentType=\"audio\" mimeType=\"audio/mp4\"{} "
        "segmentAlignment=\"true\" startWithSAP=\"1\">\n      <Label>{}</Label>\n{}",
        next_id++, LangAttribute(choice.language), XmlText(choice.name),
        RoleElements(choice.chosen ? "main" : "alternate", choice.roles));
    text += Template(*sounds[i], true, audio.timescale, SoundFolder(movie, choice) + "a0");
    text += fmt::format(
        "      <Representation id=\"a0{}\" codecs=\"{}\" bandwidth=\"{}\" "
        "audioSamplingRate=\"{}\">\n        <AudioChannelConfiguration "
        "schemeIdUri=\"urn:mpeg:dash:23003:3:audio_channel_configuration:2011\" "
        "value=\"{}\"/>\n      </Representation>\n    </AdaptationSet>\n",
        choice.chosen ? "" : fmt::format("-{}", choice.number), DashCodecs(audio), audio.peak_bps,
        audio.grid.rate, audio.channels);
  }
  return text;
}

// One file each: DASH players take WebVTT so. FFmpeg 5.1 writes a BaseURL back into the manifest
// without its escapes, so there is no "&" in it.
std::string TextSets(const SegmentedMovie& movie, int& next_id) {
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
std::string ThumbnailSet(const SegmentedMovie& movie, int& next_id) {
  const ThumbnailRendition& thumbnails = movie.thumbnails;
  const Target& target = thumbnails.plan->target;
  constexpr int kMillis = 1000;
  const std::int64_t sheet = Rescale(kThumbnailsPerSheet, thumbnails.interval, {1, kMillis});
  return fmt::format(
      "    <AdaptationSet id=\"{}\" contentType=\"image\" mimeType=\"image/jpeg\">\n"
      "      <SegmentTemplate timescale=\"{}\" duration=\"{}\" startNumber=\"0\" "
      "endNumber=\"{}\" media=\"$RepresentationID$-$Number$.jpg{}\"/>\n"
      "      <Representation id=\"t0\" bandwidth=\"{}\" width=\"{}\" height=\"{}\">\n"
      "        <EssentialProperty schemeIdUri=\"http://dashif.org/guidelines/thumbnail_tile\" "
      "value=\"{}x{}\"/>\n      </Representation>\n    </AdaptationSet>\n",
      next_id++, kMillis, sheet, thumbnails.sheets() - 1, XmlText(movie.query), thumbnails.peak_bps,
      target.width * kThumbnailColumns, target.height * kThumbnailRows, kThumbnailColumns,
      kThumbnailRows);
}

std::string IFrameMedia(const SegmentedMovie& movie) {
  if (!movie.iframes) return {};
  const Target& target = movie.iframes->plan->target;
  return fmt::format(
      "#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH={},CODECS=\"{}\",RESOLUTION={}x{}{},URI=\"i0.m3u8{}\"\n",
      movie.iframes->peak_bps, movie.iframes->codecs, target.width, target.height,
      RangeAttribute(*movie.iframes), movie.query);
}

std::string ThumbnailMedia(const SegmentedMovie& movie) {
  const ThumbnailRendition& thumbnails = movie.thumbnails;
  const Target& target = thumbnails.plan->target;
  return fmt::format(
      "#EXT-X-IMAGE-STREAM-INF:BANDWIDTH={},RESOLUTION={}x{},CODECS=\"jpeg\",URI=\"t0.m3u8{}\"\n",
      thumbnails.peak_bps, target.width, target.height, movie.query);
}

// Whether a player that looks for the track's language takes this one: of equal languages the
// chosen or first one (RFC 8216 section 4.3.4.1.1), as commentaries come behind. What describes the
// pictures is looked for by itself.
bool ByLanguage(const std::vector<AudioChoice>& choices, const AudioChoice& choice) {
  const auto same = [&](const AudioChoice& other) {
    return other.language == choice.language &&
           SoundCharacteristics(other.roles) == SoundCharacteristics(choice.roles);
  };
  const bool has_chosen = std::ranges::any_of(
      choices, [&](const AudioChoice& other) { return other.chosen && same(other); });
  return has_chosen ? choice.chosen : &*std::ranges::find_if(choices, same) == &choice;
}

// Each other track is that of the presentation that is asked for with its number.
std::string SoundMedia(const SegmentedMovie& movie) {
  std::string text;
  for (const AudioChoice& choice : movie.audio_choices) {
    text += fmt::format(
        "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"sound\",NAME=\"{}\"{},DEFAULT={},AUTOSELECT={},"
        "CHANNELS=\"{}\"{},URI=\"{}a0.m3u8{}{}\"\n",
        choice.name, LanguageAttribute(choice.language), choice.chosen ? "YES" : "NO",
        ByLanguage(movie.audio_choices, choice) ? "YES" : "NO", choice.channels,
        SoundCharacteristics(choice.roles), SoundFolder(movie, choice), movie.query,
        choice.chosen || movie.packaged ? "" : fmt::format("&audio={}", choice.number));
  }
  return text;
}

}  // namespace

std::string SoundFolder(const SegmentedMovie& movie, const AudioChoice& choice) {
  if (!movie.packaged || choice.chosen) return {};
  return fmt::format("audio-{}/", choice.number);
}

std::string MasterPlaylist(const SegmentedMovie& movie) {
  std::string text = fmt::format("#EXTM3U\n#EXT-X-VERSION:{}\n#EXT-X-INDEPENDENT-SEGMENTS\n",
                                 movie.container == Container::kTs ? 4 : 7);
  std::string group, sound;
  if (movie.audio) {
    text += SoundMedia(movie);
    group = ",AUDIO=\"sound\"";
    sound = "," + movie.audio->codecs;
  }
  text += SubtitleMedia(movie.subtitles, movie.text_query);
  group += SubtitleAttribute(movie.subtitles);
  text += CaptionMedia(CaptionsIn(movie));
  group += CaptionAttribute(CaptionsIn(movie));
  std::int64_t loudest = 0, loudest_mean = 0;
  for (const AudioChoice& choice : movie.audio_choices) {
    loudest = std::max(loudest, choice.peak_bps);
    loudest_mean = std::max(loudest_mean, choice.average_bps);
  }
  int number = 0;
  for (const VideoRendition& video : movie.video) {
    const Target& target = video.plan->target;
    const std::int64_t peak = video.peak_bps + loudest;
    const std::int64_t average = video.average_bps + loudest_mean;
    text += fmt::format(
        "#EXT-X-STREAM-INF:BANDWIDTH={},AVERAGE-BANDWIDTH={},CODECS=\"{}{}\",RESOLUTION={}x{},"
        "FRAME-RATE={:.3f}{}{}\nv{}.m3u8{}\n",
        peak, average, video.codecs, sound, target.width, target.height, target.fps.ToDouble(),
        RangeAttribute(video), group, number++, movie.query);
  }
  return text + IFrameMedia(movie) + ThumbnailMedia(movie);
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
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" "
      "profiles=\"urn:mpeg:dash:profile:isoff-live:2011,urn:mpeg:dash:profile:cmaf:2019\" "
      "type=\"static\" mediaPresentationDuration=\"PT{:.6f}S\" maxSegmentDuration=\"PT{:.6f}S\" "
      "minBufferTime=\"PT{:.6f}S\">\n  <Period id=\"0\" start=\"PT0S\" duration=\"PT{:.6f}S\">\n",
      TotalSeconds(movie), longest, longest, TotalSeconds(movie));
  int next_id = 1;  // behind the pictures
  text += VideoSet(movie) + AudioSets(movie, sounds, next_id);
  text += TextSets(movie, next_id);
  text += ThumbnailSet(movie, next_id);
  return text + "  </Period>\n</MPD>\n";
}

}  // namespace gopmill
