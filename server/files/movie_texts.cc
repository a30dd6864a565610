// SPDX-License-Identifier: Apache-2.0
#include "server/files/movie_texts.h"

#include <fmt/format.h>

#include <utility>

#include "base/file_name.h"
#include "base/log.h"
#include "media/source.h"
#include "media/subtitle_file.h"

namespace gopmill {
namespace {

TextUse UseIn(Container container) {
  switch (container) {
    case Container::kMp4: return TextUse::kMp4;
    case Container::kMkv: return TextUse::kMatroska;
    case Container::kWebm:
    case Container::kTs: break;
  }
  return TextUse::kWebVtt;
}

struct OwnTexts {
  std::size_t count = 0;              // of the movie's tracks of text
  std::vector<SubtitleTrack> tracks;  // those that FFmpeg reads
  ClosedJumps jumps;
};

// Reads a movie to its end for all of its tracks of text, or for one, from 1; for none if it has
// not so many.
Result<OwnTexts> ReadOwnTexts(const SourceOpener& movie, TextUse use, int number,
                              const std::stop_token& stop) {
  GOPMILL_ASSIGN_OR_RETURN(UniqueFd fd, movie());
  GOPMILL_ASSIGN_OR_RETURN(
      const auto source,
      Source::Open(std::move(fd), stop, {.texts = use, .text_track = number, .rate = false}));
  OwnTexts own{.count = source->info()->subtitles.size(), .tracks = {}, .jumps = {}};
  if (static_cast<std::size_t>(number) > own.count) return own;
  auto state = PacketSource::ReadState::kVideo;
  while (state != PacketSource::ReadState::kEnd) {
    const av::Packet packet = av::NewPacket();
    GOPMILL_ASSIGN_OR_RETURN(state, source->Read(*packet));
  }
  if (source->damaged()) {
    return Error{.code = Code::kIo, .message = "The movie's text cannot be read to its end."};
  }
  own.tracks = source->TakeSubtitles();
  WarnOfLostCues("of a movie", own.tracks);
  own.jumps = source->jumps();
  return own;
}

}  // namespace

void WarnOfLostCues(std::string_view of, std::span<const SubtitleTrack> tracks) {
  for (const SubtitleTrack& track : tracks) {
    if (!track.incomplete) continue;
    spdlog::warn("subtitles {}: what a track ({} \"{}\") has beyond {} cues or {} MiB is left out",
                 of, track.language, track.title, kMaxCues, kMaxCueBytes >> 20U);
  }
}

Status CheckTextNumber(int number, std::size_t own, std::size_t beside) {
  const std::size_t count = own + beside;
  if (static_cast<std::size_t>(number) <= count) return OkStatus();
  if (count == 0) {
    return InvalidArgument("burn", "The movie has no track of text that could be drawn.", "off");
  }
  if (count == 1) return InvalidArgument("burn", "The movie has 1 track of text.", "off, or 1");
  return InvalidArgument("burn", fmt::format("The movie has {} tracks of text.", count),
                         fmt::format("off, or 1 to {}", count));
}

namespace {

// It is the file of text that is at fault, not the movie.
Error CannotBeDrawn(const TextFile& file, Error error) {
  if (error.code == Code::kCorrupt) error.code = Code::kUnsupported;
  error.message = fmt::format("{}: {}", TagText(file.name), error.message);
  error.parameter = "burn";
  return error;
}

}  // namespace

Result<std::shared_ptr<const SubtitleScript>> ReadScript(const SourceOpener& movie,
                                                         const std::vector<TextFile>& beside,
                                                         int number, const std::stop_token& stop) {
  GOPMILL_ASSIGN_OR_RETURN(const OwnTexts own, ReadOwnTexts(movie, TextUse::kScript, number, stop));
  GOPMILL_RETURN_IF_ERROR(CheckTextNumber(number, own.count, beside.size()));
  const auto at = static_cast<std::size_t>(number) - 1;
  if (at < own.count && own.tracks.empty()) {
    return Error{.code = Code::kUnsupported,
                 .message = "FFmpeg here does not read this track of text.",
                 .parameter = "burn"};
  }
  if (at < own.count) return MakeScript(own.tracks.front(), own.jumps);
  const TextFile& file = beside[at - own.count];
  GOPMILL_ASSIGN_OR_RETURN(UniqueFd text, file.open());
  const auto track = ReadSubtitleFile(std::move(text), file.described, stop, TextUse::kScript);
  if (!track.ok()) return CannotBeDrawn(file, track.error());
  WarnOfLostCues(file.name, {&*track, 1});
  return MakeScript(*track);
}

std::vector<TextFile> TextFilesOf(const Library& library, const std::string& path) {
  std::vector<TextFile> files;
  for (const std::string& name : library.SubtitlesOf(path)) {
    auto described = DescribeSubtitleFile(StemOf(path), name);
    if (!described) continue;
    files.push_back({.name = name, .described = *std::move(described), .open = [&library, name] {
                       return library.OpenEntry(name);
                     }});
  }
  return files;
}

Status CheckStreamedText(const TargetRequest& request) {
  if (request.subtitles != Subtitles::kCopy) return OkStatus();
  if (request.container.value_or(Container::kMp4) != Container::kMp4) return OkStatus();
  return InvalidArgument("subtitles",
                         "Text can be put into MP4 only where that is written as a file.",
                         "off, container=mkv or webm, or a file by gopmill transcode");
}

namespace {

Status CopyTexts(const SourceOpener& movie, const std::vector<TextFile>& beside,
                 Container container, const std::stop_token& stop, PlanTexts& texts) {
  const TextUse use = UseIn(container);
  GOPMILL_ASSIGN_OR_RETURN(OwnTexts own, ReadOwnTexts(movie, use, 0, stop));
  std::vector<SubtitleTrack> tracks = std::move(own.tracks);
  for (const TextFile& file : beside) {
    auto text = file.open();
    auto track = text.ok() ? ReadSubtitleFile(std::move(text).value(), file.described, stop, use)
                           : Result<SubtitleTrack>(text.error());
    if (track.ok()) {
      WarnOfLostCues(file.name, {&*track, 1});
      CloseJumps(own.jumps, *track);
      tracks.push_back(std::move(track).value());
    } else {
      spdlog::warn("subtitles {}: {}", file.name, track.error().ToString());
    }
  }
  std::erase_if(tracks, [](const SubtitleTrack& track) { return track.cues.empty(); });
  texts.copied = std::make_shared<const std::vector<SubtitleTrack>>(std::move(tracks));
  texts.jumps = std::move(own.jumps);
  return OkStatus();
}

}  // namespace

Result<PlanTexts> ReadPlanTexts(const TargetRequest& request, const ScriptReader& script,
                                const SourceOpener& movie, const TextFinder& beside,
                                const std::stop_token& stop) {
  PlanTexts texts;
  if (const int number = request.burn.value_or(0); number > 0) {
    GOPMILL_ASSIGN_OR_RETURN(texts.script, script(number));
    texts.jumps = texts.script->jumps;
  }
  if (request.subtitles == Subtitles::kCopy) {
    const Container container = request.container.value_or(Container::kMp4);
    GOPMILL_RETURN_IF_ERROR(CopyTexts(movie, beside(), container, stop, texts));
  }
  return texts;
}

}  // namespace gopmill
