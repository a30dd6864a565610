// SPDX-License-Identifier: Apache-2.0
//
// How LiveSegments finds and starts presentations.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "base/log.h"
#include "media/language.h"
#include "media/sound_choice.h"
#include "media/source.h"
#include "server/live/live_hub.h"
#include "server/live/live_segments.h"
#include "server/segments/segment_subtitles.h"
#include "server/stream/track_names.h"

namespace gopmill {
namespace {

// The buffer behind the highest rate: units are short, and a key frame has to fit.
constexpr double kBufferSeconds = 1;

// The segments that stay whatever their size must fit into the bound on bytes, twice: as a whole
// and in the parts that make up the newest of them.
Status CheckBytes(const LiveSetup& setup) {
  double bps = 0;
  for (const Target& target : setup.terms.targets) bps += static_cast<double>(target.maxrate);
  const double seconds = setup.terms.window.target_seconds * static_cast<double>(kFewestSegments);
  const double most = 8 * static_cast<double>(setup.max_bytes) / 2 / seconds;
  if (bps <= most) return OkStatus();
  return InvalidArgument(
      "bitrate", "So many bits of a live source are not kept (segments.live_bytes).",
      fmt::format(
          "lower rates or shorter segments; for {} s of them, {:.0f} bits per second at most",
          setup.terms.window.target_seconds, most));
}

// Parts behind the newest, as few as the format recommends.
constexpr int kLeastHoldBack = 3;

// Equally cut for all, so with low delay for all or none.
Result<std::vector<RenditionTarget>> LiveRenditions(SegmentRequest segments, double part_seconds,
                                                    const SourceInfo& source) {
  const RenditionCut by_segment{.unit_seconds = segments.segment_seconds,
                                .buffer_seconds = kBufferSeconds};
  GOPMILL_ASSIGN_OR_RETURN(auto renditions, ResolveRenditions(segments, by_segment, source));
  if (std::ranges::all_of(renditions, HasLowDelay, &RenditionTarget::target)) return renditions;
  segments.target.whole_units = true;
  const Rational fps = renditions.front().target.fps;
  const double part = static_cast<double>(PartFrames(part_seconds, fps)) / fps.ToDouble();
  return ResolveRenditions(
      segments, {.unit_seconds = kUnitParts * part, .buffer_seconds = kBufferSeconds}, source);
}

std::int64_t PixelsOf(const Target& target) { return std::int64_t{target.width} * target.height; }

std::string SizesOf(const std::vector<RenditionTarget>& renditions) {
  std::string sizes;
  for (const auto& [wanted, target] : renditions) {
    fmt::format_to(std::back_inserter(sizes), "{}{}x{}", sizes.empty() ? "" : ",", target.width,
                   target.height);
  }
  return sizes;
}

std::vector<LiveSound> Named(const SourceInfo& source) {
  std::vector<LiveSound> sounds;
  UniqueNames names;
  for (std::size_t i = 0; i < source.sounds(); ++i) {
    const AudioInfo& audio = source.sound(i);
    LiveSound sound{.name = {}, .language = LanguageTag(audio.language), .roles = audio.roles};
    sound.name = names.For({audio.title, sound.language, "Sound"});
    sounds.push_back(std::move(sound));
  }
  return sounds;
}

// Those that are read.
std::vector<SubtitleTrack> TextsOf(const SourceInfo& source) {
  std::vector<SubtitleTrack> texts = source.subtitles;
  if (texts.size() > kMaxLiveTexts) texts.resize(kMaxLiveTexts);
  return texts;
}

// Whether the presentation has the rendition that is asked for: none is started for another.
Status CheckRendition(const PartName& name, const LiveSetup& setup) {
  std::size_t count = setup.terms.targets.size();
  if (name.track == PartTrack::kAudio) count = setup.terms.sounds.size();
  if (name.track == PartTrack::kSubtitles || name.track == PartTrack::kTimedText) {
    count = setup.terms.texts.size();
  }
  if (name.track == PartTrack::kIFrames || name.track == PartTrack::kThumbnails) count = 1;
  if (static_cast<std::size_t>(name.rendition) < count) return OkStatus();
  return Error{.code = Code::kNotFound,
               .message = "There is no such rendition.",
               .parameter = "path",
               .accepted = "what the master playlist names"};
}

}  // namespace

// Who refreshes a manifest does so at its address without a version, and is told the end there
// until somebody publishes again. (A `Location` with the version would be better, but a relative
// one stops dash.js before 4.7, and which address a proxy is asked for is not known here.)
bool LiveSegments::TellsTheEnd(const LiveRequest& request, const Running& running) const {
  if (request.ask.name.kind != PartKind::kManifest || !running.presentation->over()) return false;
  const auto live = hooks_.find(request.source);
  if (!live.ok() || (*live)->info() != nullptr) return false;
  (*live)->Want();  // a source that is fetched on demand
  return true;
}

// The presentation that runs, or a new one: for a playlist, and for one that is over only if the
// request does not come out of its playlists.
Result<std::shared_ptr<LiveSegments::Running>> LiveSegments::Find(const LiveRequest& request) {
  const auto found = running_.find(request.key);
  const std::string& version = request.segments.version;
  if (found != running_.end() && !found->second->forgotten) {
    const LivePresentation& presentation = *found->second->presentation;
    const bool current = version.empty() ? !presentation.over() : version == presentation.version();
    if (current) return found->second;
    if (presentation.over()) StopStreams(*found->second);
    if (version.empty() && TellsTheEnd(request, *found->second)) return found->second;
  }
  const PartKind kind = request.ask.name.kind;
  const bool playlist =
      kind == PartKind::kMaster || kind == PartKind::kManifest || kind == PartKind::kPlaylist;
  if (!version.empty() || !playlist) {
    return Error{.code = Code::kNotFound,
                 .message = "This presentation is over; ask for its master playlist again.",
                 .parameter = "version",
                 .accepted = "what the master playlist names"};
  }
  // A ladder that began beside them would be cut to what they leave over, and stay so.
  if (found != running_.end() && HasStreams(*found->second)) return std::shared_ptr<Running>();
  return Start(request);
}

Result<std::shared_ptr<LiveSegments::Running>> LiveSegments::Start(const LiveRequest& request) {
  GOPMILL_ASSIGN_OR_RETURN(const auto live, hooks_.find(request.source));
  const auto info = live->info();
  if (info == nullptr) {
    live->Want();  // a source that is fetched on demand
    return std::shared_ptr<Running>();
  }
  Wanted wanted;
  AudioTracks sounds = request.segments.target.audio;
  sounds.all = sounds.first == 0;
  GOPMILL_ASSIGN_OR_RETURN(const SoundChoice choice, ChooseSounds(info, sounds));
  GOPMILL_ASSIGN_OR_RETURN(LiveSetup setup, Plan(request, choice.info, wanted));
  GOPMILL_RETURN_IF_ERROR(CheckRendition(request.ask.name, setup));
  const bool full = !running_.contains(request.key) && running_.size() >= kMaxLivePresentations;
  const auto over = [](const auto& entry) { return entry.second->presentation->over(); };
  if (full && std::ranges::none_of(running_, over)) {
    return Error{.code = Code::kUnavailable, .message = "Too many presentations are running."};
  }
  setup.terms.version = fmt::format("{:x}", next_version_++);
  setup.terms.query = QueryFor(request.shared, setup.terms.version);
  auto running = std::make_shared<Running>();
  const auto clock = setup.clock;
  running->presentation = std::make_shared<LivePresentation>(std::move(setup));
  running->tee = std::make_shared<PacketTee>(
      [live, sounds, texts = TextsOf(*info)](const std::stop_token& stop) {
        return live->Subscribe(stop, sounds, LiveSource::ReaderClock::kOwn, texts);
      },
      wanted.streams.size(), clock,
      [live, presentation = running->presentation](std::size_t track, SubtitleCue cue,
                                                   std::int64_t publisher) {
        if (!presentation->OnCue(track, {std::move(cue), publisher})) live->NoteDroppedCue();
      });
  running->used = SteadyNow();
  const Status started = StartStreams(request, wanted, live->pictures(), *running);
  if (!started.ok()) {
    StopStreams(*running);
    return started.error();
  }
  for (const Adjustment& cut : wanted.adjustments) {
    spdlog::warn("live/{}: of the ladder {} only {} are made: {}", request.source, cut.asked,
                 cut.given, cut.reason);
  }
  if (full) ForgetOneThatIsOver();  // only now: what cannot begin pushes nothing out
  running_[request.key] = running;
  const MutexLock lock(mutex_);
  ++stats_.started;
  return running;
}

// The server's own ladder is cut to what the machine has room for; what a client names is made or
// refused. One rendition by itself is the business of its stream.
Status LiveSegments::FitIntoRoom(const LiveRequest& request,
                                 const std::shared_ptr<const SourceInfo>& source,
                                 std::vector<RenditionTarget>& renditions, Wanted& wanted) {
  if (!hooks_.leaves_out || renditions.size() < 2) return OkStatus();
  const std::string class_name = request.segments.target.service_class.value_or("");
  GOPMILL_ASSIGN_OR_RETURN(const std::uint16_t service_class, scheduler_.ClassOf(class_name));
  std::vector<StreamPlan> plans(renditions.size());
  for (std::size_t i = 0; i < plans.size(); ++i) {
    plans[i].source = source;
    plans[i].target = renditions[i].target;
    plans[i].low_delay = HasLowDelay(renditions[i].target);
  }
  std::ranges::stable_sort(plans, std::greater(),
                           [](const StreamPlan& plan) { return PixelsOf(plan.target); });
  GOPMILL_ASSIGN_OR_RETURN(const std::size_t left_out,
                           hooks_.leaves_out(plans, service_class, request.segments.rungs_given));
  if (left_out == 0) return OkStatus();
  Adjustment adjustment{.parameter = "rungs",
                        .asked = SizesOf(renditions),
                        .given = {},
                        .reason =
                            "this machine has no room for more real-time streams, or does "
                            "not make them within the deadline of their class"};
  for (std::size_t i = 0; i < left_out; ++i) {
    renditions.erase(std::ranges::max_element(
        renditions, {}, [](const RenditionTarget& r) { return PixelsOf(r.target); }));
  }
  adjustment.given = SizesOf(renditions);
  wanted.adjustments.push_back(std::move(adjustment));
  return OkStatus();
}

Result<LiveSetup> LiveSegments::Plan(const LiveRequest& request,
                                     const std::shared_ptr<const SourceInfo>& info,
                                     Wanted& wanted) {
  const SegmentRequest& segments = request.segments;
  const SourceInfo& source = *info;
  GOPMILL_ASSIGN_OR_RETURN(auto renditions,
                           LiveRenditions(segments, options_.part_seconds, source));
  GOPMILL_RETURN_IF_ERROR(FitIntoRoom(request, info, renditions, wanted));
  const bool low_delay = HasLowDelay(renditions.front().target);
  const Rational fps = renditions.front().target.fps;
  LiveSetup setup;
  setup.cut = LiveCutFor({.segment_seconds = segments.segment_seconds,
                          .part_seconds = options_.part_seconds,
                          .fps = fps,
                          .source_fps = source.video.fps,
                          .low_delay = low_delay});
  setup.terms.container = setup.cut.container = segments.target.container.value_or(Container::kMp4);
  setup.terms.part = Rational{setup.cut.part_frames * fps.den, fps.num}.Reduced();
  setup.terms.hold_back_parts = low_delay ? kLeastHoldBack : kUnitParts + 2;
  setup.terms.segment_seconds = segments.segment_seconds;
  const int sample_rate = renditions.front().target.sample_rate;
  setup.terms.window = {.listed_seconds = options_.window_seconds,
                        .target_seconds = TargetSecondsFor(setup.cut, fps, sample_rate)};
  for (const RenditionTarget& rendition : renditions) {
    wanted.streams.push_back(rendition.wanted);
    // Of MP4 also for transport streams: one form of packets, and one size (WithHalfSize).
    wanted.streams.back().container = Container::kMp4;
    if (wanted.streams.size() > 1) LeaveSoundOut(wanted.streams.back());  // the first brings it
    setup.terms.targets.push_back(rendition.target);
  }
  setup.terms.key_rendition = SmallestOf(renditions);
  setup.terms.thumbnail = LiveThumbnailSize(setup.terms.targets[setup.terms.key_rendition]);
  GOPMILL_ASSIGN_OR_RETURN(setup.make_thumbnail,
                           ThumbnailMaker(segments.target.service_class.value_or("")));
  if (setup.terms.targets.front().acodec != AudioCodec::kNone) setup.terms.sounds = Named(source);
  setup.terms.texts = ListSubtitles(TextsOf(source));
  setup.terms.captions = CaptionsStateOf(source.video, setup.terms.targets.front().vcodec);
  setup.max_bytes = options_.max_bytes;
  // The server's own ladder is not the client's to change.
  if (segments.rungs_given || segments.rungs.empty()) GOPMILL_RETURN_IF_ERROR(CheckBytes(setup));
  setup.clock = std::make_shared<LiveClock>();
  // Streams end before this object does: MediaService sees to it.
  setup.on_change = [this] { Wake(); };
  return setup;
}

Result<LiveSetup::PictureMaker> LiveSegments::ThumbnailMaker(const std::string& class_name) {
  GOPMILL_ASSIGN_OR_RETURN(const std::uint16_t service_class, scheduler_.ClassOf(class_name));
  return LiveSetup::PictureMaker([this, stream = thumbnails_.NewStream(), service_class](
                                     auto plan, auto key, LiveThumbnails::Done done) {
    return thumbnails_.Make({.plan = std::move(plan),
                             .key = std::move(key),
                             .stream = stream,
                             .service_class = service_class},
                            std::move(done));
  });
}

Status LiveSegments::StartStreams(const LiveRequest& request, const Wanted& wanted,
                                  const std::shared_ptr<PictureStore>& pictures, Running& running) {
  const std::size_t count = wanted.streams.size();
  const auto group =
      count > 1 ? std::make_shared<DecodeGroup>(count) : std::shared_ptr<DecodeGroup>();
  for (std::size_t i = 0; i < count; ++i) {
    SessionSpec spec;
    if (i == 0) spec.adjustments = wanted.adjustments;
    spec.group = group;
    spec.member = i;
    spec.pictures = pictures;
    spec.source_name = std::string(kLivePrefix) + request.source;
    spec.request = wanted.streams[i];
    spec.open_packets = [tee = running.tee, i](const std::stop_token& stop) {
      return tee->Open(i, stop);
    };
    spec.sink = running.presentation->MakeSink(i);
    GOPMILL_ASSIGN_OR_RETURN(const StreamId id, hooks_.admit(std::move(spec)));
    running.streams.push_back(id);
  }
  return OkStatus();
}

}  // namespace gopmill
