// SPDX-License-Identifier: Apache-2.0
#include "media/source_texts.h"

#include <algorithm>
#include <utility>

#include "media/cue_packet.h"
#include "media/packet_meta.h"
#include "media/source.h"

namespace gopmill {
namespace {

// Cues of all tracks together.
constexpr std::size_t kMaxTextsBytes = 2 * kMaxCueBytes;

}  // namespace

void SourceTexts::Open(AVFormatContext& format, const SourceInfo& info, std::int64_t start_us,
                       const SourceOptions& options) {
  if (!options.texts) return;
  as_packets_ = options.live;
  if (!as_packets_) {
    repair_ = fresh_.emplace(start_us, RepairTracks(info));
    times_ = av::NewPacket();
  }
  int number = 0;
  for (const SubtitleTrack& track : info.subtitles) {
    ++number;
    if (options.text_track != 0 && options.text_track != number) continue;
    if (as_packets_ && static_cast<std::size_t>(number) > kMaxLiveTexts) break;
    // Of a file that was opened before and has been written over since there may be fewer.
    if (static_cast<unsigned>(track.stream_index) >= format.nb_streams) continue;
    AVStream& stream = *format.streams[track.stream_index];
    if (track.of_pictures) {
      if (options.texts != TextUse::kScript || options.text_track == 0) continue;
      auto pictures = PictureReader::Open(stream, start_us);
      if (!pictures.ok()) continue;
      stream.discard = AVDISCARD_DEFAULT;
      pictures_ = Pictures{*std::move(pictures), track};
      continue;
    }
    auto reader =
        SubtitleReader::Open(stream, start_us, FormFor(*options.texts, stream.codecpar->codec_id));
    if (!reader.ok()) continue;
    stream.discard = AVDISCARD_DEFAULT;
    texts_.push_back({*std::move(reader), track, number - 1});
  }
}

void SourceTexts::See(std::size_t track, const AVPacket& packet) {
  if (!repair_) return;
  times_->pts = packet.pts;
  times_->dts = packet.dts;
  times_->duration = packet.duration;
  times_->flags = packet.flags;
  times_->opaque = packet.opaque;  // MarkMeant
  repair_->Fix(track, *times_);
}

void SourceTexts::Restart() {
  repair_ = fresh_;
  for (Text& text : texts_) std::ranges::fill(text.closed, 0);
  if (pictures_) pictures_->reader.ForgetClosed();
}

bool SourceTexts::Take(AVPacket& packet) {
  if (pictures_ && pictures_->track.stream_index == packet.stream_index) {
    pictures_->reader.Push(packet, repair_->closed().size());
    return false;
  }
  const auto text = std::ranges::find_if(
      texts_, [&](const Text& t) { return t.track.stream_index == packet.stream_index; });
  if (text == texts_.end()) return false;
  if (as_packets_) {
    const std::vector<SubtitleCue> cues = text->reader.Read(packet);
    if (cues.empty()) return false;  // of WebVTT there is one at most
    const av::Packet cue = MakeCuePacket(cues.front(), text->number);
    av_packet_unref(&packet);
    av_packet_move_ref(&packet, cue.get());
    return true;
  }
  if (bytes_ > kMaxTextsBytes) {
    text->track.incomplete = true;
    return false;
  }
  const std::size_t before = text->reader.bytes();
  text->reader.Push(packet, text->track);
  text->closed.resize(text->track.cues.size(), repair_->closed().size());
  bytes_ += text->reader.bytes() - before;
  return false;
}

std::vector<SubtitleTrack> SourceTexts::Finish() {
  std::vector<SubtitleTrack> tracks;
  for (Text& text : texts_) {
    if (repair_) CloseJumps(repair_->closed(), text.closed, text.track.cues);
    text.reader.Finish(text.track);
    tracks.push_back(std::move(text.track));
  }
  texts_.clear();
  if (pictures_) {
    pictures_->track.bitmaps = pictures_->reader.Finish(repair_->closed());
    tracks.push_back(std::move(pictures_->track));
    pictures_.reset();
  }
  return tracks;
}

}  // namespace gopmill
