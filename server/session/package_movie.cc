// SPDX-License-Identifier: Apache-2.0
#include "server/session/package_movie.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/dump_json.h"
#include "server/session/engine.h"
#include "server/session/packager.h"
#include "server/session/plan_json.h"
#include "server/session/segment_part.h"

namespace gopmill {
namespace {

std::shared_ptr<const SegmentedMovie> AsFiles(const SegmentedMovie& movie) {
  auto files = std::make_shared<SegmentedMovie>(movie);
  files->query.clear();
  files->text_query.clear();
  files->packaged = true;
  return files;
}

PartName Named(PartKind kind, PartTrack track, std::size_t rendition = 0, std::int64_t number = 0) {
  return {.kind = kind,
          .track = track,
          .rendition = static_cast<int>(rendition),
          .number = number,
          .container = Container::kMp4};
}

// What is made of the plan alone, besides the first two files.
std::vector<PartName> TextsOf(const SegmentedMovie& movie) {
  std::vector<PartName> names;
  const bool headers = movie.container == Container::kMp4;
  const auto media = [&](PartTrack track, std::size_t renditions) {
    for (std::size_t r = 0; r < renditions; ++r) {
      names.push_back(Named(PartKind::kPlaylist, track, r));
      if (headers) names.push_back(Named(PartKind::kInit, track, r));
    }
  };
  media(PartTrack::kVideo, movie.video.size());
  media(PartTrack::kIFrames, movie.iframes ? 1 : 0);
  media(PartTrack::kAudio, movie.audio ? 1 : 0);
  names.push_back(Named(PartKind::kPlaylist, PartTrack::kThumbnails));
  names.push_back(Named(PartKind::kWhole, PartTrack::kThumbnails));
  for (std::size_t r = 0; r < movie.subtitles.size(); ++r) {
    names.push_back(Named(PartKind::kPlaylist, PartTrack::kSubtitles, r));
    names.push_back(Named(PartKind::kWhole, PartTrack::kSubtitles, r));
    for (std::int64_t k = 0; k < movie.segments.count(); ++k) {
      names.push_back(Named(PartKind::kSegment, PartTrack::kSubtitles, r, k));
    }
  }
  return names;
}

Status WriteTexts(const std::vector<Presentation>& presentations,
                  const std::vector<SoundOf>& sounds, const std::stop_token& stop,
                  PackageFolder& folder) {
  const auto write = [&](const Presentation& presentation, const PartName& name) -> Status {
    if (stop.stop_requested()) return Error{.code = Code::kCancelled, .message = "Cancelled."};
    GOPMILL_ASSIGN_OR_RETURN(const MediaPart part, TextPart(*presentation.movie, name, sounds));
    return folder.Write(presentation.folder + TextOf(name), *part.bytes);
  };
  const Presentation& main = presentations.front();
  GOPMILL_RETURN_IF_ERROR(write(main, {.kind = PartKind::kMaster}));
  if (main.movie->container == Container::kMp4) {
    GOPMILL_RETURN_IF_ERROR(write(main, {.kind = PartKind::kManifest}));
  }
  for (const PartName& name : TextsOf(*main.movie)) {
    GOPMILL_RETURN_IF_ERROR(write(main, name));
  }
  for (std::size_t i = 1; i < presentations.size(); ++i) {
    for (const PartName& name : TextsOf(*presentations[i].movie)) {
      if (name.track != PartTrack::kAudio) continue;
      GOPMILL_RETURN_IF_ERROR(write(presentations[i], name));
    }
  }
  return OkStatus();
}

// A sound track that cannot be played has no place in a package.
std::vector<Presentation> Presentations(const Shelved& shelved,
                                        const std::vector<Shelved>& sounds) {
  std::vector<Presentation> presentations;
  auto movie = std::make_shared<SegmentedMovie>(*AsFiles(*shelved.movie));
  std::vector<AudioChoice> playable;
  for (std::size_t i = 0; i < sounds.size(); ++i) {
    const AudioChoice& choice = shelved.movie->audio_choices[i];
    if (!sounds[i].movie || !sounds[i].movie->audio) continue;
    playable.push_back(choice);
    if (choice.chosen) continue;
    presentations.push_back({.shelved = sounds[i],
                             .movie = AsFiles(*sounds[i].movie),
                             .folder = SoundFolder(*movie, choice)});
  }
  movie->audio_choices = std::move(playable);
  presentations.insert(presentations.begin(), {.shelved = shelved, .movie = movie, .folder = ""});
  return presentations;
}

// In the order of the first one's audio_choices.
std::vector<SoundOf> SoundsOf(const std::vector<Presentation>& presentations) {
  std::vector<SoundOf> sounds;
  std::size_t next = 1;
  for (const AudioChoice& choice : presentations.front().movie->audio_choices) {
    sounds.push_back(choice.chosen ? presentations.front().movie : presentations[next++].movie);
  }
  return sounds;
}

nlohmann::ordered_json RenditionsJson(const SegmentedMovie& movie,
                                      const std::vector<TrackSizes>& sizes, double seconds) {
  auto list = nlohmann::ordered_json::array();
  for (std::size_t r = 0; r < movie.video.size(); ++r) {
    const Target& target = movie.video[r].plan->target;
    list.push_back({{"playlist", "v" + std::to_string(r) + ".m3u8"},
                    {"width", target.width},
                    {"height", target.height},
                    {"bitrate", target.bitrate},
                    {"bytes", sizes[r].bytes},
                    {"mean_bps", 8.0 * static_cast<double>(sizes[r].bytes) / seconds},
                    {"peak_bps", sizes[r].peak_bps},
                    {"declared_bps", movie.video[r].peak_bps}});
  }
  return list;
}

PackageReport PackagedReport(const std::vector<Presentation>& presentations,
                             const std::vector<TrackSizes>& sizes, const PackageFolder& folder,
                             const Engine& engine, double elapsed) {
  const SegmentedMovie& movie = *presentations.front().movie;
  PackageReport report{.json = "",
                       .frames = movie.segments.frames(),
                       .files = folder.files(),
                       .bytes = folder.bytes(),
                       .renditions = movie.video.size(),
                       .elapsed_seconds = elapsed};
  report.out_seconds = static_cast<double>(report.frames) / movie.segments.fps.ToDouble();
  report.sounds_left_out =
      presentations.front().shelved.movie->audio_choices.size() - movie.audio_choices.size();
  const nlohmann::ordered_json json{
      {"frames", report.frames},
      {"seconds", report.out_seconds},
      {"segments", movie.segments.count()},
      {"renditions", RenditionsJson(movie, sizes, report.out_seconds)},
      {"sounds", movie.audio_choices.size()},
      {"sounds_left_out", report.sounds_left_out},
      {"subtitles", movie.subtitles.size()},
      {"files", report.files},
      {"bytes", report.bytes},
      {"elapsed_s", elapsed},
      {"speed", report.out_seconds / elapsed},
      {"scheduler", SchedulerJson(engine.scheduler().Stats())},
      {"context_cache", CacheJson(engine.cache_stats())}};
  report.json = DumpJson(json, 2);
  return report;
}

Progress PackagedProgress(std::int64_t frames, std::int64_t bytes, const SegmentGrid& grid,
                          double elapsed) {
  const double fps = grid.fps.ToDouble();
  Progress progress{.frames_done = frames,
                    .frames_total = grid.frames(),
                    .out_seconds = static_cast<double>(frames) / fps,
                    .total_seconds = static_cast<double>(grid.frames()) / fps,
                    .bytes = bytes};
  if (elapsed > 0) {
    progress.fps = static_cast<double>(frames) / elapsed;
    progress.speed = progress.out_seconds / elapsed;
  }
  if (progress.speed > 0) {
    progress.eta_seconds = (progress.total_seconds - progress.out_seconds) / progress.speed;
  }
  return progress;
}

struct Input {
  std::string folder, name;
};

// The movie's folder is looked into for its subtitles.
Result<Input> FindInput(const std::string& path) {
  std::error_code code;
  const auto real = std::filesystem::canonical(path, code);
  if (path == "-" || (!code && !std::filesystem::is_regular_file(real, code))) {
    return InvalidArgument("input", "'" + path + "' is no file; segments are read from any place.",
                           "a media file");
  }
  if (code) {
    return Error{.code = Code::kNotFound,
                 .message = "The source '" + path + "' cannot be opened: " + code.message() + "."};
  }
  return Input{.folder = real.parent_path(), .name = real.filename()};
}

}  // namespace

Result<PackageReport> PackageMovie(const PackageJob& job, const std::stop_token& stop,
                                   const ProgressCallback& progress) {
  const TimePoint began = SteadyNow();
  GOPMILL_ASSIGN_OR_RETURN(const SegmentRequest request, ParseSegmentParams(job.params, {}));
  GOPMILL_ASSIGN_OR_RETURN(const Input input, FindInput(job.input));
  PackageFolder folder(job.folder);
  GOPMILL_RETURN_IF_ERROR(folder.Create());
  GOPMILL_ASSIGN_OR_RETURN(const auto engine, Engine::Create({.scheduler = job.scheduler}));
  GOPMILL_ASSIGN_OR_RETURN(const std::uint16_t service_class,
                           engine->scheduler().ClassOf(request.target.service_class.value_or("")));
  GOPMILL_ASSIGN_OR_RETURN(const Library library, Library::Open(input.folder));
  ScriptShelf scripts(library);
  MovieShelf shelf(library, scripts);
  GOPMILL_ASSIGN_OR_RETURN(const Shelved shelved, shelf.Get(input.name, request, job.params, stop));
  const std::vector<Presentation> presentations =
      Presentations(shelved, shelf.Sounds(shelved, request, job.params, stop));
  const auto elapsed = [&] { return ToSeconds(SteadyNow() - began); };
  std::vector<TrackSizes> sizes;
  {
    Packager packager(presentations, shelf, engine->scheduler(), service_class, folder);
    GOPMILL_RETURN_IF_ERROR(packager.Run(stop, [&](std::int64_t frames, std::int64_t bytes) {
      if (progress) progress(PackagedProgress(frames, bytes, shelved.movie->segments, elapsed()));
    }));
    sizes = packager.sizes();
  }
  GOPMILL_RETURN_IF_ERROR(WriteTexts(presentations, SoundsOf(presentations), stop, folder));
  // What names the others appears when they are there.
  std::vector<std::string> last{TextOf({.kind = PartKind::kMaster})};
  if (request.target.container.value_or(Container::kMp4) == Container::kMp4) {
    last.push_back(TextOf({.kind = PartKind::kManifest}));
  }
  GOPMILL_RETURN_IF_ERROR(folder.Publish(last));
  return PackagedReport(presentations, sizes, folder, *engine, elapsed());
}

}  // namespace gopmill
