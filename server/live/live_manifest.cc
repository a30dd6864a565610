// SPDX-License-Identifier: Apache-2.0
//
// The dynamic DASH manifest of live_playlist.h. The presentation's clock on the wall is that of the
// source's arrival, later by the time that making a segment takes: so a segment is never announced
// before it can be had.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ranges>

#include "base/xml_text.h"
#include "media/timed_text.h"
#include "server/live/live_playlist.h"
#include "server/stream/track_names.h"
#include "server/stream/track_roles.h"

namespace gopmill {
namespace {

// By which a segment of the sound may end behind that of the pictures: a frame and its rounding.
constexpr std::chrono::milliseconds kSoundSlack{100};
// Of a segment of text at most, unless very much is said: markup, and a few lines.
constexpr double kTextBits = 8 * 4096;

class Manifest {
 public:
  Manifest(const LiveView& view, const std::vector<LivePeriod>& periods, const LiveDashTimes& times)
      : view_(view), newest_(periods.back().number), times_(times) {
    const auto has = [&](const LivePeriod& period) { return Has(period); };
    all_ = view.ended || std::ranges::none_of(periods, has);
    Order(periods);
  }

  std::string Text() const;

 private:
  struct Listed : LivePeriod {
    double until = 0;  // on the presentation's clock
  };
  std::string Head() const;
  void Order(const std::vector<LivePeriod>& periods);
  std::string Period(const Listed& period) const;
  enum class Media { kCmaf, kText, kPictures };
  std::string Template(std::size_t track, const Listed& period, Media media = Media::kCmaf) const;
  // Sets of a period.
  std::string Pictures(const Listed& period) const;
  std::string Sound(std::size_t sound, const Listed& period) const;
  std::string Text(std::size_t text, const Listed& period) const;
  std::string Thumbnails(const Listed& period) const;
  bool Has(const LivePeriod& period) const;
  bool Shown(const LiveTrack& track, const LiveSegment& segment, const LivePeriod& period) const;
  bool Due(const LiveTrack& track, const LiveSegment& segment, const LivePeriod& period) const;
  std::int64_t newest(std::size_t track) const;

