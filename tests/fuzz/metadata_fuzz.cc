// SPDX-License-Identifier: Apache-2.0
//
// What travels beside the pictures, of any bytes; the first says which kind. Closed captions: whole
// triplets that are valid, those of CEA-608 first where there are too many, each in its order.
// HDR10 metadata: the text for an encoder reads back as the numbers of the source, or is not there.
// The matrix of the display: one of eight orientations, and for those the same again.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "codec/captions.h"
#include "codec/hdr_params.h"
#include "media/hdr_metadata.h"
#include "media/orientation.h"
#include "tests/fuzz/bytes.h"

namespace {

using namespace gopmill;
using fuzz::Bytes;
using fuzz::Require;

constexpr std::size_t kMaxPictureBytes = 1000;

// --- closed captions --------------------------------------------------------------------------

Captions ThoseOf(const Captions& captions, bool line21) {
  Captions some;
  for (std::size_t at = 0; at < captions.size(); at += 3) {
    Require((captions.at(at) & 4) != 0);
    if (((captions[at] & 3) < 2) == line21) {
      some.insert(some.end(), {captions[at], captions.at(at + 1), captions.at(at + 2)});
    }
  }
  return some;
}

void CheckAttached(const Captions& all) {
  const av::Frame frame = av::NewFrame();
  AttachCaptions(all, *frame);
  const Captions kept = CaptionsOf(*frame);
  Require((frame->nb_side_data == 0) == all.empty());
  if (all.size() <= 3 * kMaxCaptionTriplets) return Require(kept == all);
  Require(kept.size() == 3 * kMaxCaptionTriplets);
  for (const bool line21 : {true, false}) {
    const Captions before = ThoseOf(all, line21), behind = ThoseOf(kept, line21);
    Require(behind.size() <= before.size());
    Require(std::ranges::equal(behind, std::span(before).first(behind.size())));
  }
  Require(ThoseOf(kept, true).size() == std::min(ThoseOf(all, true).size(), kept.size()));
}

// Pictures with captions of which some are shown by none, as they come out of a decoder.
void CheckCaptions(Bytes in) {
  Captions all;
  while (!in.empty()) {
    const av::Frame frame = av::NewFrame();
    const auto size = static_cast<std::size_t>(1 + in.Below(kMaxPictureBytes));
    AVFrameSideData* data = av_frame_new_side_data(frame.get(), AV_FRAME_DATA_A53_CC, size);
    for (std::size_t i = 0; i < size; ++i) data->data[i] = in.Byte();
    const Captions captions = CaptionsOf(*frame);
    Require(captions.size() % 3 == 0 && captions.size() <= size);
    CheckAttached(captions);
    all.insert(all.end(), captions.begin(), captions.end());
    CheckAttached(all);
    if (all.size() > 2 * kMaxPictureBytes) all.clear();
  }
}

// --- HDR10 ------------------------------------------------------------------------------------

// "key=1,2": digits and points alone, by what the encoders' own sscanf takes.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  void Skip(std::string_view expected) {
    Require(rest_.starts_with(expected));
    rest_.remove_prefix(expected.size());
  }
  double Number(int digits) {
    const std::size_t end = std::min(rest_.find_first_not_of("0123456789."), rest_.size());
    const std::string_view number = rest_.substr(0, end);
    const std::size_t point = std::min(number.find('.'), number.size());
    const std::size_t tail = digits == 0 ? 0 : 1 + static_cast<std::size_t>(digits);
    Require(point > 0 && number.size() == point + tail);
    double value = -1;
    const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
    Require(read.ec == std::errc() && read.ptr == number.data() + number.size());
    rest_.remove_prefix(end);
    return value;
  }
  [[nodiscard]] bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

// What is written of a fraction is that, to half a step.
void Same(Reader& reader, AVRational value, double scale, double most, int digits) {
  const double written = reader.Number(digits), meant = av_q2d(value) * scale;
  Require(std::isfinite(meant) && written <= most * scale);
  Require(std::abs(written - meant) <= 0.5001 * std::pow(10, -digits));
}

void ReadDisplay(Reader& reader, const AVMasteringDisplayMetadata& display, const HdrKeys& keys) {
  const auto point = [&](std::string_view mark, const AVRational(&xy)[2]) {
    reader.Skip(mark);
    Same(reader, xy[0], keys.chroma_scale, 1, keys.digits);
    reader.Skip(",");
    Same(reader, xy[1], keys.chroma_scale, 1, keys.digits);
  };
  reader.Skip(":" + std::string(keys.display) + "=");
  point("G(", display.display_primaries[1]);
  point(")B(", display.display_primaries[2]);
  point(")R(", display.display_primaries[0]);
  point(")WP(", display.white_point);
  constexpr double kMost = UINT32_MAX / kLuminanceSteps;
  reader.Skip(")L(");
  Same(reader, display.max_luminance, keys.light_scale, kMost, keys.digits);
  reader.Skip(",");
  Same(reader, display.min_luminance, keys.light_scale, kMost, keys.digits);
  reader.Skip(")");
}

