// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/receive_caps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <vector>

namespace gopmill {
namespace {

struct Encoding {
  std::string_view name;  // of the SDP, in upper case
  TrackKind kind;
  const char* depayloader;
  std::string_view rest;  // what follows it
};

constexpr auto kVideo = TrackKind::kVideo;
constexpr auto kAudio = TrackKind::kAudio;

// H.264 and HEVC leave in Annex B with their parameter sets in front of each key frame, so that a
// reader may begin at any of them.
constexpr std::array kEncodings = std::to_array<Encoding>({
    {"H264", kVideo, "rtph264depay",
     " ! h264parse config-interval=-1 ! video/x-h264,stream-format=byte-stream,alignment=au"},
    {"H265", kVideo, "rtph265depay",
     " ! h265parse config-interval=-1 ! video/x-h265,stream-format=byte-stream,alignment=au"},
    {"MP4V-ES", kVideo, "rtpmp4vdepay", " ! mpeg4videoparse config-interval=-1"},
    {"MPV", kVideo, "rtpmpvdepay", " ! mpegvideoparse"},
    {"VP8", kVideo, "rtpvp8depay", ""},
    {"VP9", kVideo, "rtpvp9depay", ""},
    {"JPEG", kVideo, "rtpjpegdepay", ""},
    {"MPEG4-GENERIC", kAudio, "rtpmp4gdepay",
     " ! aacparse ! audio/mpeg,mpegversion=4,stream-format=raw"},
    {"MP4A-LATM", kAudio, "rtpmp4adepay",
     " ! aacparse ! audio/mpeg,mpegversion=4,stream-format=raw"},
    {"OPUS", kAudio, "rtpopusdepay", ""},
    {"MPA", kAudio, "rtpmpadepay", " ! mpegaudioparse"},
    {"AC3", kAudio, "rtpac3depay", " ! ac3parse"},
    {"PCMU", kAudio, "rtppcmudepay", ""},
    {"PCMA", kAudio, "rtppcmadepay", ""},
    {"L16", kAudio, "rtpL16depay", ""},
});

// Nothing waits for a clock, nothing is dropped: packets go on as they come.
constexpr const char* kSink =
    "appsink name=sink{} sync=false async=false max-buffers=0 drop=false wait-on-eos=false";

// Payload types of RFC 3551 that an SDP need not explain.
struct StaticPayload {
  int number;
  std::string_view name;
};
constexpr std::array kStaticPayloads = std::to_array<StaticPayload>(
    {{0, "PCMU"}, {8, "PCMA"}, {10, "L16"}, {11, "L16"}, {14, "MPA"}, {26, "JPEG"}, {32, "MPV"}});

std::string Upper(const char* text) {
  std::string upper = text == nullptr ? "" : text;
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

int Int(const GstStructure& structure, const char* field) {
  int value = 0;
  return gst_structure_get_int(&structure, field, &value) != FALSE ? value : 0;
}

std::string_view VideoCodecOf(std::string_view name, const GstStructure& caps) {
  if (name == "video/x-h264") return "h264";
  if (name == "video/x-h265") return "hevc";
  if (name == "video/mpeg") return Int(caps, "mpegversion") == 4 ? "mpeg4" : "mpeg2video";
  if (name == "video/x-vp8") return "vp8";
  if (name == "video/x-vp9") return "vp9";
  return name == "image/jpeg" ? "mjpeg" : "";
}

std::string_view MpegAudioCodec(const GstStructure& caps) {
  if (Int(caps, "mpegversion") == 4) return "aac";
  return Int(caps, "layer") == 3 ? "mp3" : "mp2";
}

std::string_view AudioCodecOf(std::string_view name, const GstStructure& caps) {
  if (name == "audio/mpeg") return MpegAudioCodec(caps);
  if (name == "audio/x-opus") return "opus";
  if (name == "audio/x-ac3") return "ac3";
  if (name == "audio/x-mulaw") return "pcm_mulaw";
  if (name == "audio/x-alaw") return "pcm_alaw";
  return name == "audio/x-raw" ? "pcm_s16be" : "";
}

std::vector<std::uint8_t> CodecData(const GstStructure& caps) {
  const GValue* value = gst_structure_get_value(&caps, "codec_data");
  GstBuffer* buffer =
      value != nullptr && GST_VALUE_HOLDS_BUFFER(value) ? gst_value_get_buffer(value) : nullptr;
  if (buffer == nullptr) return {};
  std::vector<std::uint8_t> bytes(gst_buffer_get_size(buffer));
  gst_buffer_extract(buffer, 0, bytes.data(), bytes.size());
  return bytes;
}

}  // namespace

std::string EncodingOf(const GstCaps& caps) {
  const GstStructure& structure = *gst_caps_get_structure(&caps, 0);
  std::string name = Upper(gst_structure_get_string(&structure, "encoding-name"));
  if (!name.empty()) return name;
  const auto* found =
      std::ranges::find(kStaticPayloads, Int(structure, "payload"), &StaticPayload::number);
  const bool stated = gst_structure_has_field(&structure, "payload") != FALSE;
  return found == kStaticPayloads.end() || !stated ? "" : std::string(found->name);
}

std::optional<Receiver> ReceiverOf(const GstCaps& caps, std::size_t number) {
  const GstStructure& structure = *gst_caps_get_structure(&caps, 0);
  const std::string name = EncodingOf(caps);
  const auto* found = std::ranges::find(kEncodings, name, &Encoding::name);
  const int rate = Int(structure, "clock-rate");
  if (found == kEncodings.end() || rate <= 0) return std::nullopt;
  return Receiver{
      .number = number,
      .kind = found->kind,
      .clock_rate = static_cast<std::uint32_t>(rate),
      .branch = fmt::format("{} name=depay{}{} ! ", found->depayloader, number, found->rest) +
                fmt::format(fmt::runtime(kSink), number)};
}

std::string IgnoringBranch(std::size_t number) {
  return fmt::format("identity name=depay{} ! fakesink sync=false async=false", number);
}

std::optional<CodedTrack> CodedTrackOf(const GstCaps& caps) {
  const GstStructure& structure = *gst_caps_get_structure(&caps, 0);
  const std::string_view name = gst_structure_get_name(&structure);
  CodedTrack track;
  track.codec = VideoCodecOf(name, structure);
  if (track.codec.empty()) {
    track.kind = TrackKind::kAudio;
    track.codec = AudioCodecOf(name, structure);
    track.sample_rate = track.codec == "opus" ? 48'000 : Int(structure, "rate");
    track.channels = std::max(1, Int(structure, "channels"));
  }
  if (track.codec.empty()) return std::nullopt;
  track.extradata = CodecData(structure);
  if (track.kind == TrackKind::kAudio) return track;
  track.width = Int(structure, "width");
  track.height = Int(structure, "height");
  int num = 0;
  int den = 0;
  if (gst_structure_get_fraction(&structure, "framerate", &num, &den) != FALSE && num > 0) {
    track.frame_rate = {num, den};
  }
  return track;
}

}  // namespace gopmill
