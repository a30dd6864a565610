// SPDX-License-Identifier: Apache-2.0
#include "media/subtitle_track.h"

extern "C" {
#include <libavutil/dict.h>
#include <libavutil/opt.h>
}

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "media/ass_drawings.h"
#include "media/ass_escapes.h"
#include "media/av_error.h"
#include "media/subtitle_bitmaps.h"
#include "media/text_samples.h"

namespace gopmill {
namespace {

constexpr std::size_t kMaxNameBytes = 200;

constexpr std::array<AVCodecID, 6> kTextCodecs{AV_CODEC_ID_SUBRIP, AV_CODEC_ID_ASS,
                                               AV_CODEC_ID_SSA,    AV_CODEC_ID_MOV_TEXT,
                                               AV_CODEC_ID_WEBVTT, AV_CODEC_ID_TEXT};

// FFmpeg's encoder writes text as it is, and these tags: any other "<" is text, and so is each "&".
std::string Escaped(std::string_view line) {
  constexpr std::array<std::string_view, 6> kTags{"<b>", "</b>", "<i>", "</i>", "<u>", "</u>"};
  std::string escaped;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const std::string_view rest = line.substr(at);
    const bool is_tag =
        std::ranges::any_of(kTags, [&](std::string_view tag) { return rest.starts_with(tag); });
    if (line[at] == '&') {
      escaped += "&amp;";
    } else if (line[at] == '<' && !is_tag) {
      escaped += "&lt;";
    } else {
      escaped += line[at];
    }
  }
  return escaped;
}

// An empty line would end the cue, and "-->" would begin one.
std::string Payload(std::string_view text) {
  std::string payload;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.pop_back();
    for (std::size_t at = 0; (at = line.find("-->", at)) != std::string::npos;) {
      line.replace(at, 3, "→");
    }
    if (line.find_first_not_of(' ') == std::string::npos) continue;
    if (!payload.empty()) payload += '\n';
    payload += Escaped(line);
  }
  return payload;
}

// A line end inside of an event would begin another line of the script.
std::string OneLine(std::string_view text) {
  std::string line = WellFormed(text, kMaxTextBytes);
  while (!line.empty() && static_cast<unsigned char>(line.back()) < 0x20) line.pop_back();
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

std::string_view TextOf(const std::uint8_t* data, int size) {
  if (data == nullptr || size <= 0) return {};
  return {reinterpret_cast<const char*>(data), static_cast<std::size_t>(size)};
}

Error CannotRead() {
  return {.code = Code::kUnsupported, .message = "FFmpeg here does not read these subtitles."};
}

// No control character, not U+2028 and U+2029, at which players in browsers end a line of a
// playlist, and not U+FFFE and U+FFFF, which XML does not take.
bool FitsIntoALine(std::string_view character) {
  constexpr std::array<std::string_view, 4> kOthers{"\xE2\x80\xA8", "\xE2\x80\xA9", "\xEF\xBF\xBE",
                                                    "\xEF\xBF\xBF"};
  return !IsControl(character) && std::ranges::find(kOthers, character) == kOthers.end();
}

}  // namespace

AVCodecID CodecOf(CueForm form) {
  switch (form) {
    case CueForm::kWebVtt: return AV_CODEC_ID_WEBVTT;
    case CueForm::kScript: return AV_CODEC_ID_ASS;
    case CueForm::kSubRip: return AV_CODEC_ID_SUBRIP;
    case CueForm::kMovText: return AV_CODEC_ID_MOV_TEXT;
  }
  return AV_CODEC_ID_NONE;
}

CueForm FormFor(TextUse use, AVCodecID codec) {
  switch (use) {
    case TextUse::kWebVtt: return CueForm::kWebVtt;
    case TextUse::kScript: return CueForm::kScript;
    case TextUse::kMatroska: {
      const bool styled = codec == AV_CODEC_ID_ASS || codec == AV_CODEC_ID_SSA;
      return styled ? CueForm::kScript : CueForm::kSubRip;
    }
    case TextUse::kMp4: return CueForm::kMovText;
  }
  return CueForm::kWebVtt;
}

void EndCues(std::vector<SubtitleCue>& cues) {
  for (std::size_t i = 0; i < cues.size(); ++i) {
    SubtitleCue& cue = cues[i];
    if (cue.end_us != kNoEnd) continue;
    cue.end_us = cue.start_us + kCueMicros;
    if (i + 1 < cues.size() && cues[i + 1].start_us > cue.start_us) {
      cue.end_us = std::min(cue.end_us, cues[i + 1].start_us);
    }
  }
}