void CheckText(const EncoderSpec& spec, const HdrKeys& keys) {
  const std::string text = HdrParams(spec, keys);
  Reader reader(text);
  const auto display = MasteringDisplayOf(spec.mastering_display);
  if (display && display->has_primaries != 0 && display->has_luminance != 0) {
    ReadDisplay(reader, *display, keys);
  }
  if (const auto light = ContentLightOf(spec.content_light)) {
    reader.Skip(":" + std::string(keys.light) + "=");
    Require(reader.Number(0) == light->MaxCLL);
    reader.Skip(",");
    Require(reader.Number(0) == light->MaxFALL && light->MaxFALL <= UINT16_MAX);
  }
  Require(reader.empty());
}

AVRational Fraction(Bytes& in) {
  const std::uint8_t kind = in.Byte();
  if (kind < 128) return {static_cast<int>(in.Below(50'001)), 50'000};
  if (kind < 192) return {static_cast<int>(in.Number(3)), 10'000};
  return {static_cast<int>(in.Number(4)), static_cast<int>(in.Number(kind % 2 == 0 ? 1 : 4))};
}

template <class T>
std::vector<std::uint8_t> AsBytes(const T& value) {
  const auto* begin = reinterpret_cast<const std::uint8_t*>(&value);
  return {begin, begin + sizeof value};
}

void CheckHdr(Bytes in) {
  AVMasteringDisplayMetadata display{};
  for (auto& xy : display.display_primaries)
    std::ranges::generate(xy, [&] { return Fraction(in); });
  std::ranges::generate(display.white_point, [&] { return Fraction(in); });
  display.max_luminance = Fraction(in);
  display.min_luminance = Fraction(in);
  display.has_primaries = in.Byte() % 4 == 0 ? 0 : 1;
  display.has_luminance = in.Byte() % 4 == 0 ? 0 : 1;
  const AVContentLightMetadata light{.MaxCLL = static_cast<unsigned>(in.Number(in.Byte() % 5)),
                                     .MaxFALL = static_cast<unsigned>(in.Number(2))};
  EncoderSpec spec;
  spec.mastering_display = KeptBytes(MasteringDisplayOf(AsBytes(display)));
  spec.content_light = KeptBytes(ContentLightOf(AsBytes(light)));
  for (const HdrKeys& keys : {kX264Hdr, kX265Hdr, kSvtAv1Hdr}) CheckText(spec, keys);
  // What was cleaned once is clean; and who is given the source's own bytes writes the same.
  Require(KeptBytes(MasteringDisplayOf(spec.mastering_display)) == spec.mastering_display);
  const std::string text = HdrParams(spec, kX265Hdr);
  spec.mastering_display = AsBytes(display);
  spec.content_light = AsBytes(light);
  Require(HdrParams(spec, kX265Hdr) == text);
  spec.content_light.resize(static_cast<std::size_t>(in.Below(sizeof light)));
  Require(!ContentLightOf(spec.content_light));
}

// --- orientation ------------------------------------------------------------------------------

Orientation Turned(const std::array<std::int32_t, 9>& matrix) {
  return OrientationOf(AsBytes(matrix));
}

// A turn by `quarters` clockwise behind a flip, of the size `one`.
std::array<std::int32_t, 9> MatrixOf(int quarters, bool mirrored, std::int32_t one) {
  constexpr int kCos[] = {1, 0, -1, 0}, kSin[] = {0, 1, 0, -1};
  const int flip = mirrored ? -1 : 1, c = kCos[quarters], s = kSin[quarters];
  return {flip * c * one, flip * s * one, 0, -s * one, c * one, 0, 0, 0, 1 << 30};
}

void CheckOrientation(Bytes in) {
  std::array<std::int32_t, 9> any{};
  std::ranges::generate(any, [&] { return static_cast<std::int32_t>(in.Number(4)); });
  for (std::int32_t& value : any) {
    const Orientation found = Turned(any);
    Require(found.rotation >= 0 && found.rotation < 360 && found.rotation % 90 == 0);
    value = in.Byte() % 2 == 0 ? INT32_MIN : 0;
  }
  const auto one = static_cast<std::int32_t>(1 + in.Number(4) % INT32_MAX);
  for (int quarters = 0; quarters < 4; ++quarters) {
    for (const bool mirrored : {false, true}) {
      const Orientation meant{.rotation = 90 * quarters, .mirrored = mirrored};
      Require(Turned(MatrixOf(quarters, mirrored, one)) == meant);
    }
  }
  Require(OrientationOf(std::vector<std::uint8_t>(35, in.Byte())) == Orientation{});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes in(data, size);
  switch (in.Byte() % 3) {
    case 0: CheckCaptions(in); break;
    case 1: CheckHdr(in); break;
    default: CheckOrientation(in); break;
  }
  return 0;
}
