// SPDX-License-Identifier: Apache-2.0
#include "server/offline/package_movie.h"

#include <fcntl.h>

#include <cerrno>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/dump_json.h"
#include "base/file_error.h"
#include "base/unique_fd.h"
#include "server/offline/packager.h"
#include "server/segments/segment_part.h"
#include "server/stream/engine.h"
#include "server/stream/plan_json.h"

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
    if (stop.stop_requested()) return Cancelled();
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

void Measure(const TrackSizes& sizes, SegmentTrack& track) {
  if (sizes.empty()) return;
  track.peak_bps = sizes.peak_bps();
  track.average_bps = sizes.average_bps();
}

// Playlists then state what was made, as RFC 8216 section 4.3.4.2 demands of those whose segments
// are all there.
void Measure(const PackageSizes& sizes, std::vector<Presentation>& presentations) {
  std::vector<std::shared_ptr<SegmentedMovie>> movies;
  for (std::size_t i = 0; i < presentations.size(); ++i) {
    movies.push_back(std::make_shared<SegmentedMovie>(*presentations[i].movie));
    if (movies[i]->audio) Measure(sizes.audio[i], *movies[i]->audio);
  }
  SegmentedMovie& main = *movies.front();
  for (std::size_t r = 0; r < main.video.size(); ++r) Measure(sizes.video[r], main.video[r]);
  if (main.iframes) Measure(sizes.iframes, *main.iframes);
  Measure(sizes.thumbnails, main.thumbnails);
  std::size_t next = 1;
  for (AudioChoice& choice : main.audio_choices) {
    const AudioRendition& audio = choice.chosen ? *main.audio : *movies[next++]->audio;
    choice.peak_bps = audio.peak_bps;
    choice.average_bps = audio.average_bps;
  }
  for (std::size_t i = 0; i < movies.size(); ++i) presentations[i].movie = movies[i];
}

std::vector<PackagedRendition> Renditions(const SegmentedMovie& movie) {
  std::vector<PackagedRendition> list;
  for (const VideoRendition& video : movie.video) {
    const Target& target = video.plan->target;
    list.push_back({.playlist = "v" + std::to_string(list.size()) + ".m3u8",
                    .width = target.width,
                    .height = target.height,
                    .asked_bps = target.bitrate,
                    .mean_bps = video.average_bps,
                    .peak_bps = video.peak_bps});
  }
  return list;
}

nlohmann::ordered_json RenditionsJson(const std::vector<PackagedRendition>& renditions,
                                      const std::vector<TrackSizes>& sizes) {
  auto list = nlohmann::ordered_json::array();
  for (std::size_t r = 0; r < renditions.size(); ++r) {
    const PackagedRendition& each = renditions[r];
    list.push_back({{"playlist", each.playlist},
                    {"width", each.width},
                    {"height", each.height},
                    {"bitrate", each.asked_bps},
                    {"bytes", sizes[r].bytes()},
                    {"mean_bps", each.mean_bps},
                    {"peak_bps", each.peak_bps}});
  }
  return list;
}

// Of those that were wanted.
std::size_t SoundsLeftOut(const SegmentRequest& request, const SegmentedMovie& movie) {
  if (request.target.audio.first != 0 || request.target.acodec == AudioCodec::kNone) return 0;
  const SourceInfo& source = *movie.index->source;
  return source.audio_tracks.size() + source.unusable_audio.size() - movie.audio_choices.size();
}

