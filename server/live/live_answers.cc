// SPDX-License-Identifier: Apache-2.0
//
// The side of a LivePresentation that players ask.
#include <algorithm>
#include <utility>

#include "base/entity_tag.h"
#include "media/language.h"
#include "media/timed_text.h"
#include "server/live/live_presentation.h"
#include "server/segments/segment_part.h"

namespace gopmill {
namespace {

// Parts that a player may ask for ahead of the newest one (RFC 8216bis 6.2.5.2).
constexpr std::int64_t kAdvanceParts = 3;
// A segment never changes, and can be had for twice as long as it is listed: caches may keep it for
// that long, or for so many seconds if that is more.
constexpr double kLeastLiveAgeSeconds = 600;

Error NotFound(const char* what) {
  return {.code = Code::kNotFound,
          .message = std::string("There is no such ") + what + ", or it has been forgotten.",
          .parameter = "path",
          .accepted = "what the playlists name now"};
}

// Of the playlist that is asked for; `index`: of the track that its segments lie beside.
std::string Lines(const LiveView& view, const LiveAsk& ask, std::size_t index) {
  const auto number = static_cast<std::size_t>(ask.name.rendition);
  const PartTrack track = ask.name.track;
  if (track == PartTrack::kIFrames) return LiveKeyPlaylist(view, ask.delta);
  if (track == PartTrack::kThumbnails) return LiveThumbnailPlaylist(view, ask.delta);
  if (track == PartTrack::kSubtitles) return LiveTextPlaylist(view, number, ask.delta);
  return LiveMediaPlaylist(view, index, ask.delta);
}

// Whether the playlist of this track has what is waited for; or that it never will have in time.
Result<bool> Reached(const LiveTrack& track, const LiveAsk& ask) {
  const std::int64_t wanted = *ask.wait_segment, part = ask.wait_part.value_or(0);
  const std::int64_t last = track.last_complete();
  const auto behind = static_cast<std::int64_t>(track.parts_behind());
  const LiveSegment* complete = ask.wait_part && wanted == last ? track.Find(last) : nullptr;
  // Behind the last part of a segment comes the first of the next.
  if (complete != nullptr && part >= static_cast<std::int64_t>(complete->parts.size())) {
    return behind > 0;
  }
  if (wanted <= last) return true;
  if (wanted > last + 2) {
    return InvalidArgument("_HLS_msn", "This segment is too far ahead.",
                           "up to " + std::to_string(last + 2));
  }
  const std::int64_t parts = wanted == last + 1 ? behind : 0;
  if (part >= parts + kAdvanceParts) {
    return InvalidArgument("_HLS_part", "This part is too far ahead.",
                           "up to " + std::to_string(parts + kAdvanceParts - 1));
  }
  return ask.wait_part && part < parts;
}

}  // namespace

LiveView LivePresentation::View() const {
  return {.terms = setup_.terms, .tracks = tracks_, .ended = failed_ || streams_left_ == 0};
}

std::optional<Result<MediaPart>> LivePresentation::Answer(const LiveAsk& ask) {
  const MutexLock lock(mutex_);
  return AnswerLocked(ask);
}

LivePresentation::Answered LivePresentation::AnswerLocked(const LiveAsk& ask) {
  if (ask.name.kind == PartKind::kMaster) return Master(ask);
  if (ask.name.kind == PartKind::kManifest) return Manifest(ask);
  if (ask.name.track == PartTrack::kIFrames) return Keys(ask);
  if (ask.name.track == PartTrack::kSubtitles) return Texts(ask);
  if (ask.name.track == PartTrack::kTimedText) return TimedTexts(ask);
  if (ask.name.track == PartTrack::kThumbnails) return Thumbnails(ask);
  const std::size_t videos = setup_.terms.targets.size();
  const bool audio = ask.name.track == PartTrack::kAudio;
  if (!audio && ask.name.track != PartTrack::kVideo) return NotFound("rendition");
  const std::size_t renditions = audio ? tracks_.size() - videos : videos;
  if (static_cast<std::size_t>(ask.name.rendition) >= renditions) return NotFound("rendition");
  const std::size_t index = static_cast<std::size_t>(ask.name.rendition) + (audio ? videos : 0);
  const LiveTrack& track = tracks_[index];
  if (ask.name.kind == PartKind::kPlaylist) return Playlist(ask, index);
  if (ask.name.kind == PartKind::kInit) {
    if (!track.known()) return NotYet();
    return Media(ask, std::make_shared<const std::string>(track.track().init));
  }
  return ask.part ? Part(ask, track) : Segment(ask, track);
}

// The key frames alone, of one rendition.
LivePresentation::Answered LivePresentation::Keys(const LiveAsk& ask) {
  if (ask.name.rendition != 0) return NotFound("rendition");
  const LiveTrack& track = tracks_[setup_.terms.key_rendition];
  if (ask.name.kind == PartKind::kPlaylist) return Playlist(ask, setup_.terms.key_rendition);
  if (ask.name.kind == PartKind::kInit) {
    if (!track.known()) return NotYet();
    return Media(ask, std::make_shared<const std::string>(track.track().init));
  }
  const LiveSegment* segment = track.Find(ask.name.number);
  if (segment == nullptr || segment->key.bytes == nullptr) return NotFound("segment");
  return Media(ask, segment->key.bytes);
}

// Those of the same pictures, made when they are asked for.
LivePresentation::Answered LivePresentation::Thumbnails(const LiveAsk& ask) {
  if (ask.name.rendition != 0) return NotFound("rendition");
  if (ask.name.kind == PartKind::kPlaylist) return Playlist(ask, setup_.terms.key_rendition);
  const LiveSegment* segment = tracks_[setup_.terms.key_rendition].Find(ask.name.number);
  if (segment == nullptr || segment->key.packet == nullptr) return NotFound("segment");
  MediaPart part = Media(ask, nullptr);
  if (part.not_modified) return part;
  const bool again =
      segment->thumbnail && !segment->thumbnail->ok() && SteadyNow() >= segment->thumbnail_again;
  if (!segment->thumbnail || again) {
    if (const Status making = MakeThumbnail(*segment); !making.ok()) return making.error();
    return std::nullopt;
  }
  if (!segment->thumbnail->ok()) return segment->thumbnail->error();
  part.bytes = segment->thumbnail->value();
  return part;
}

// If it is not under way already, and there is room for it: who waits comes back here.
Status LivePresentation::MakeThumbnail(const LiveSegment& segment) {
  if (making_.contains(segment.number) || making_.size() >= kMaxThumbnailsMaking) return OkStatus();
  if (!thumbnail_plan_) {
    thumbnail_plan_ =
        PlanLiveThumbnails(tracks_[setup_.terms.key_rendition], setup_.terms.thumbnail);
  }
  GOPMILL_RETURN_IF_ERROR(setup_.make_thumbnail(
      thumbnail_plan_, segment.key.packet,
      [weak = weak_from_this(), number = segment.number](Result<std::string> made) {
        if (const auto self = weak.lock()) self->OnThumbnail(number, std::move(made));
      }));
  making_.insert(segment.number);
  return OkStatus();
}

// A track of text, cut with the pictures of the first rendition.
LivePresentation::Answered LivePresentation::Texts(const LiveAsk& ask) {
  const auto number = static_cast<std::size_t>(ask.name.rendition);
  if (number >= texts_.tracks()) return NotFound("rendition");
  if (ask.name.kind == PartKind::kPlaylist) return Playlist(ask, 0);
  const LiveSegment* segment = tracks_.front().Find(ask.name.number);
  if (segment == nullptr || !segment->complete) return NotFound("segment");
  return Media(ask, segment->texts[number].vtt);
}

// The same in CMAF, put into its container when it is asked for.
LivePresentation::Answered LivePresentation::TimedTexts(const LiveAsk& ask) const {
  const auto number = static_cast<std::size_t>(ask.name.rendition);
  if (number >= texts_.tracks()) return NotFound("rendition");
  const LiveTrack& pictures = tracks_.front();
  const LiveSegment* segment = pictures.Find(ask.name.number);
  const bool init = ask.name.kind == PartKind::kInit;
  if (!init && (segment == nullptr || !segment->complete)) return NoSegment(ask, pictures);
  MediaPart part = Media(ask, nullptr);
  if (part.not_modified) return part;
  const auto ticks = [&](std::int64_t time) {
    return Rescale(time, pictures.track().mux.time_base, kTimedTextTick);
  };
  auto made = init ? MakeTimedTextInit(ContainerLanguage(setup_.terms.texts[number].language))
                   : MakeTimedTextSegment(ask.name.number, ticks(segment->start),
                                          ticks(segment->end()), *segment->texts[number].ttml);
  if (!made.ok()) return made.error();
  part.bytes = std::make_shared<const std::string>(*std::move(made));
  return part;
}

// What is not there yet never will be once the streams are over.
LivePresentation::Answered LivePresentation::NotYet() const {
  if (failed_) return Result<MediaPart>(*failed_);
  if (streams_left_ > 0) return std::nullopt;
  return NotFound("part");
}

bool LivePresentation::AllHaveSegments() const {
  return std::ranges::all_of(tracks_,
                             [](const LiveTrack& track) { return track.last_complete() >= 0; });
}

LivePresentation::Answered LivePresentation::Master(const LiveAsk& ask) {
  const bool known = std::ranges::all_of(tracks_, [](const LiveTrack& t) { return t.known(); });
  if (!known) return NotYet();
  return Text(ask, kHlsType, LiveMasterPlaylist(View()));
}

LivePresentation::Answered LivePresentation::Manifest(const LiveAsk& ask) {
  if (!AllHaveSegments()) return NotYet();
  // The only segment ended where the source broke off: the next one tells how long they take.
  const bool alone = tracks_.front().last_complete() == 0 && !View().ended;
  if (alone && !delays_.known()) return NotYet();
  if (!dash_) {
    const LivePeriod& first = periods_.front();
    const Duration behind = delays_.Usual() + kDashMargin;
    const Duration at = FromSeconds(first.start);
    dash_ = {
        .available_from = first.wall + std::chrono::duration_cast<WallTime::duration>(behind - at),
        .behind = behind};
  }
  dash_->now = WallNow();
  return Text(ask, kDashType, LiveManifest(View(), periods_, *dash_));
}

std::size_t LivePresentation::RenderedAt(const LiveAsk& ask, std::size_t track) const {
  std::size_t number = track;
  if (ask.name.track == PartTrack::kIFrames) number = tracks_.size();
  if (ask.name.track == PartTrack::kThumbnails) number = tracks_.size() + 1;
  if (ask.name.track == PartTrack::kSubtitles) {
    number = tracks_.size() + 2 + static_cast<std::size_t>(ask.name.rendition);
  }
  return 2 * number + (ask.delta ? 1 : 0);
}

LivePresentation::Answered LivePresentation::Playlist(const LiveAsk& ask, std::size_t index) {
  const LiveTrack& track = tracks_[index];
  if (track.last_complete() < 0) return NotYet();
  const LiveView view = View();
  const PartTrack kind = ask.name.track;
  if (ask.wait_segment && !view.ended) {
    LiveAsk waits = ask;
    const bool media = kind == PartTrack::kVideo || kind == PartTrack::kAudio;
    const bool parts = setup_.terms.in_parts() && media;
    if (!parts) waits.wait_part.reset();  // they come with the whole segment
    const auto reached = Reached(track, waits);
    if (!reached.ok()) return reached.error();
    if (!*reached) return std::nullopt;
  }
  Rendered& kept = rendered_[RenderedAt(ask, index)];
  if (kept.revision != revision_) {
    kept = {revision_, std::make_shared<const std::string>(Lines(view, ask, index))};
  }
  MediaPart part = Text(ask, kHlsType, {});
  if (!part.not_modified) part.bytes = kept.text;
  return part;
}

// The next one can be waited for: there are players of DASH that ask for it without looking into
// the manifest, and again at once if they hear that it is not there.
LivePresentation::Answered LivePresentation::NoSegment(const LiveAsk& ask,
                                                       const LiveTrack& track) const {
  return ask.name.number == track.last_complete() + 1 ? NotYet() : NotFound("segment");
}

LivePresentation::Answered LivePresentation::Segment(const LiveAsk& ask,
                                                     const LiveTrack& track) const {
  const LiveSegment* segment = track.Find(ask.name.number);
  if (segment != nullptr && segment->whole != nullptr) return Media(ask, segment->whole);
  return NoSegment(ask, track);
}

// The part that comes next can be waited for: playlists hint at it.
LivePresentation::Answered LivePresentation::Part(const LiveAsk& ask,
                                                  const LiveTrack& track) const {
  const LiveSegment* segment = track.Find(ask.name.number);
  const auto part = static_cast<std::size_t>(*ask.part);
  if (segment != nullptr && part < segment->parts.size()) {
    return Media(ask, segment->parts[part].bytes);
  }
  const bool next = ask.name.number == track.last_complete() + 1 && part == track.parts_behind();
  return next ? NotYet() : NotFound("part");
}

MediaPart LivePresentation::Text(const LiveAsk& ask, const char* type, std::string text) const {
  MediaPart part;
  part.content_type = type;
  part.etag = "\"" + version() + "-" + std::to_string(revision_) + "\"";
  if (ask.name.kind == PartKind::kManifest) {  // it tells the time: no two are equal
    part.etag.insert(1, "d" + std::to_string(dash_->now.time_since_epoch().count()) + "-");
  }
  if (ask.delta) part.etag.insert(1, "s");
  part.not_modified = NamesTag(ask.if_none_match, part.etag);
  if (!part.not_modified) part.bytes = std::make_shared<const std::string>(std::move(text));
  return part;
}

MediaPart LivePresentation::Media(const LiveAsk& ask,
                                  std::shared_ptr<const std::string> bytes) const {
  const PartName& name = ask.name;
  const double age = std::max(kLeastLiveAgeSeconds, 2 * setup_.terms.window.listed_seconds);
  MediaPart part{.content_type = SegmentType(name),
                 .etag = "\"" + version() + "-" + LetterOf(name.track) +
                         std::to_string(name.rendition) + "-" +
                         (name.kind == PartKind::kInit ? "i" : std::to_string(name.number)) +
                         (ask.part ? "." + std::to_string(*ask.part) : "") + "\"",
                 .bytes = nullptr,
                 // Without a version, an address is that of another presentation's part one day.
                 .max_age_seconds = ask.versioned ? static_cast<int>(age) : 0};
  part.not_modified = NamesTag(ask.if_none_match, part.etag);
  if (!part.not_modified) part.bytes = std::move(bytes);
  return part;
}

}  // namespace gopmill
