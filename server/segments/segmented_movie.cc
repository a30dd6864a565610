// SPDX-License-Identifier: Apache-2.0
#include "server/segments/segmented_movie.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "media/digest.h"
#include "media/language.h"
#include "server/segments/rendition_identity.h"
#include "server/segments/segment_subtitles.h"
#include "server/segments/segment_thumbnails.h"
#include "server/stream/build_identity.h"
#include "server/stream/track_names.h"

namespace gopmill {
namespace {

constexpr std::size_t kVersionDigits = 12;

// Sound counts as well: one packet of it may claim to lie thousands of years behind the others.
Status CheckCount(double seconds, double segment_seconds) {
  if (seconds / segment_seconds <= static_cast<double>(kMaxSegments)) return OkStatus();
  return InvalidArgument("segment", "The source is too long for so short segments.",
                         "at most 500000 segments");
}

class Planner {
 public:
  Planner(std::shared_ptr<const SourceIndex> index, const SegmentRequest& request,
          const RequestParams& params, const FileIdentity& file,
          std::shared_ptr<const SubtitleScript> script)
      : index_(std::move(index)), request_(request), script_(std::move(script)), file_(file.movie) {
    movie_->index = index_;
    movie_->version = Sha256Hex(file_ + Drawn() + Making()).substr(0, kVersionDigits);
    movie_->query = QueryFor(params, movie_->version);
    movie_->text_version = Sha256Hex(file.movie + file.texts + Making()).substr(0, kVersionDigits);
    movie_->text_query = QueryFor(params, movie_->text_version);
    movie_->segment_seconds = request.segment_seconds;
    movie_->container = request.target.container.value_or(Container::kMp4);
  }

  Result<std::shared_ptr<const SegmentedMovie>> Run();

 private:
  Status Cut(const Target& target);
  [[nodiscard]] SourceTicks Origin(SourceTicks start, Rational fps) const;
  Result<VideoRendition> MakeVideo(const Target& target, std::int64_t level_bps = 0) const;
  [[nodiscard]] Target IFrameTarget(Target target) const;
  void AddIFrames(const Target& smallest);
  Status AddAudio(const Target& target);
  void ListChoices();
  // Another program, ladder or length of segments makes other renditions under the same names: a
  // header or a segment that somebody has kept does not fit them.
  [[nodiscard]] std::string Making() const {
    std::string making = fmt::format("{};{}", BuildIdentity(), request_.segment_seconds);
    for (const Rung& rung : request_.rungs) {
      making += fmt::format(";{}x{}:{}", rung.width, rung.height, rung.bitrate);
    }
    return making;
  }
  // What pictures depend on beside the movie.
  [[nodiscard]] std::string Drawn() const { return script_ ? script_->fingerprint : ""; }
  [[nodiscard]] RenditionSource Source(const std::string& drawn = {}) const {
    return {file_ + drawn, request_.target.audio.first, request_.segment_seconds};
  }
  [[nodiscard]] ContainerLoad Load(double packets_per_second) const {
    return {movie_->container, packets_per_second, 1 / request_.segment_seconds};
  }