PackageReport PackagedReport(const std::vector<Presentation>& presentations,
                             const SegmentRequest& request, const Packager& packager,
                             const PackageFolder& folder, const Engine& engine, double elapsed) {
  const SegmentedMovie& movie = *presentations.front().movie;
  PackageReport report{.json = "",
                       .frames = movie.segments.frames(),
                       .files = folder.files(),
                       .bytes = folder.bytes(),
                       .damage = packager.damage(),
                       .truncated = movie.index->truncated,
                       .frames_left_out = movie.index->left_out,
                       .renditions = Renditions(movie),
                       .sounds_left_out = SoundsLeftOut(request, movie),
                       .elapsed_seconds = elapsed};
  report.out_seconds = static_cast<double>(report.frames) / movie.segments.fps.ToDouble();
  const nlohmann::ordered_json json{
      {"frames", report.frames},
      {"seconds", report.out_seconds},
      {"segments", movie.segments.count()},
      {"renditions", RenditionsJson(report.renditions, packager.sizes().video)},
      {"sounds", movie.audio_choices.size()},
      {"sounds_left_out", report.sounds_left_out},
      {"subtitles", movie.subtitles.size()},
      {"frames_concealed", report.damage.concealed},
      {"frames_patched", report.damage.patched},
      {"damaged_video_packets", report.damage.rejected},
      {"frames_left_out", report.frames_left_out},
      {"truncated", report.truncated},
      {"files", report.files},
      {"bytes", report.bytes},
      {"elapsed_s", elapsed},
      {"speed", report.out_seconds / elapsed},
      {"scheduler", SchedulerJson(engine.scheduler().Stats())},
      {"context_cache", CacheJson(engine.cache_stats())}};
  report.json = DumpJson(json, 2);
  return report;
}

// As if sound and thumbnails were pictures.
Progress PackagedProgress(double done, std::int64_t bytes, const SegmentGrid& grid,
                          double elapsed) {
  const double fps = grid.fps.ToDouble();
  const std::int64_t frames = std::llround(done * static_cast<double>(grid.frames()));
  Progress progress{.frames_done = frames,
                    .frames_total = grid.frames(),
                    .out_seconds = static_cast<double>(frames) / fps,
                    .total_seconds = static_cast<double>(grid.frames()) / fps,
                    .bytes = bytes};
  progress.AddRates(elapsed);
  return progress;
}

struct Input {
  std::string folder, name;
};

// The folder is looked into for subtitles: beside the name that was given, also where that is a
// link, as transcode does.
Result<Input> FindInput(const std::string& path) {
  std::error_code code;
  const auto real = std::filesystem::canonical(path, code);
  if (path == "-" || (!code && !std::filesystem::is_regular_file(real, code))) {
    return InvalidArgument("input", "'" + path + "' is no file; segments are read from any place.",
                           "a media file");
  }
  if (code) return InputError("The source '" + path + "' cannot be opened", code.value());
  const UniqueFd readable(open(real.c_str(), O_RDONLY | O_CLOEXEC));
  if (!readable.valid()) return InputError("The source '" + path + "' cannot be opened", errno);
  const std::filesystem::path given(path);
  return Input{.folder = given.has_parent_path() ? given.parent_path().string() : ".",
               .name = given.filename()};
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
  GOPMILL_ASSIGN_OR_RETURN(const Library library, Library::Open(input.folder, /*own=*/true));
  ScriptShelf scripts(library);
  MovieShelf shelf(library, scripts);
  GOPMILL_ASSIGN_OR_RETURN(const Shelved shelved, shelf.Get(input.name, request, job.params, stop));
  GOPMILL_ASSIGN_OR_RETURN(const std::vector<Shelved> other_sounds,
                           shelf.Sounds(shelved, request, job.params, stop));
  std::vector<Presentation> presentations = Presentations(shelved, other_sounds);
  const auto elapsed = [&] { return ToSeconds(SteadyNow() - began); };
  Packager packager(presentations, shelf, engine->scheduler(), service_class, folder);
  GOPMILL_RETURN_IF_ERROR(packager.Run(stop, [&](double done, std::int64_t bytes) {
    if (progress) progress(PackagedProgress(done, bytes, shelved.movie->segments, elapsed()));
  }));
  Measure(packager.sizes(), presentations);
  GOPMILL_RETURN_IF_ERROR(WriteTexts(presentations, SoundsOf(presentations), stop, folder));
  // What names the others appears when they are there.
  std::vector<std::string> last{TextOf({.kind = PartKind::kMaster})};
  if (shelved.movie->container == Container::kMp4) {
    last.push_back(TextOf({.kind = PartKind::kManifest}));
  }
  GOPMILL_RETURN_IF_ERROR(folder.Publish(last));
  return PackagedReport(presentations, request, packager, folder, *engine, elapsed());
}

}  // namespace gopmill