// What has no end lasts up to the next one: it is left out if that moves to its own place.
void CloseJumps(const ClosedJumps& jumps, const std::vector<std::size_t>& closed,
                std::vector<SubtitleCue>& cues) {
  if (jumps.empty()) return;
  for (std::size_t i = 0; i < cues.size(); ++i) {
    SubtitleCue& cue = cues[i];
    const bool ends = cue.end_us != kNoEnd;
    const std::size_t ender =
        ends || i + 1 == cues.size() ? i : i + 1;  // what says when it is over
    const std::int64_t end = ender == i ? cue.end_us : cues[ender].start_us;
    const bool lasts = end > cue.start_us;
    cue.start_us = WithoutJumps(jumps, cue.start_us, closed[i]);
    if (end == kNoEnd) continue;
    const std::int64_t moved = WithoutJumps(jumps, end, closed[ender]);
    if (ends || (lasts && moved <= cue.start_us)) cue.end_us = std::max(moved, cue.start_us);
  }
  std::erase_if(cues,
                [](const SubtitleCue& c) { return c.end_us != kNoEnd && c.end_us <= c.start_us; });
}

void CloseJumps(const ClosedJumps& jumps, SubtitleTrack& track) {
  if (jumps.empty()) return;
  CloseJumps(jumps, std::vector<std::size_t>(track.cues.size(), 0), track.cues);
  std::ranges::stable_sort(track.cues, {}, &SubtitleCue::start_us);
}

std::string TagText(std::string_view text) {
  const std::string good = WellFormed(text, kMaxNameBytes);
  std::string tag;
  for (std::string_view rest = good; !rest.empty();) {
    const std::string_view character = rest.substr(0, CharacterLength(rest));
    if (FitsIntoALine(character)) tag += character;
    rest.remove_prefix(character.size());
  }
  return tag;
}

std::string StreamTag(const AVStream& stream, const char* name) {
  const AVDictionaryEntry* entry = av_dict_get(stream.metadata, name, nullptr, 0);
  return TagText(entry == nullptr ? "" : entry->value);
}

std::string LanguageText(std::string_view language) {
  return language == "und" ? "" : TagText(language);
}

std::string StreamLanguage(const AVStream& stream) {
  return LanguageText(StreamTag(stream, "language"));
}

int StreamRoles(const AVStream& stream) {
  constexpr int kRoles = AV_DISPOSITION_DUB | AV_DISPOSITION_ORIGINAL | AV_DISPOSITION_COMMENT |
                         AV_DISPOSITION_HEARING_IMPAIRED | AV_DISPOSITION_VISUAL_IMPAIRED |
                         AV_DISPOSITION_CAPTIONS | AV_DISPOSITION_DESCRIPTIONS;
  return stream.disposition & kRoles;
}

std::optional<SubtitleTrack> DescribeSubtitles(const AVStream& stream) {
  const AVCodecID codec = stream.codecpar->codec_id;
  const bool is_text = std::ranges::find(kTextCodecs, codec) != kTextCodecs.end();
  if (!is_text && !IsPictureCodec(codec)) return std::nullopt;
  SubtitleTrack track;
  track.of_pictures = !is_text;
  track.stream_index = stream.index;
  track.codec = avcodec_get_name(codec);
  track.language = StreamLanguage(stream);
  track.title = StreamTag(stream, "title");
  track.is_default = (stream.disposition & AV_DISPOSITION_DEFAULT) != 0;
  track.forced = (stream.disposition & AV_DISPOSITION_FORCED) != 0;
  track.roles = StreamRoles(stream);
  return track;
}

Result<av::CodecContext> OpenSubtitleDecoder(const AVStream& stream, const char* charset) {
  const AVCodec* const decoder = avcodec_find_decoder(stream.codecpar->codec_id);
  if (decoder == nullptr) return CannotRead();
  av::CodecContext context(avcodec_alloc_context3(decoder));
  GOPMILL_CHECK(context != nullptr);
  int code = avcodec_parameters_to_context(context.get(), stream.codecpar);
  context->pkt_timebase = stream.time_base;
  if (charset != nullptr) av_opt_set(context.get(), "sub_charenc", charset, 0);
  if (code >= 0) code = avcodec_open2(context.get(), decoder, nullptr);
  if (code < 0) return av::AvError("The subtitles could not be read", code);
  return context;
}

Result<SubtitleReader> SubtitleReader::Open(const AVStream& stream, std::int64_t start_us,
                                            CueForm form, const char* charset) {
  SubtitleReader reader;
  reader.time_base_ = av::FromAv(stream.time_base);
  reader.start_us_ = start_us;
  reader.form_ = form;
  GOPMILL_ASSIGN_OR_RETURN(reader.decoder_, OpenSubtitleDecoder(stream, charset));
  if (form != CueForm::kScript) GOPMILL_RETURN_IF_ERROR(reader.OpenEncoder());
  return reader;
}

Status SubtitleReader::OpenEncoder() {
  const AVCodec* const encoder = avcodec_find_encoder(CodecOf(form_));
  if (encoder == nullptr) return CannotRead();
  encoder_.reset(avcodec_alloc_context3(encoder));
  GOPMILL_CHECK(encoder_ != nullptr);
  encoder_->time_base = {1, 1000};
  // Styles of the source, by which the encoder knows what is italic; it copies them.
  if (decoder_->subtitle_header != nullptr) {
    auto* header = static_cast<std::uint8_t*>(av_memdup(
        decoder_->subtitle_header, static_cast<std::size_t>(decoder_->subtitle_header_size) + 1));
    encoder_->subtitle_header = header;
    encoder_->subtitle_header_size = decoder_->subtitle_header_size;
  }
  const int code = avcodec_open2(encoder_.get(), encoder, nullptr);
  return code < 0 ? Status(av::AvError("The subtitles could not be written", code)) : OkStatus();
}