  std::shared_ptr<const SourceIndex> index_;
  const SegmentRequest& request_;
  const std::shared_ptr<const SubtitleScript> script_;
  const std::string& file_;
  std::shared_ptr<SegmentedMovie> movie_ = std::make_shared<SegmentedMovie>();
  OutputGrid grid_;
  const RenditionCut cut_{.unit_seconds = request_.segment_seconds,
                          .buffer_seconds = request_.segment_seconds};
};

// Time 0 is in step with the pictures. Where sound comes first, whole frames in front of the first
// picture show it too, and what is left of the sound, less than one frame, is cut.
SourceTicks Planner::Origin(SourceTicks start, Rational fps) const {
  const Rational tick = index_->source->video.time_base;
  const SourceTicks first = index_->counted_pts ? 0 : index_->first_pts();
  if (first <= start) return start;
  const std::int64_t frames = Rescale(first - start, tick, fps.Inverse(), Round::kDown);
  return first - Rescale(frames, fps.Inverse(), tick, Round::kDown);
}

Status Planner::Cut(const Target& target) {
  const VideoInfo& video = index_->source->video;
  const SourceTicks start = ToTicks(target.start, video.time_base);
  const SourceTicks origin = Origin(start, target.fps);
  grid_ = OutputGrid(target.fps, video.fps, video.time_base, origin);
  movie_->zero = Rational{origin * video.time_base.num, video.time_base.den}.Reduced();
  std::int64_t frames = grid_.FrameCount(index_->video_end);
  if (target.duration.valid()) {
    frames = std::min(frames, grid_.FramesBefore(Sum(target.start, target.duration)));
  }
  if (frames <= 0) {
    return InvalidArgument("start", "There is no picture in this part of the source.",
                           "a start before its last picture");
  }
  const double seconds = static_cast<double>(frames) / target.fps.ToDouble();
  GOPMILL_RETURN_IF_ERROR(CheckCount(seconds, request_.segment_seconds));
  movie_->segments = CutSegments(*index_, grid_, request_.segment_seconds, frames);
  return OkStatus();
}

// `level_bps`: the rate that the level of single pictures is chosen by; 0 = whole segments.
Result<VideoRendition> Planner::MakeVideo(const Target& target, std::int64_t level_bps) const {
  auto plan = std::make_shared<StreamPlan>();
  plan->source = index_->source;
  plan->target = target;
  plan->texts.script = script_;
  plan->grid = grid_;
  plan->counted_pts = index_->counted_pts;
  GOPMILL_ASSIGN_OR_RETURN(EncoderSpec spec, MakeEncoderSpec(*plan));
  spec.level_bps = level_bps;
  if (level_bps == 0) spec.threads = ThreadsWorthwhile(spec);
  EncoderSpec described = spec;
  described.global_header = true;  // the init segment's form, for the codec string
  GOPMILL_ASSIGN_OR_RETURN(const auto encoder, VideoEncoder::Open(described));
  VideoRendition rendition;
  GOPMILL_ASSIGN_OR_RETURN(rendition.mux.parameters, EncoderParameters(*encoder));
  rendition.mux.kind = TrackKind::kVideo;
  rendition.mux.time_base = grid_.fps().Inverse();
  rendition.mux.frame_rate = grid_.fps();
  rendition.lead = encoder->reorder_delay();
  rendition.mux.mastering_display = spec.mastering_display;
  rendition.mux.content_light = spec.content_light;
  GOPMILL_RETURN_IF_ERROR(Describe(rendition));
  if (target.rate_mode == RateMode::kBitrate) {
    rendition.budgets = SegmentBudgets(*index_, grid_, movie_->segments, target.bitrate);
  }
  const ContainerLoad load = Load(target.fps.ToDouble());
  const auto mean = static_cast<double>(target.bitrate > 0 ? target.bitrate : target.maxrate);
  rendition.peak_bps = WithOverhead(static_cast<double>(target.maxrate), load);
  rendition.average_bps = WithOverhead(mean, load);
  rendition.identity = VideoIdentity(target, Source(Drawn()), movie_->segments.frames());
  rendition.plan = std::move(plan);
  rendition.encoder = std::make_shared<const EncoderSpec>(std::move(spec));
  return rendition;
}

// One picture in place of a segment: its bits are those of a good key frame, and no more than the
// buffer holds, so that the playlist can state the highest rate.
Target Planner::IFrameTarget(Target target) const {
  target.degrain = Denoise::kOff;                     // not worth the pictures around each
  constexpr double kMeanBits = 0.6, kMostBits = 1.5;  // per pixel
  constexpr double kHeaderBits = 16'000;              // what an encoder writes beside the picture
  constexpr std::int64_t kMostRate = 100'000'000;     // that all encoders take
  const double pixels = static_cast<double>(target.width) * target.height;
  target.rate_mode = RateMode::kBitrate;
  target.quality = Quality::kNormal;
  const double fps = target.fps.ToDouble();
  target.bitrate =
      std::min<std::int64_t>(std::llround((pixels * kMeanBits + kHeaderBits / 2) * fps), kMostRate);
  target.bufsize = std::llround(pixels * kMostBits + kHeaderBits);
  // The buffer is full again when the next picture comes, a segment later.
  target.maxrate = std::llround(static_cast<double>(target.bufsize) * fps);
  return target;
}

void Planner::AddIFrames(const Target& smallest) {
  const Target target = IFrameTarget(smallest);
  // Segments are a quarter shorter at the least, the last one by what is left.
  double shortest = request_.segment_seconds;
  for (std::int64_t k = 0; k < movie_->segments.count(); ++k) {
    shortest = std::min(shortest, VideoSegmentDuration(movie_->segments, k).ToDouble());
  }
  const double frames = 1 / shortest, bps = static_cast<double>(target.bufsize) * frames;
  auto made = MakeVideo(target, std::llround(bps));
  if (!made.ok()) return;
  made->peak_bps = WithOverhead(bps, {movie_->container, frames, frames});
  made->average_bps = made->peak_bps;
  made->identity += ";i";
  made->budgets.clear();
  movie_->iframes = std::move(made).value();
}

Status Planner::AddAudio(const Target& target) {
  if (target.acodec == AudioCodec::kNone) return OkStatus();
  GOPMILL_ASSIGN_OR_RETURN(const AudioCoding coding, ProbeAudioCoding(target));
  const std::int64_t heard = AudioLength(*index_, movie_->zero, target.duration, coding.rate);
  // Silence behind it, to the end of the pictures: players wait for a track that is over. One that
  // is over before the movie's part begins is silence: the choices name it.
  const SegmentGrid& video = movie_->segments;
  const std::int64_t seen =
      Rescale(video.frames(), video.fps.Inverse(), {1, coding.rate}, Round::kUp);
  const std::int64_t samples = std::max(heard, seen);
  const double seconds = static_cast<double>(samples) / coding.rate;
  GOPMILL_RETURN_IF_ERROR(CheckCount(seconds, request_.segment_seconds));
  AudioRendition rendition;
  rendition.target = target;
  rendition.start = movie_->zero;
  rendition.grid = CutAudio(movie_->segments, request_.segment_seconds, coding.rate,
                            coding.frame_size, coding.priming, samples);
  rendition.mux.kind = TrackKind::kAudio;
  rendition.mux.parameters = coding.parameters;
  rendition.mux.time_base = {1, coding.rate};
  rendition.lead = coding.priming;
  GOPMILL_RETURN_IF_ERROR(Describe(rendition));
  const ContainerLoad load = Load(static_cast<double>(coding.rate) / coding.frame_size);
  const auto mean = static_cast<double>(target.abitrate);
  rendition.peak_bps = WithOverhead(mean * kAudioPeak, load);
  rendition.average_bps = WithOverhead(mean, load);
  rendition.identity = AudioIdentity(target, Source(), samples);
  movie_->audio = std::move(rendition);
  ListChoices();
  return OkStatus();
}

// The tracks of the source that can be what is asked for, or the one that was named.
void Planner::ListChoices() {
  const SourceInfo& source = *index_->source;
  UniqueNames names;
  for (std::size_t i = 0; i < source.audio_tracks.size(); ++i) {
    const AudioInfo& track = source.audio_tracks[i];
    const bool chosen = track.stream_index == source.audio->stream_index;
    if (!chosen && request_.target.audio.first != 0) continue;
    SourceInfo other = source;
    other.audio = track;
    const auto targets = ResolveRenditions(request_, cut_, other);
    if (!targets.ok()) continue;
    const Target& target = targets->front().target;
    const auto scaled = [&](std::int64_t bps) {
      return bps * target.abitrate / std::max<std::int64_t>(movie_->audio->target.abitrate, 1);
    };
    AudioChoice choice{.number = static_cast<int>(i) + 1,
                       .name = {},
                       .language = LanguageTag(track.language),
                       .chosen = chosen,
                       .roles = track.roles,
                       .channels = target.channels,
                       .peak_bps = scaled(movie_->audio->peak_bps),
                       .average_bps = scaled(movie_->audio->average_bps)};
    choice.name = names.For({track.title, choice.language, "Sound"});
    movie_->audio_choices.push_back(std::move(choice));
  }
}

Result<std::shared_ptr<const SegmentedMovie>> Planner::Run() {
  GOPMILL_ASSIGN_OR_RETURN(const std::vector<RenditionTarget> targets,
                           ResolveRenditions(request_, cut_, *index_->source));
  GOPMILL_RETURN_IF_ERROR(Cut(targets.front().target));
  for (const auto& [wanted, target] : targets) {
    GOPMILL_ASSIGN_OR_RETURN(VideoRendition rendition, MakeVideo(target));
    movie_->video.push_back(std::move(rendition));
  }
  // All have the same filters in time.
  movie_->spans = SegmentSpans(*index_, grid_, movie_->segments,
                               movie_->video.front().plan->temporal_context());
  AddIFrames(targets[SmallestOf(targets)].target);
  GOPMILL_RETURN_IF_ERROR(AddAudio(targets.front().target));
  movie_->subtitles = ListSubtitles(index_->subtitles);
  // No player shows text by itself that is in the pictures already.
  for (SubtitleRendition& text : movie_->subtitles) {
    if (script_) text.is_default = text.forced = false;
  }
  movie_->thumbnails = PlanThumbnails(*movie_);
  for (const VideoRendition& video : movie_->video) movie_->stills.push_back(PlanStills(video));
  return std::shared_ptr<const SegmentedMovie>(std::move(movie_));
}

}  // namespace

Result<std::shared_ptr<const SegmentedMovie>> PlanMovie(
    std::shared_ptr<const SourceIndex> index, const SegmentRequest& request,
    const RequestParams& params, const FileIdentity& file,
    std::shared_ptr<const SubtitleScript> script) {
  return Planner(std::move(index), request, params, file, std::move(script)).Run();
}

// What grows with the number of segments; the rest is some kilobytes for each rendition.
std::size_t SegmentedMovie::footprint_bytes() const {
  constexpr std::size_t kOfRendition = 8 << 10U;
  std::size_t numbers = segments.borders.capacity() + thumbnails.frames.capacity();
  for (const VideoRendition& rendition : video) numbers += rendition.budgets.capacity();
  if (audio) numbers += audio->grid.borders.capacity();
  return numbers * sizeof(std::int64_t) + spans.capacity() * sizeof(SegmentSpan) +
         (video.size() + audio_choices.size()) * kOfRendition;
}

Rational VideoSegmentDuration(const SegmentGrid& segments, std::int64_t number) {
  const auto k = static_cast<std::size_t>(number);
  const std::int64_t frames = segments.borders[k + 1] - segments.borders[k];
  return Rational{frames * segments.fps.den, segments.fps.num}.Reduced();
}

Rational AudioSegmentDuration(const AudioGrid& grid, std::int64_t number) {
  const auto k = static_cast<std::size_t>(number);
  const std::int64_t begin = std::max<std::int64_t>(grid.TimeOf(grid.borders[k]), 0);
  return Rational{grid.TimeOf(grid.borders[k + 1]) - begin, grid.rate}.Reduced();
}

}  // namespace gopmill