  const LiveView& view_;
  const std::int64_t newest_;  // number of the newest period, listed or not
  const LiveDashTimes& times_;
  std::vector<Listed> periods_;
  bool all_ = false;  // lists what is not due yet, too: the last manifest, or else it were empty
};

// The newest segment that all renditions have which share a timeline.
std::int64_t Manifest::newest(std::size_t track) const {
  if (SoundNumber(view_, track)) return view_.tracks[track].last_complete();
  std::int64_t number = view_.tracks.front().last_complete();
  for (std::size_t i = 1; i < view_.terms.targets.size(); ++i) {
    number = std::min(number, view_.tracks[i].last_complete());
  }
  return number;
}

bool Manifest::Shown(const LiveTrack& track, const LiveSegment& segment,
                     const LivePeriod& period) const {
  const auto index = static_cast<std::size_t>(&track - view_.tracks.data());
  return segment.period == period.number && track.listed(segment) &&
         segment.number <= newest(index) && (all_ || Due(track, segment, period));
}

// By the clock that the manifest declares, or soon.
bool Manifest::Due(const LiveTrack& track, const LiveSegment& segment,
                   const LivePeriod& period) const {
  const Duration length = FromSeconds(track.Seconds(segment.end()) - period.start);
  const auto index = static_cast<std::size_t>(&track - view_.tracks.data());
  const auto early = SoundNumber(view_, index) ? kDashEarly + kSoundSlack : kDashEarly;
  return period.wall + times_.behind + length <= times_.now + early;
}

bool Manifest::Has(const LivePeriod& period) const {
  const LiveTrack& video = view_.tracks.front();
  return std::ranges::any_of(
      video.segments(), [&](const LiveSegment& segment) { return Shown(video, segment, period); });
}

// Those that have something to show, each over when a later one begins: behind a publisher that was
// ahead of the clock, one that is not begins before all of it has been shown.
void Manifest::Order(const std::vector<LivePeriod>& periods) {
  const LiveTrack& video = view_.tracks.front();
  std::optional<WallTime> next;
  for (const LivePeriod& period : std::views::reverse(periods)) {
    if (!Has(period) || (next && period.wall >= *next)) continue;
    Listed listed{period, period.start};
    for (const LiveSegment& segment : video.segments()) {
      if (segment.period == period.number) listed.until = video.Seconds(segment.end());
    }
    if (next) {
      listed.until = std::min(listed.until, period.start + ToSeconds(*next - period.wall));
    }
    next = period.wall;
    periods_.push_back(listed);
  }
  std::ranges::reverse(periods_);
}

std::string Manifest::Head() const {
  const double segment = view_.terms.window.target_seconds + 0.5;
  std::string text = fmt::format(
      "{} type=\"dynamic\" availabilityStartTime=\"{}\" publishTime=\"{}\" "
      "timeShiftBufferDepth=\"PT{:.3f}S\" maxSegmentDuration=\"PT{:.3f}S\" "
      "minBufferTime=\"PT{:.3f}S\" suggestedPresentationDelay=\"PT{:.3f}S\"",
      ManifestBegin(), UtcMillis(times_.available_from), UtcMillis(times_.now),
      std::max(view_.terms.window.listed_seconds, 3.0 * view_.terms.window.target_seconds), segment,
      view_.terms.segment_seconds, 2 * view_.terms.segment_seconds);
  if (!view_.ended) {
    text += fmt::format(" minimumUpdatePeriod=\"PT{:.3f}S\"", view_.terms.segment_seconds);
  }
  return text + ">\n";
}

std::string Manifest::Text() const {
  std::string text = Head();
  for (const Listed& period : periods_) text += Period(period);
  return text + fmt::format(
                    "  <UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:direct:2014\" value=\"{}\"/>\n"
                    "</MPD>\n",
                    UtcMillis(times_.now));
}

std::string Manifest::Period(const Listed& period) const {
  const double start = ToSeconds(period.wall + times_.behind - times_.available_from);
  std::string text =
      fmt::format("  <Period id=\"{}\" start=\"PT{:.3f}S\"", period.number, std::max(start, 0.0));
  if (period.number != newest_ || view_.ended) {
    text += fmt::format(" duration=\"PT{:.3f}S\"", period.until - period.start);
  }
  text += ">\n" + Pictures(period);
  for (std::size_t i = 0; i < view_.terms.sounds.size(); ++i) text += Sound(i, period);
  for (std::size_t i = 0; i < view_.terms.texts.size(); ++i) text += Text(i, period);
  text += Thumbnails(period);
  return text + "  </Period>\n";
}

std::string Manifest::Template(std::size_t index, const Listed& period, Media media) const {
  const LiveTrack& track = view_.tracks[index];
  const int timescale =
      media == Media::kText ? static_cast<int>(kTimedTextTick.den) : track.track().timescale;
  const std::string query = XmlText(view_.terms.query);
  const auto ticks = [&](std::int64_t value) {
    return Rescale(value, track.track().mux.time_base, {1, timescale});
  };
  std::string timeline;
  std::int64_t number = -1;
  bool hole = false;
  for (const LiveSegment& segment : track.segments()) {
    if (!Shown(track, segment, period)) continue;
    if (period.number != newest_ && track.Seconds(segment.start) >= period.until) break;
    if (!segment.whole) {
      hole = true;
      continue;
    }
    if (hole) timeline.clear();  // numbers have no holes: what is listed begins behind the last
    // Of a packet of sound that begins before the first picture, what comes before is not heard
    // (edit list), and no time in a manifest is negative.
    const std::int64_t begin = std::max<std::int64_t>(ticks(segment.start), 0);
    const std::int64_t end = ticks(segment.end());
    if (end <= begin) continue;
    if (hole || number < 0) number = segment.number;
    hole = false;
    timeline += fmt::format("          <S t=\"{}\" d=\"{}\"/>\n", begin, end - begin);
  }
  if (timeline.empty()) return {};
  const bool cmaf = media != Media::kPictures;
  const std::string init =
      cmaf ? fmt::format("initialization=\"$RepresentationID$-init.mp4{}\" ", query) : "";
  return fmt::format(
      "      <SegmentTemplate timescale=\"{}\" startNumber=\"{}\" presentationTimeOffset=\"{}\" "
      "{}media=\"$RepresentationID$-$Number$.{}{}\">\n        <SegmentTimeline>\n{}"
      "        </SegmentTimeline>\n      </SegmentTemplate>\n",
      timescale, std::max<std::int64_t>(number, 0), std::llround(period.start * timescale), init,
      cmaf ? "m4s" : "jpg", query, timeline);
}

std::string Manifest::Pictures(const Listed& period) const {
  std::vector<PicturesRow> rows;
  for (std::size_t i = 0; i < view_.terms.targets.size(); ++i) {
    rows.push_back(PicturesRowOf(view_, i));
  }
  return PicturesSet(rows, view_.terms.captions, Template(0, period));
}

// Left out while there is none: a timeline must not be empty.
std::string Manifest::Sound(std::size_t number, const Listed& period) const {
  const std::size_t index = view_.terms.targets.size() + number;
  const LiveTrack& sound = view_.tracks[index];
  const std::string segments = Template(index, period);
  if (segments.empty()) return {};
  return SoundSet(number + 1, SoundRowOf(view_, number),
                  {.id = TrackName(view_, index),
                   .track = sound.track(),
                   .peak_bps = sound.peak_bps(),
                   .rate = sound.coded().sample_rate},
                  segments);
}

// Of text, cut with the pictures of the first rendition.
std::string Manifest::Text(std::size_t number, const Listed& period) const {
  const SubtitleRendition& text = view_.terms.texts[number];
  const std::string segments = Template(0, period, Media::kText);
  if (segments.empty()) return {};
  return fmt::format(
      "    <AdaptationSet id=\"{}\" contentType=\"text\" mimeType=\"application/mp4\"{} "
      "segmentAlignment=\"true\" startWithSAP=\"1\">\n      <Label>{}</Label>\n{}{}"
      "      <Representation id=\"x{}\" codecs=\"{}\" bandwidth=\"{}\"/>\n"
      "    </AdaptationSet>\n",
      view_.terms.sounds.size() + 1 + number, LangAttribute(text.language), XmlText(text.name),
      RoleElements(TextRole(text.forced, text.roles), text.roles), segments, number,
      kTimedTextCodec, std::llround(kTextBits / view_.terms.segment_seconds));
}

// A tile for each segment of the pictures.
std::string Manifest::Thumbnails(const Listed& period) const {
  const std::string segments = Template(view_.terms.key_rendition, period, Media::kPictures);
  if (segments.empty()) return {};
  return ThumbnailSet(view_.terms.sounds.size() + view_.terms.texts.size() + 1, TilesRowOf(view_),
                      segments);
}

}  // namespace

std::string LiveManifest(const LiveView& view, const std::vector<LivePeriod>& periods,
                         const LiveDashTimes& times) {
  return Manifest(view, periods, times).Text();
}

}  // namespace gopmill
