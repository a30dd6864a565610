// SPDX-License-Identifier: Apache-2.0
#include "server/session/segmented_movie.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "media/codec_string.h"
#include "media/digest.h"
#include "media/resolve_target.h"
#include "media/segment_muxer.h"
#include "server/session/build_identity.h"

namespace gopmill {
namespace {

// The cap of a rendition's bit rate where the client names none. Budgets stay below it
// (kMaxSegmentWeight), so that few segments have to be encoded twice.
constexpr double kPeakOverMean = 1.7;
// How much one segment's sound may be above the mean rate.
constexpr double kAudioPeak = 1.25;
constexpr std::size_t kVersionDigits = 12;

// Bytes that a container adds in a second.
double Overhead(Container container, double packets_per_second, double segment_seconds) {
  constexpr double kFragment = 300, kSample = 16;  // moof and mdat; a row of trun
  constexpr double kTables = 6000, kPacket = 188 + 30, kSegment = 2000;  // PAT, PMT, PCR; padding
  return container == Container::kTs
             ? kTables + kPacket * packets_per_second + kSegment / segment_seconds
             : kFragment / segment_seconds + kSample * packets_per_second;
}

std::int64_t WithOverhead(double bps, Container container, double packets_per_second,
                          double segment_seconds) {
  const double headers = container == Container::kTs ? 188.0 / 184.0 : 1.0;
  return std::llround(
      std::ceil(bps * headers + 8 * Overhead(container, packets_per_second, segment_seconds)));
}

// Every field that the coded bytes depend on.
std::string VideoIdentity(const Target& t, const SegmentRequest& request, const std::string& file) {
  return fmt::format("{};{};v;{};{};{};{};{}x{};{};{}/{};{};{};{};{};{};{};{};{}/{};{}/{};{}",
                     BuildIdentity(), file, static_cast<int>(t.vcodec), static_cast<int>(t.preset),
                     static_cast<int>(t.quality), static_cast<int>(t.profile), t.width, t.height,
                     static_cast<int>(t.fit), t.fps.num, t.fps.den, static_cast<int>(t.rate_mode),
                     t.bitrate, t.crf, t.qp, t.maxrate, t.bufsize, static_cast<int>(t.container),
                     t.start.num, t.start.den, t.duration.num, t.duration.den,
                     request.segment_seconds);
}

std::string AudioIdentity(const Target& t, const SegmentRequest& request, const std::string& file) {
  return fmt::format("{};{};a;{};{};{};{};{};{}/{};{}/{};{}/{};{}", BuildIdentity(), file,
                     static_cast<int>(t.acodec), t.abitrate, t.channels, t.sample_rate,
                     static_cast<int>(t.container), t.fps.num, t.fps.den, t.start.num, t.start.den,
                     t.duration.num, t.duration.den, request.segment_seconds);
}

class Planner {
 public:
  Planner(std::shared_ptr<const SourceIndex> index, const SegmentRequest& request,
          const RequestParams& params, const std::string& file)
      : index_(std::move(index)), request_(request), file_(file) {
    movie_->index = index_;
    movie_->version = Sha256Hex(file).substr(0, kVersionDigits);
    movie_->query = QueryFor(params, movie_->version);
    movie_->segment_seconds = request.segment_seconds;
    movie_->container = request.target.container.value_or(Container::kMp4);
  }

  Result<std::shared_ptr<const SegmentedMovie>> Run();

 private:
  Result<std::vector<Target>> Targets() const;
  Result<Target> Resolve(TargetRequest wanted) const;
  Status Cut(const Target& target);
  [[nodiscard]] SourceTicks Origin(SourceTicks start, Rational fps) const;
  Status AddVideo(const Target& target);
  Status AddAudio(const Target& target);
  static Status Describe(SegmentTrack& track);

