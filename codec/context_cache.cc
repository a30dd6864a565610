// SPDX-License-Identifier: Apache-2.0
#include "codec/context_cache.h"

#include <algorithm>
#include <optional>
#include <variant>

#include "media/av_ptr.h"

namespace gopmill {
namespace {

// An encoder spec counts as used lately while no more than this many encoders were taken since.
constexpr std::int64_t kLately = 64;
// Specs remembered for opening ahead.
constexpr std::size_t kMaxSpecs = 32;
// What a context counts for at least, so that those that hold no picture (a filter that changes
// nothing) are not kept without end.
constexpr std::size_t kLeastBytes = 4096;

using Parameters = std::shared_ptr<const AVCodecParameters>;

struct KeptDecoder {
  // Held, not only compared: a new object can never get the address of a forgotten one.
  Parameters parameters;
  std::unique_ptr<VideoDecoder> decoder;
};
struct KeptFilter {
  std::unique_ptr<FrameFilter> filter;
};
struct KeptEncoder {
  EncoderSpec spec;
  std::unique_ptr<VideoEncoder> encoder;
};
struct Entry {
  std::variant<KeptDecoder, KeptFilter, KeptEncoder> kept;
  std::size_t bytes = 0;
};

struct RecentSpec {
  EncoderSpec spec;
  std::int64_t frames = 0;      // of the unit it was last taken for
  std::int64_t last_taken = 0;  // by the count of encoders taken
};

// Whether a waiting encoder is what a unit of so many frames needs.
bool Fits(const KeptEncoder& kept, const EncoderSpec& spec, std::int64_t frames) {
  return kept.spec == spec && kept.encoder->lookahead() == UnitLookahead(spec, frames);
}

}  // namespace

struct ContextCache::Impl {
  std::size_t limit = 0;
  std::list<Entry> entries;      // most recently used first
  std::list<RecentSpec> recent;  // most recently used first
  std::int64_t encoders_taken = 0;
  CacheStats stats;

  // Takes the first entry of kind `Kept` that matches out of the list; empty when there is none.
  template <class Kept, class Matches>
  std::optional<Kept> Take(const Matches& matches) {
    const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& entry) {
      const Kept* kept = std::get_if<Kept>(&entry.kept);
      return kept != nullptr && matches(*kept);
    });
    if (found == entries.end()) return std::nullopt;
    Kept kept = std::get<Kept>(std::move(found->kept));
    stats.bytes -= found->bytes;
    entries.erase(found);
    return kept;
  }

  // Runs `open`, which opens a decoder or filter, and counts its time. CPU time: on a busy machine
  // a thread that loses its CPU meanwhile seems to take 20 ms for what takes half of one, and the
  // scheduler would believe it.
  template <class Open>
  auto Timed(Open open) {
    const Duration start = ThreadCpuNow();
    auto opened = open();
    stats.opening += ThreadCpuNow() - start;
    return opened;
  }

  // One large context must not push out several small ones, and frees more memory than it saves
  // time: opening costs about the same for all sizes.
  [[nodiscard]] bool TooLarge(std::size_t bytes) const { return bytes > limit / 4; }

  template <class Kept>
  void Keep(Kept kept, std::size_t bytes) {
    bytes = std::max(bytes, kLeastBytes);
    if (TooLarge(bytes)) return;
    while (stats.bytes + bytes > limit) {
      stats.bytes -= entries.back().bytes;
      entries.pop_back();
    }
    entries.push_front({.kept = std::move(kept), .bytes = bytes});
    stats.bytes += bytes;
  }

  [[nodiscard]] bool HasEncoder(const RecentSpec& recent_spec) const {
    return std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) {
      const auto* kept = std::get_if<KeptEncoder>(&entry.kept);
      return kept != nullptr && Fits(*kept, recent_spec.spec, recent_spec.frames);
    });
  }

  void Remember(const EncoderSpec& spec, std::int64_t frames) {
    ++encoders_taken;
    recent.remove_if([&](const RecentSpec& entry) { return entry.spec == spec; });
    recent.push_front({.spec = spec, .frames = frames, .last_taken = encoders_taken});
    if (recent.size() > kMaxSpecs) recent.pop_back();
  }
};

ContextCache::ContextCache(std::size_t limit_bytes) : impl_(std::make_unique<Impl>()) {
  impl_->limit = limit_bytes;
}

ContextCache::~ContextCache() = default;

