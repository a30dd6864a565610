// SPDX-License-Identifier: Apache-2.0
//
// The text tracks of a movie by number, as lists of sources have them: the movie's own, then those
// of files beside it.
//
// Thread-safety: safe; what reads blocks.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "media/plan.h"
#include "media/source.h"
#include "media/subtitle_script.h"
#include "server/files/library.h"

namespace gopmill {

// A file of subtitles beside a movie.
struct TextFile {
  std::string name;
  SubtitleTrack described;  // by its name
  SourceOpener open;
};

// Tells the log of tracks that have more than is kept (SubtitleTrack::incomplete). `of`: the name
// of their file, for people.
void WarnOfLostCues(std::string_view of, std::span<const SubtitleTrack> tracks);

// kInvalidArgument if there is no track with this number, from 1.
Status CheckTextNumber(int number, std::size_t own, std::size_t beside);

// Errors: as CheckTextNumber, and of opening and reading.
Result<std::shared_ptr<const SubtitleScript>> ReadScript(const SourceOpener& movie,
                                                         const std::vector<TextFile>& beside,
                                                         int number, const std::stop_token& stop);

// `path` below the library's root.
std::vector<TextFile> TextFilesOf(const Library& library, const std::string& path);

// Whether they can be copied into a container that is written while it is sent: FFmpeg's muxer
// gives samples of text in fragments of MP4 wrong times.
Status CheckStreamedText(const TargetRequest& request);

// What a request wants of a movie's text. A script comes from `script`; copied are all tracks, own
// ones first, in the forms that the container takes: a file beside that cannot be read is left out
// and told of in the log, a track without cues is left out.
using ScriptReader = std::function<Result<std::shared_ptr<const SubtitleScript>>(int number)>;
using TextFinder = std::function<std::vector<TextFile>()>;
Result<PlanTexts> ReadPlanTexts(const TargetRequest& request, const ScriptReader& script,
                                const SourceOpener& movie, const TextFinder& beside,
                                const std::stop_token& stop);

}  // namespace gopmill