namespace {

// An event as FFmpeg's decoders write it: eight fields, each with a comma behind it, and its text.
std::string_view HeadOf(std::string_view event) {
  constexpr int kFields = 8;
  std::size_t end = 0;
  for (int i = 0; i < kFields; ++i) {
    const std::size_t comma = event.find(',', end);
    if (comma == std::string_view::npos) return event;
    end = comma + 1;
  }
  return event.substr(0, end);
}

// What the encoders would take for text, or not understand.
void MakePlain(AVSubtitle& shown, AVCodecID codec) {
  for (unsigned i = 0; i < shown.num_rects; ++i) {
    char*& event = shown.rects[i]->ass;
    if (event == nullptr ||
        std::string_view(event).find_first_of("\\{") == std::string_view::npos) {
      continue;
    }
    const std::string_view head = HeadOf(event);
    const std::string_view text = std::string_view(event).substr(head.size());
    const std::string plain = std::string(head) + WithoutEscapes(WithoutDrawings(text), codec);
    av_freep(&event);
    event = av_strdup(plain.c_str());
  }
}

}  // namespace

// In the track's form; empty where there is nothing to be said.
std::string SubtitleReader::Written(const AVSubtitle& shown) const {
  std::array<std::uint8_t, kMaxTextBytes> text{};
  const int size =
      avcodec_encode_subtitle(encoder_.get(), text.data(), static_cast<int>(text.size()), &shown);
  if (size <= 0) return {};
  const std::string_view written(reinterpret_cast<const char*>(text.data()),
                                 static_cast<std::size_t>(size));
  return form_ == CueForm::kWebVtt ? Payload(written) : std::string(written);
}

void SubtitleReader::Add(SubtitleCue cue, SubtitleTrack& track) {
  bytes_ += cue.text.size() + sizeof(SubtitleCue);
  track.incomplete = track.incomplete || track.cues.size() >= kMaxCues || bytes_ > kMaxCueBytes;
  if (!track.incomplete) track.cues.push_back(std::move(cue));
}

std::vector<SubtitleCue> SubtitleReader::Read(const AVPacket& packet) const {
  av::Subtitle shown;
  int got = 0;
  AVPacket& mutable_packet = const_cast<AVPacket&>(packet);  // older FFmpeg; reads only
  const int read = avcodec_decode_subtitle2(decoder_.get(), shown.get(), &got, &mutable_packet);
  if (read < 0 || got == 0 || shown->num_rects == 0 || packet.pts == AV_NOPTS_VALUE) return {};
  SubtitleCue cue;
  const std::int64_t pts = Rescale(packet.pts, time_base_, kMicros);
  const std::int64_t duration = Rescale(packet.duration, time_base_, kMicros);
  if (std::abs(pts) > kFarthestMicros || duration > kFarthestMicros) return {};
  cue.start_us = pts - start_us_ + std::int64_t{shown->start_display_time} * 1000;
  cue.end_us = kNoEnd;
  if (packet.duration > 0) {
    cue.end_us = cue.start_us + duration;
  } else if (shown->end_display_time > shown->start_display_time &&
             shown->end_display_time != UINT32_MAX) {
    cue.end_us =
        cue.start_us + std::int64_t{shown->end_display_time - shown->start_display_time} * 1000;
  }
  if (encoder_ != nullptr) {
    MakePlain(*shown.get(), decoder_->codec_id);
    cue.text = Written(*shown.get());
    if (cue.text.empty()) return {};
    return {std::move(cue)};
  }
  std::vector<SubtitleCue> cues;
  for (unsigned i = 0; i < shown->num_rects; ++i) {
    const char* line = shown->rects[i]->ass;
    cue.text = OneLine(line == nullptr ? "" : line);
    if (!cue.text.empty()) cues.push_back(cue);
  }
  return cues;
}

void SubtitleReader::Push(const AVPacket& packet, SubtitleTrack& track) {
  for (SubtitleCue& cue : Read(packet)) Add(std::move(cue), track);
}

void SubtitleReader::Finish(SubtitleTrack& track) const {
  track.form = form_;
  if (encoder_ != nullptr) {
    track.header = TextOf(encoder_->extradata, encoder_->extradata_size);
  } else {
    const std::string_view header =
        TextOf(decoder_->subtitle_header, decoder_->subtitle_header_size);
    track.header = header.substr(0, header.find('\0'));
  }
  std::ranges::stable_sort(track.cues, {}, &SubtitleCue::start_us);
  EndCues(track.cues);
  if (form_ == CueForm::kMovText) track.cues = WithoutOverlap(track.cues);
}

}  // namespace gopmill
