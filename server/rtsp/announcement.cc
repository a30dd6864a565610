// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/announcement.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "server/rtsp/peer_text.h"
#include "server/rtsp/rtp_bounds.h"

namespace gopmill {
namespace {

using SdpMessage = std::unique_ptr<GstSDPMessage, gst::FreeBy<gst_sdp_message_free>>;

Error Malformed(std::string what) {
  return InvalidArgument("sdp", std::move(what), "an SDP with m= lines of RTP/AVP");
}

using Caps = std::unique_ptr<GstCaps, gst::FreeBy<gst_caps_unref>>;

Caps CapsOfFormat(const GstSDPMedia& media, guint index) {
  const char* text = gst_sdp_media_get_format(&media, index);
  const std::string_view format = text == nullptr ? "" : text;
  int payload = -1;
  const auto parsed = std::from_chars(format.data(), format.data() + format.size(), payload);
  if (parsed.ec != std::errc() || payload < 0 || payload > 127) return nullptr;
  Caps caps(gst_sdp_media_get_caps_from_media(&media, payload));
  if (caps != nullptr) gst_sdp_media_attributes_to_caps(&media, caps.get());  // as the library does
  return caps;
}

// By the first of its formats that we take. All must be within bounds: a sender may use any.
Result<std::optional<Receiver>> ReceiverOfMedia(const GstSDPMedia& media, std::size_t number) {
  std::optional<Receiver> first;
  for (guint i = 0; i < gst_sdp_media_formats_len(&media); ++i) {
    const Caps caps = CapsOfFormat(media, i);
    if (caps == nullptr) continue;
    GOPMILL_RETURN_IF_ERROR(CheckClockRate(*caps));
    auto receiver = ReceiverOf(*caps, number);
    if (!receiver) continue;
    GOPMILL_RETURN_IF_ERROR(CheckNumbers(*caps));
    if (!first) first = std::move(receiver);
  }
  return first;
}

bool IsRtp(const GstSDPMedia& media) {
  const char* proto = gst_sdp_media_get_proto(&media);
  return proto != nullptr && std::string_view(proto) == "RTP/AVP";
}

std::string TextOrNothing(const char* text) { return text == nullptr ? "" : text; }

bool IsSound(const GstSDPMedia& media) {
  return TextOrNothing(gst_sdp_media_get_media(&media)) == "audio";
}

// Of what a sender calls its streams.
constexpr std::size_t kMaxNameBytes = 40;

// As its description calls it.
std::string EncodingOfMedia(const GstSDPMedia& media) {
  for (guint i = 0; i < gst_sdp_media_formats_len(&media); ++i) {
    const Caps caps = CapsOfFormat(media, i);
    if (caps == nullptr) continue;
    if (const std::string encoding = EncodingOf(*caps); !encoding.empty())
      return PeerText(encoding, kMaxNameBytes);
  }
  return "an unknown format";
}

void LeaveOut(Announcement& announcement, const GstSDPMedia& media, const std::string& why) {
  const std::string encoding = EncodingOfMedia(media);
  std::string text =
      PeerText(TextOrNothing(gst_sdp_media_get_media(&media)), kMaxNameBytes) + " of " + encoding;
  if (!why.empty()) text += " (" + why.substr(0, why.find_last_not_of('.') + 1) + ")";
  announcement.unusable.push_back(std::move(text));
  if (IsSound(media)) announcement.unusable_audio.push_back(encoding);
}

bool HasVideo(const Announcement& announcement) {
  return std::ranges::any_of(announcement.streams, [](const auto& stream) {
    return stream.receiver.kind == TrackKind::kVideo;
  });
}

// RFC 4566: sections 5.4 (i=, a title) and 6 (a=lang).
Reception::Stream StreamOf(const GstSDPMedia& media, std::size_t number, Receiver receiver) {
  return {.number = number,
          .receiver = std::move(receiver),
          .language = TextOrNothing(gst_sdp_media_get_attribute_val(&media, "lang")),
          .title = TextOrNothing(gst_sdp_media_get_information(&media))};
}

// `strict`: what cannot be used for another reason than its codec is an error.
Status AddMedia(Announcement& announcement, const GstSDPMedia& media, std::size_t number,
                bool strict) {
  Result<std::optional<Receiver>> receiver = Malformed("A stream is not RTP/AVP.");
  if (IsRtp(media)) receiver = ReceiverOfMedia(media, number);
  if (strict && !receiver.ok()) return receiver.error();
  if (!announcement.description.empty()) announcement.description += ' ';
  const bool usable = receiver.ok() && *receiver;
  if (usable && ((*receiver)->kind == TrackKind::kAudio || !HasVideo(announcement))) {
    announcement.description += (*receiver)->branch;
    announcement.streams.push_back(StreamOf(media, number, **std::move(receiver)));
    return OkStatus();
  }
  announcement.description += IgnoringBranch(number);
  if (!usable) LeaveOut(announcement, media, receiver.ok() ? "" : receiver.error().message);
  return OkStatus();
}

Result<Announcement> Read(const GstSDPMessage& sdp, bool strict) {
  const guint count = gst_sdp_message_medias_len(&sdp);
  if (count == 0 || count > kMaxAnnouncedStreams) {
    return Malformed("The description has no stream, or more than 16.");
  }
  Announcement announcement;
  for (guint i = 0; i < count; ++i) {
    GOPMILL_RETURN_IF_ERROR(AddMedia(announcement, *gst_sdp_message_get_media(&sdp, i), i, strict));
  }
  if (!HasVideo(announcement)) {
    return Error{
        .code = Code::kUnsupported,
        .message =
            "No stream of video that is announced can be used" +
            (announcement.unusable.empty() ? "." : ": " + announcement.unusable_text() + "."),
        .accepted = "H264, H265, MP4V-ES, MPV, VP8, VP9 or JPEG"};
  }
  return announcement;
}

}  // namespace

Result<Announcement> ParseAnnouncement(std::span<const std::uint8_t> sdp) {
  GstSDPMessage* raw = nullptr;
  gst_sdp_message_new(&raw);
  const SdpMessage message(raw);
  if (sdp.empty() ||
      gst_sdp_message_parse_buffer(sdp.data(), static_cast<guint>(sdp.size()), raw) != GST_SDP_OK) {
    return Malformed("The description of the streams is no SDP.");
  }
  return Read(*raw, true);
}

Result<Announcement> ReadAnnouncement(const GstSDPMessage& sdp) { return Read(sdp, false); }

std::string Announcement::unusable_text() const {
  return fmt::format("{}", fmt::join(unusable, ", "));
}

namespace {

// The elements of an announcement, in a bin with no pads.
Result<gst::Object<GstElement>> MakeReceivingBin(const Announcement& announcement) {
  GError* error = nullptr;
  GstElement* bin = gst_parse_launch_full(("( " + announcement.description + " )").c_str(), nullptr,
                                          GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (bin != nullptr) return gst::Adopt(GST_ELEMENT(gst_object_ref_sink(bin)));
  spdlog::error("rtsp: {}: {}", announcement.description, error->message);
  g_error_free(error);
  return Error{.code = Code::kUnsupported,
               .message = "An element of GStreamer for this codec is missing here."};
}

}  // namespace

Result<Publication> MakePublication(const Announcement& announcement, Duration silence) {
  GOPMILL_ASSIGN_OR_RETURN(auto bin, MakeReceivingBin(announcement));
  auto reception = Reception::Make(announcement.streams, silence, announcement.unusable_audio);
  for (const auto& stream : announcement.streams) reception->Attach(stream.number, bin.get());
  return Publication{.reception = std::move(reception), .bin = std::move(bin)};
}

}  // namespace gopmill
