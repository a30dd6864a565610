// SPDX-License-Identifier: Apache-2.0
#include "server/stream/movie_analysis.h"

#include <cmath>
#include <map>
#include <utility>

#include "codec/codec_level.h"
#include "codec/crf_scale.h"
#include "codec/rate_search.h"
#include "codec/video_encoder.h"

namespace gopmill {
namespace {

constexpr std::chrono::milliseconds kAnalysisTick{200};
// Where the bits tell that the pass was so far from where the movie will be encoded, units that
// are hard at one place may not be at the other: once more, nearer.
constexpr double kFarCrf = 4;

// What each unit took. The egress thread writes, the analysis reads when that has ended.
class Collector : public UnitObserver {
 public:
  void OnEnded(const UnitLife& life) noexcept override {
    if (life.report.outcome != JobOutcome::kDone) return;
    units_[life.spec.unit.index] = {life.spec.frames, 8.0 * static_cast<double>(life.stats.bytes)};
  }
  void OnReleased(UnitId /*unit*/, TimePoint /*when*/) noexcept override {}

  [[nodiscard]] std::vector<MeasuredUnit> Units() const {
    std::vector<MeasuredUnit> units;
    std::int64_t frame = 0;
    for (const auto& [index, unit] : units_) {
      units.push_back({.first_frame = frame, .end_frame = frame + unit.frames, .bits = unit.bits});
      frame += unit.frames;
    }
    return units;
  }

 private:
  struct Unit {
    std::int64_t frames = 0;
    double bits = 0;
  };
  std::map<UnitIndex, Unit> units_;
};

class NoSink : public StreamSink {
 public:
  Status Start(const StreamStart& /*start*/) override { return OkStatus(); }
  Status Write(std::span<const std::uint8_t> /*bytes*/) override { return OkStatus(); }
  void Finish(const StreamEnd& /*end*/) override {}
};

bool MeasuredByItself(const Target& target) { return target.vcodec == VideoCodec::kH264; }

// MPEG-4 needs far more bits than x264 for pictures that nobody can tell from the source.
double TransparentCrf(const Target& target) {
  return target.vcodec == VideoCodec::kMpeg4 ? 0 : kTransparentCrf;
}

TargetRequest RequestAt(double crf, TargetRequest request, const Target& target, bool ten_bits) {
  request.bitrate.reset();
  request.maxrate.reset();
  request.bufsize.reset();
  request.crf = crf;
  request.quality = Quality::kNormal;
  LeaveSoundOut(request);
  request.subtitles = Subtitles::kOff;
  request.container = Container::kMkv;
  // The same pictures, whatever a default may depend on.
  request.width = target.width;
  request.height = target.height;
  request.fps = target.fps;
  // The size has been fitted: once more could round it to another one.
  if (target.fit == Fit::kFit) request.fit = Fit::kStretch;
  if (MeasuredByItself(target)) return request;
  request.vcodec = VideoCodec::kH264;
  request.preset = Preset::kVeryfast;
  // Tone mapping is for outputs with eight bits.
  request.profile = ten_bits ? Profile::kHigh10 : Profile::kAuto;
  return request;
}

class Analysis {
 public:
  Analysis(const AnalysisOrder& order, const StreamPlan& plan, Scheduler& scheduler,
           std::stop_token stop)
      : order_(order), plan_(plan), scheduler_(scheduler), stop_(std::move(stop)) {}

  Result<MovieMeasure> MeasureAt(double crf);

 private:
  Status Await(StreamSession& session);

  const AnalysisOrder& order_;
  const StreamPlan& plan_;
  Scheduler& scheduler_;
  const std::stop_token stop_;
  Duration cpu_before_{};  // of earlier passes
};

Status Analysis::Await(StreamSession& session) {
  const std::stop_callback cancel(stop_, [&session] { session.Cancel(); });
  bool ended = false;
  while (!ended) {
    ended = session.WaitFor(kAnalysisTick);
    const StreamSnapshot now = session.Snapshot();
    if (order_.on_progress) {
      order_.on_progress({.frames = now.frames_out, .cpu = cpu_before_ + now.stages.cpu});
    }
  }
  session.Wait();
  const StreamSnapshot end = session.Snapshot();
  cpu_before_ += end.stages.cpu;
  return end.error ? Status(*end.error) : OkStatus();
}

Result<MovieMeasure> Analysis::MeasureAt(double crf) {
  GOPMILL_ASSIGN_OR_RETURN(const EncoderSpec encoder, MakeEncoderSpec(plan_));
  const auto collector = std::make_shared<Collector>();
  SessionSpec spec;
  spec.id = order_.id;
  spec.number = order_.number;
  spec.source_name = order_.source_name;
  spec.open = order_.open;
  spec.read_texts = order_.read_texts;
  spec.request = RequestAt(crf, order_.request, plan_.target, HasTenBits(encoder));
  spec.mux = {.streamed = true, .path = {}};
  spec.limits = order_.limits;
  spec.observer = collector;
  spec.sink = std::make_unique<NoSink>();
  GOPMILL_ASSIGN_OR_RETURN(const auto session, StreamSession::Start(std::move(spec), scheduler_));
  GOPMILL_RETURN_IF_ERROR(Await(*session));
  return MovieMeasure{
      .crf = crf, .same_encoder = MeasuredByItself(plan_.target), .units = collector->Units()};
}

}  // namespace

bool WantsAnalysis(const Target& target) {
  return target.quality == Quality::kBest && target.rate_mode == RateMode::kBitrate;
}

Result<UnitBudgets> AnalyseMovie(const AnalysisOrder& order, const StreamPlan& plan,
                                 Scheduler& scheduler, const std::stop_token& stop) {
  const Target& target = plan.target;
  const double pixels = plan.grid.fps().ToDouble() * target.width * target.height;
  Analysis analysis(order, plan, scheduler, stop);
  GOPMILL_ASSIGN_OR_RETURN(MovieMeasure measure, analysis.MeasureAt(GuessedCrf(
                                                     static_cast<double>(target.bitrate), pixels)));
  GOPMILL_ASSIGN_OR_RETURN(const EncoderSpec encoder, MakeEncoderSpec(plan));
  const double right = AllowedCrf(CrfFor(measure, plan.grid.fps(), target.bitrate));
  if (std::abs(right - measure.crf) > kFarCrf) {
    GOPMILL_ASSIGN_OR_RETURN(MovieMeasure nearer, analysis.MeasureAt(right));
    TakeSteps(nearer, measure);
    measure = std::move(nearer);
  }
  return UnitBudgets(std::move(measure), {.fps = plan.grid.fps(),
                                          .bitrate = target.bitrate,
                                          .maxrate = target.maxrate,
                                          .transparent_crf = TransparentCrf(target),
                                          .most_bps = LevelRate(encoder)});
}

}  // namespace gopmill
