// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/vp9_size.h"

#include <array>
#include <memory>

#include "server/rtsp/gst_ptr.h"

namespace gopmill {
namespace {

// Width and height, as they are sent.
using SizeBytes = std::array<guint8, 4>;

// The descriptor stands behind the RTP header: flags, a picture ID of two bytes, flags of the
// structure, the size.
void PutSize(GstBuffer& packet, const SizeBytes& size) {
  constexpr gsize kDescriptor = 12;
  constexpr guint8 kHasId = 0x80, kHasStructure = 0x02, kIdHasTwoBytes = 0x80, kHasSize = 0x10;
  std::array<guint8, 4> head{};
  if (gst_buffer_extract(&packet, kDescriptor, head.data(), head.size()) != head.size()) return;
  const bool structure = (head[0] & kHasId) != 0 && (head[0] & kHasStructure) != 0;
  if (!structure || (head[1] & kIdHasTwoBytes) == 0 || (head[3] & kHasSize) == 0) return;
  gst_buffer_fill(&packet, kDescriptor + head.size(), size.data(), size.size());
}

// The packets of one picture. The first one has the structure, if it is a key picture.
GstPadProbeReturn OnPicture(GstPad* /*pad*/, GstPadProbeInfo* info, gpointer size) noexcept {
  GstBufferList* packets = gst_buffer_list_make_writable(gst_pad_probe_info_get_buffer_list(info));
  info->data = packets;
  if (gst_buffer_list_length(packets) > 0) {
    PutSize(*gst_buffer_list_get_writable(packets, 0), *static_cast<SizeBytes*>(size));
  }
  return GST_PAD_PROBE_OK;
}

}  // namespace

void TellSize(GstElement& payloader, int width, int height) {
  const auto high = [](int side) { return static_cast<guint8>(side >> 8); };
  const auto low = [](int side) { return static_cast<guint8>(side & 0xff); };
  auto size =
      std::make_unique<SizeBytes>(SizeBytes{high(width), low(width), high(height), low(height)});
  const auto pad = gst::Adopt(gst_element_get_static_pad(&payloader, "src"));
  gst_pad_add_probe(pad.get(), GST_PAD_PROBE_TYPE_BUFFER_LIST, &OnPicture, size.release(),
                    [](gpointer owned) noexcept { delete static_cast<SizeBytes*>(owned); });
}

}  // namespace gopmill