Result<std::unique_ptr<VideoDecoder>> ContextCache::TakeDecoder(const SourceInfo& source) {
  // Opened for each run on any worker: no miss, and nothing that locality could save.
  if (!ForgetsRuns(*source.video.parameters)) {
    return VideoDecoder::Open(*source.video.parameters, source.video.time_base,
                              source.video.x264_build);
  }
  auto kept = impl_->Take<KeptDecoder>(
      [&](const KeptDecoder& entry) { return entry.parameters == source.video.parameters; });
  if (kept) {
    ++impl_->stats.decoder_hits;
    return std::move(kept->decoder);
  }
  ++impl_->stats.decoder_misses;
  return impl_->Timed(
      [&] { return VideoDecoder::Open(*source.video.parameters, source.video.time_base); });
}

void ContextCache::GiveDecoder(const SourceInfo& source, std::unique_ptr<VideoDecoder> decoder) {
  if (decoder == nullptr || !ForgetsRuns(*source.video.parameters)) return;
  decoder->Flush();
  const std::size_t bytes = decoder->footprint_bytes();
  impl_->Keep(KeptDecoder{source.video.parameters, std::move(decoder)}, bytes);
}

Result<std::unique_ptr<FrameFilter>> ContextCache::TakeFilter(const FilterSpec& spec) {
  auto kept = impl_->Take<KeptFilter>(
      [&](const KeptFilter& entry) { return entry.filter->spec() == spec; });
  if (kept) {
    ++impl_->stats.filter_hits;
    return std::move(kept->filter);
  }
  ++impl_->stats.filter_misses;
  return impl_->Timed([&] { return FrameFilter::Open(spec); });
}

void ContextCache::GiveFilter(std::unique_ptr<FrameFilter> filter) {
  if (filter->spec().temporal()) return;
  const std::size_t bytes = filter->footprint_bytes();
  impl_->Keep(KeptFilter{std::move(filter)}, bytes);
}

Result<std::unique_ptr<VideoEncoder>> ContextCache::TakeEncoder(const EncoderSpec& spec,
                                                                std::int64_t frames) {
  impl_->Remember(spec, frames);
  auto kept =
      impl_->Take<KeptEncoder>([&](const KeptEncoder& entry) { return Fits(entry, spec, frames); });
  if (kept) {
    ++impl_->stats.encoder_hits;
    return std::move(kept->encoder);
  }
  ++impl_->stats.encoder_misses;
  return VideoEncoder::Open(spec, frames);
}

namespace {

// Opening takes about 1 ms whatever the size: for small pictures a tenth of a unit's time, for
// large ones nothing, while the memory of an encoder that waits grows with the picture.
// Opening one for AV1 may have to wait for others (av1_gate.h). One for VP9 takes five times as
// much while it waits: libvpx allocates the 25 pictures of its lookahead when it is opened. Threads
// of an encoder run where its job may (Job::spreads), which is known when it runs.
bool WorthPreparing(const EncoderSpec& spec) {
  if (spec.codec == VideoCodec::kAv1 || spec.codec == VideoCodec::kVp9) return false;
  if (spec.threads > 1) return false;
  constexpr int kMaxPixels = 720 * 576;
  return spec.width * spec.height <= kMaxPixels;
}

// Of an encoder that has seen no frame: most of its pictures are allocated when they are needed.
std::size_t IdleEncoderBytes(const EncoderSpec& spec) {
  constexpr std::size_t kTables = 3U << 20U, kPictures = 4;
  const auto pixels = static_cast<std::size_t>(spec.width) * static_cast<std::size_t>(spec.height);
  return kTables + kPictures * 2 * pixels;
}

}  // namespace

bool ContextCache::PrepareOne() {
  // What would not be kept would be wanted again at once, and for ever.
  const auto wanted = [this](const RecentSpec& entry) {
    return OpensAhead(entry.spec) && WorthPreparing(entry.spec) &&
           !impl_->TooLarge(IdleEncoderBytes(entry.spec)) &&
           impl_->encoders_taken - entry.last_taken < kLately && !impl_->HasEncoder(entry);
  };
  const auto found = std::find_if(impl_->recent.begin(), impl_->recent.end(), wanted);
  if (found == impl_->recent.end()) return false;
  const std::size_t bytes = IdleEncoderBytes(found->spec);
  if (impl_->stats.bytes + bytes > impl_->limit) return false;
  auto encoder = VideoEncoder::Open(found->spec, found->frames);
  if (!encoder.ok()) {
    impl_->recent.erase(found);
    return false;
  }
  impl_->Keep(KeptEncoder{found->spec, std::move(*encoder)}, bytes);
  return true;
}

CacheStats ContextCache::Stats() const { return impl_->stats; }

}  // namespace gopmill
