// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/track_caps.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "server/rtsp/rtsp_request.h"

namespace gopmill {
namespace {

struct Payload {
  std::string_view codec;     // FFmpeg's name
  std::string_view elements;  // parser and payloader
};

// Parameter sets go out with each key frame, for players that come later: the packets have them
// (container=ts), or else the parser adds them. The payloaders' own config-interval must stay off:
// they would add the stream's first ones behind those of a GOP of another size, and the players
// would decode with these.
// rtpmp4vpay finds them in the packets; it strips them from these unless its interval is set. It
// sends what it has with the next picture only, and puts small pictures into one RTP packet, with
// one time, unless a packet may not last: RFC 6416 section 5.1 wants a packet for each. A parser in
// front would hold back another picture.
// VP9 has none. RFC 9628 recommends picture IDs, which tell players what a lost packet took along.
constexpr std::array<Payload, 6> kPayloads{{
    {"h264", "h264parse config-interval=-1 ! rtph264pay"},
    {"hevc", "h265parse config-interval=-1 ! rtph265pay"},
    {"mpeg4", "rtpmp4vpay config-interval=-1 max-ptime=1"},
    {"vp9", "rtpvp9pay picture-id-mode=15-bit"},
    {"aac", "rtpmp4gpay"},
    {"opus", "rtpopuspay"},
}};

constexpr int kFirstPayloadType = 96;  // dynamic ones: RFC 3551 section 3

struct Element {
  const char* name;
  const char* package;
};
constexpr std::array<Element, 15> kElements{{
    {"appsrc", "gstreamer1.0-plugins-base"},
    {"appsink", "gstreamer1.0-plugins-base"},
    {"rtph264depay", "gstreamer1.0-plugins-good"},
    {"rtpmp4gdepay", "gstreamer1.0-plugins-good"},
    {"aacparse", "gstreamer1.0-plugins-good"},
    {"rtpbin", "gstreamer1.0-plugins-good"},
    {"udpsink", "gstreamer1.0-plugins-good"},
    {"rtph264pay", "gstreamer1.0-plugins-good"},
    {"rtph265pay", "gstreamer1.0-plugins-good"},
    {"rtpmp4vpay", "gstreamer1.0-plugins-good"},
    {"rtpvp9pay", "gstreamer1.0-plugins-good"},
    {"rtpmp4gpay", "gstreamer1.0-plugins-good"},
    {"rtpopuspay", "gstreamer1.0-plugins-good"},
    {"h264parse", "gstreamer1.0-plugins-bad"},
    {"h265parse", "gstreamer1.0-plugins-bad"},
}};

// Without the size and the rate.
GstCaps* PictureCaps(const std::string& codec) {
  if (codec == "vp9") return gst_caps_new_empty_simple("video/x-vp9");
  if (codec == "mpeg4") {
    return gst_caps_new_simple("video/mpeg", "mpegversion", G_TYPE_INT, 4, "systemstream",
                               G_TYPE_BOOLEAN, FALSE, nullptr);
  }
  return gst_caps_new_simple(codec == "h264" ? "video/x-h264" : "video/x-h265", "stream-format",
                             G_TYPE_STRING, "byte-stream", "alignment", G_TYPE_STRING, "au",
                             nullptr);
}

GstCaps* VideoCaps(const CodedTrack& track) {
  GstCaps* caps = PictureCaps(track.codec);
  gst_caps_set_simple(caps, "width", G_TYPE_INT, track.width, "height", G_TYPE_INT, track.height,
                      nullptr);
  if (track.frame_rate.positive()) {
    gst_caps_set_simple(caps, "framerate", GST_TYPE_FRACTION,
                        static_cast<int>(track.frame_rate.num),
                        static_cast<int>(track.frame_rate.den), nullptr);
  }
  return caps;
}

GstCaps* AacCaps(const CodedTrack& track) {
  GstBuffer* config = gst_buffer_new_allocate(nullptr, track.extradata.size(), nullptr);
  gst_buffer_fill(config, 0, track.extradata.data(), track.extradata.size());
  GstCaps* caps = gst_caps_new_simple("audio/mpeg", "mpegversion", G_TYPE_INT, 4, "stream-format",
                                      G_TYPE_STRING, "raw", "rate", G_TYPE_INT, track.sample_rate,
                                      "channels", G_TYPE_INT, track.channels, "codec_data",
                                      GST_TYPE_BUFFER, config, nullptr);
  gst_buffer_unref(config);
  return caps;
}

GstCaps* OpusCaps(const CodedTrack& track) {
  return gst_caps_new_simple("audio/x-opus", "rate", G_TYPE_INT, 48'000, "channels", G_TYPE_INT,
                             track.channels, "channel-mapping-family", G_TYPE_INT, 0, nullptr);
}

}  // namespace

Result<std::string> BranchOf(const CodedTrack& track, std::size_t index) {
  // RFC 7587 has two; what GStreamer makes of more, others do not know.
  if (track.codec == "opus" && track.channels > 2) {
    return Error{.code = Code::kUnsupported,
                 .message = "RTSP carries two channels of Opus at most.",
                 .parameter = "channels",
                 .accepted = "1 or 2, or acodec=aac"};
  }
  for (const Payload& payload : kPayloads) {
    if (payload.codec != track.codec) continue;
    return fmt::format("appsrc name=src{0} ! {1} name=pay{0} pt={2}", index, payload.elements,
                       kFirstPayloadType + static_cast<int>(index));
  }
  return Error{.code = Code::kUnsupported,
               .message = "RTSP does not carry " + track.codec + " here.",
               .parameter = track.kind == TrackKind::kVideo ? "vcodec" : "acodec",
               .accepted = track.kind == TrackKind::kVideo ? kPlayedVideo : "aac, opus or none"};
}

GstCaps* CapsOf(const CodedTrack& track) {
  if (track.kind == TrackKind::kVideo) return VideoCaps(track);
  return track.codec == "aac" ? AacCaps(track) : OpusCaps(track);
}

std::string MissingElements() {
  std::string missing;
  for (const Element& element : kElements) {
    GstElementFactory* factory = gst_element_factory_find(element.name);
    if (factory != nullptr) {
      gst_object_unref(factory);
      continue;
    }
    missing += fmt::format("{}{} ({})", missing.empty() ? "" : ", ", element.name, element.package);
  }
  return missing;
}

}  // namespace gopmill