  std::shared_ptr<const SourceIndex> index_;
  const SegmentRequest& request_;
  const std::string& file_;
  std::shared_ptr<SegmentedMovie> movie_ = std::make_shared<SegmentedMovie>();
  OutputGrid grid_;
  Rational zero_{0, 1};  // what of the source is at time 0, seconds
};

Result<Target> Planner::Resolve(TargetRequest wanted) const {
  wanted.unit_seconds = request_.segment_seconds;
  if (!wanted.crf && !wanted.maxrate) {
    GOPMILL_ASSIGN_OR_RETURN(const ResolvedTarget plain, ResolveTarget(wanted, *index_->source));
    const double cap = static_cast<double>(plain.target.bitrate) * kPeakOverMean;
    wanted.bitrate = plain.target.bitrate;
    wanted.maxrate = std::llround(cap);
    if (!wanted.bufsize) wanted.bufsize = std::llround(cap * request_.segment_seconds);
  }
  GOPMILL_ASSIGN_OR_RETURN(ResolvedTarget resolved, ResolveTarget(wanted, *index_->source));
  return std::move(resolved.target);
}

// The server's own ladder is cut to what the source can fill; what a client names is made.
Result<std::vector<Target>> Planner::Targets() const {
  std::vector<Target> targets;
  if (request_.rungs.empty()) {
    GOPMILL_ASSIGN_OR_RETURN(Target target, Resolve(request_.target));
    targets.push_back(std::move(target));
    return targets;
  }
  const VideoInfo& video = index_->source->video;
  const bool turned = video.rotation == 90 || video.rotation == 270;
  const int width = turned ? video.height : video.width;
  const int height = turned ? video.width : video.height;
  for (const Rung& rung : request_.rungs) {
    const bool last = &rung == &request_.rungs.back();
    const bool larger = rung.width > width && rung.height > height;
    if (!request_.rungs_given && larger && !(last && targets.empty())) continue;
    TargetRequest wanted = request_.target;
    wanted.width = larger && !request_.rungs_given ? width : rung.width;
    wanted.height = larger && !request_.rungs_given ? height : rung.height;
    wanted.bitrate = rung.bitrate;
    GOPMILL_ASSIGN_OR_RETURN(Target target, Resolve(wanted));
    targets.push_back(std::move(target));
  }
  return targets;
}

// Time 0 is in step with the pictures. Where sound comes first, whole frames in front of the first
// picture show it too, and what is left of the sound, less than one frame, is cut.
SourceTicks Planner::Origin(SourceTicks start, Rational fps) const {
  const Rational tick = index_->source->video.time_base;
  const SourceTicks first = index_->counted_pts ? 0 : index_->video.front().pts;
  if (first <= start) return start;
  const std::int64_t frames = Rescale(first - start, tick, fps.Inverse(), Round::kDown);
  return first - Rescale(frames, fps.Inverse(), tick, Round::kDown);
}

Status Planner::Cut(const Target& target) {
  const VideoInfo& video = index_->source->video;
  const SourceTicks start = Rescale(target.start.num, {1, target.start.den}, video.time_base);
  const SourceTicks origin = Origin(start, target.fps);
  grid_ = OutputGrid(target.fps, video.fps, video.time_base, origin);
  zero_ = Rational{origin * video.time_base.num, video.time_base.den}.Reduced();
  std::int64_t frames = grid_.FrameCount(index_->video_end);
  if (target.duration.valid()) {
    frames = std::min(
        frames, grid_.FrameCount(start + Rescale(target.duration.num, {1, target.duration.den},
                                                 video.time_base)));
  }
  if (frames <= 0) {
    return InvalidArgument("start", "There is no picture in this part of the source.",
                           "a start before its last picture");
  }
  if (static_cast<double>(frames) / target.fps.ToDouble() / request_.segment_seconds >
      static_cast<double>(kMaxSegments)) {
    return InvalidArgument("segment", "The source is too long for so short segments.",
                           "at most 500000 segments");
  }
  movie_->segments = CutSegments(*index_, grid_, request_.segment_seconds, frames);
  return OkStatus();
}

Status Planner::Describe(SegmentTrack& track) {
  GOPMILL_ASSIGN_OR_RETURN(track.init, MakeInitSegment(track.mux, track.lead));
  GOPMILL_ASSIGN_OR_RETURN(track.codecs, CodecString(track.init));
  GOPMILL_ASSIGN_OR_RETURN(track.timescale, TrackTimescale(track.init));
  return OkStatus();
}

Status Planner::AddVideo(const Target& target) {
  auto plan = std::make_shared<StreamPlan>();
  plan->source = index_->source;
  plan->target = target;
  plan->grid = grid_;
  plan->counted_pts = index_->counted_pts;
  GOPMILL_ASSIGN_OR_RETURN(EncoderSpec spec, MakeEncoderSpec(*plan));
  EncoderSpec described = spec;
  described.global_header = true;  // the init segment's form, for the codec string
  GOPMILL_ASSIGN_OR_RETURN(const auto encoder, VideoEncoder::Open(described));
  VideoRendition rendition;
  GOPMILL_ASSIGN_OR_RETURN(rendition.mux.parameters, EncoderParameters(*encoder));
  rendition.mux.kind = TrackKind::kVideo;
  rendition.mux.time_base = grid_.fps().Inverse();
  rendition.mux.frame_rate = grid_.fps();
  rendition.lead = encoder->reorder_delay();
  rendition.mux.mastering_display = index_->source->video.mastering_display;
  rendition.mux.content_light = index_->source->video.content_light;
  GOPMILL_RETURN_IF_ERROR(Describe(rendition));
  if (target.rate_mode == RateMode::kBitrate) {
    rendition.budgets = SegmentBudgets(*index_, grid_, movie_->segments, target.bitrate);
  }
  const double fps = target.fps.ToDouble(), seconds = request_.segment_seconds;
  const auto mean = static_cast<double>(target.bitrate > 0 ? target.bitrate : target.maxrate);
  rendition.peak_bps =
      WithOverhead(static_cast<double>(target.maxrate), movie_->container, fps, seconds);
  rendition.average_bps = WithOverhead(mean, movie_->container, fps, seconds);
  rendition.identity = VideoIdentity(target, request_, file_);
  rendition.plan = std::move(plan);
  rendition.encoder = std::make_shared<const EncoderSpec>(std::move(spec));
  movie_->video.push_back(std::move(rendition));
  return OkStatus();
}

Status Planner::AddAudio(const Target& target) {
  if (target.acodec == AudioCodec::kNone) return OkStatus();
  GOPMILL_ASSIGN_OR_RETURN(const AudioCoding coding, ProbeAudioCoding(target));
  const std::int64_t samples = AudioLength(*index_, zero_, target.duration, coding.rate);
  if (samples <= 0) return OkStatus();
  AudioRendition rendition;
  rendition.target = target;
  rendition.start = zero_;
  rendition.grid = CutAudio(movie_->segments, request_.segment_seconds, coding.rate,
                            coding.frame_size, coding.priming, samples);
  rendition.mux.kind = TrackKind::kAudio;
  rendition.mux.parameters = coding.parameters;
  rendition.mux.time_base = {1, coding.rate};
  rendition.lead = coding.priming;
  GOPMILL_RETURN_IF_ERROR(Describe(rendition));
  const double packets = static_cast<double>(coding.rate) / coding.frame_size;
  const auto mean = static_cast<double>(target.abitrate);
  const double seconds = request_.segment_seconds;
  rendition.peak_bps = WithOverhead(mean * kAudioPeak, movie_->container, packets, seconds);
  rendition.average_bps = WithOverhead(mean, movie_->container, packets, seconds);
  rendition.identity = AudioIdentity(target, request_, file_);
  movie_->audio = std::move(rendition);
  return OkStatus();
}

Result<std::shared_ptr<const SegmentedMovie>> Planner::Run() {
  GOPMILL_ASSIGN_OR_RETURN(const std::vector<Target> targets, Targets());
  GOPMILL_RETURN_IF_ERROR(Cut(targets.front()));
  for (const Target& target : targets) GOPMILL_RETURN_IF_ERROR(AddVideo(target));
  GOPMILL_RETURN_IF_ERROR(AddAudio(targets.front()));
  return std::shared_ptr<const SegmentedMovie>(std::move(movie_));
}

}  // namespace

Result<std::shared_ptr<const SegmentedMovie>> PlanMovie(std::shared_ptr<const SourceIndex> index,
                                                        const SegmentRequest& request,
                                                        const RequestParams& params,
                                                        const std::string& file) {
  return Planner(std::move(index), request, params, file).Run();
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
