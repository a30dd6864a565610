// SPDX-License-Identifier: Apache-2.0
#include "media/subtitle_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>

#include "base/file_name.h"
#include "base/words.h"
#include "media/av_error.h"
#include "media/fd_io.h"
#include "media/memory_io.h"
#include "media/text_charset.h"
#include "media/webvtt_cues.h"

namespace gopmill {
namespace {

struct Form {
  std::string_view extension;
  const char* codec;    // FFmpeg's names
  const char* demuxer;  // never guessed: a file of text is read as what it says it is
};
constexpr std::array kForms{Form{"srt", "subrip", "srt"}, Form{"vtt", "webvtt", "webvtt"},
                            Form{"ass", "ass", "ass"}, Form{"ssa", "ass", "ass"}};

const Form* FormOf(std::string_view name) {
  const std::string extension = ExtensionOf(name);
  const auto* found = std::ranges::find(kForms, extension, &Form::extension);
  return found == kForms.end() ? nullptr : found;
}

// "en", "ger", "pt-BR"; not "cc" and "sdh", by which players mean subtitles for the deaf.
bool IsLanguage(std::string_view word) {
  const std::string_view first = word.substr(0, word.find('-'));
  const auto letter = [](unsigned char c) { return std::isalpha(c) != 0; };
  if (first.size() < 2 || first.size() > 3 || !std::ranges::all_of(first, letter)) return false;
  const std::string lower = LowerAscii(word);
  return lower != "cc" && lower != "sdh" && std::ranges::all_of(word, [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-';
         });
}

void AddWord(std::string_view word, SubtitleTrack& track) {
  const std::string lower = LowerAscii(word);
  if (lower == "forced") {
    track.forced = true;
  } else if (lower == "default") {
    track.is_default = true;
  } else if (track.language.empty() && IsLanguage(word)) {
    track.language = word.size() <= 3 ? lower : std::string(word);
  } else if (!word.empty()) {
    track.title += (track.title.empty() ? "" : " ") + std::string(word);
  }
}

// All of a file, if it is not too large.
Result<std::string> BytesOf(FdIo& io) {
  const Error too_large{.code = Code::kUnsupported,
                        .message = "The file of subtitles is too large.",
                        .accepted = "up to 8 MiB"};
  if (io.size() > kMaxSubtitleFileBytes) return too_large;
  std::string bytes;
  while (std::ssize(bytes) <= kMaxSubtitleFileBytes) {
    std::array<char, 16 * 1024> some{};
    const int got = avio_read(io.context(), reinterpret_cast<unsigned char*>(some.data()),
                              static_cast<int>(some.size()));
    if (io.failed()) {
      return Error{.code = Code::kIo, .message = "The subtitles cannot be read to their end."};
    }
    if (got == AVERROR_EOF || got == 0) return bytes;
    if (got < 0) return av::AvError("The subtitles could not be read", got);
    bytes.append(some.data(), static_cast<std::size_t>(got));
  }
  return too_large;
}

Status ReadCues(AVFormatContext& format, TextUse use, const char* charset,
                const std::stop_token& stop, SubtitleTrack& track) {
  if (format.nb_streams == 0) {
    return Error{.code = Code::kCorrupt, .message = "There are no subtitles in the file."};
  }
  GOPMILL_ASSIGN_OR_RETURN(
      SubtitleReader reader,
      SubtitleReader::Open(*format.streams[0], 0,
                           FormFor(use, format.streams[0]->codecpar->codec_id), charset));
  const av::Packet packet = av::NewPacket();
  while (!stop.stop_requested() && av_read_frame(&format, packet.get()) >= 0) {
    // These files state each end: no time means never. FFmpeg's decoders take time by the square of
    // what one cue has.
    const bool read = packet->duration != 0 && std::cmp_less_equal(packet->size, kMaxTextBytes);
    if (read) reader.Push(*packet, track);
    av_packet_unref(packet.get());
  }
  reader.Finish(track);
  return OkStatus();
}

}  // namespace

bool HasSubtitleExtension(std::string_view name) { return FormOf(name) != nullptr; }

std::optional<SubtitleTrack> DescribeSubtitleFile(std::string_view stem, std::string_view name) {
  const Form* form = FormOf(name);
  if (form == nullptr || !name.starts_with(stem) || name.size() <= stem.size() ||
      name[stem.size()] != '.') {
    return std::nullopt;
  }
  SubtitleTrack track;
  track.codec = form->codec;
  std::string_view words = name.substr(stem.size());
  words = words.substr(0, words.rfind('.'));
  while (!words.empty()) {
    words.remove_prefix(1);
    const std::size_t end = std::min(words.find('.'), words.size());
    AddWord(words.substr(0, end), track);
    words.remove_prefix(end);
  }
  track.title = TagText(track.title);
  return track;
}

Result<SubtitleTrack> ReadSubtitleFile(UniqueFd fd, SubtitleTrack track,
                                       const std::stop_token& stop, TextUse use) {
  FdIo io(fd.get(), stop);
  GOPMILL_ASSIGN_OR_RETURN(std::string text, BytesOf(io));
  text = Utf8Of(std::move(text));
  const char* charset = CharsetOf(text, track.language);
  if (track.codec == "webvtt") text = OnlyCues(text);
  MemoryIo memory(text);
  const auto* form = std::ranges::find(kForms, track.codec, &Form::codec);
  AVFormatContext* raw = avformat_alloc_context();
  GOPMILL_CHECK(raw != nullptr && form != kForms.end());
  raw->pb = memory.context();
  // avformat_open_input frees the context when it fails.
  const int code = avformat_open_input(&raw, nullptr, av_find_input_format(form->demuxer), nullptr);
  if (code < 0) return av::AvError("The subtitles could not be read", code);
  const av::InputFormat format(raw);
  GOPMILL_RETURN_IF_ERROR(ReadCues(*format, use, charset, stop, track));
  if (track.cues.empty()) {
    return Error{.code = Code::kCorrupt,
                 .message = "No subtitles can be read in the file.",
                 .accepted = "text in UTF-8, UTF-16 or the Windows set of its language"};
  }
  return track;
}

}  // namespace gopmill
