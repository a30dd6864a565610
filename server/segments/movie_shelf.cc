// SPDX-License-Identifier: Apache-2.0
#include "server/segments/movie_shelf.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "base/file_name.h"
#include "base/log.h"
#include "media/subtitle_file.h"
#include "server/files/movie_texts.h"

namespace gopmill {
namespace {

Error Replaced() {
  return Error{.code = Code::kNotFound,
               .message = "The movie has been replaced; ask for its playlist again."};
}

std::string IdentityOf(const Library::Entry& movie) {
  return fmt::format("{}:{}:{}:{}", movie.device, movie.inode, movie.size_bytes, movie.modified_ns);
}

UniqueFd Duplicate(const UniqueFd& fd) { return UniqueFd(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0)); }

RequestParams WithSound(RequestParams params, const AudioChoice& choice) {
  params.emplace_back("audio", std::to_string(choice.number));
  return params;
}

}  // namespace

Result<MovieShelf::Opened> MovieShelf::Open(const std::string& path) const {
  Opened opened;
  GOPMILL_ASSIGN_OR_RETURN(opened.fd, library_.OpenEntry(path));
  GOPMILL_ASSIGN_OR_RETURN(opened.movie, Library::Describe(path, opened.fd));
  opened.identity.movie = IdentityOf(opened.movie);
  return opened;
}

std::vector<std::string> MovieShelf::SubtitlesOf(const std::string& path) {
  const std::string folder = library_.FolderStamp(path);
  if (folder.empty()) return library_.SubtitlesOf(path);
  {
    const MutexLock lock(mutex_);
    const auto found = std::ranges::find_if(beside_, [&](const Beside& known) {
      return known.movie == path && known.folder == folder;
    });
    if (found != beside_.end()) {
      beside_.splice(beside_.begin(), beside_, found);
      return found->subtitles;
    }
  }
  // Looked at before they are read, so that a change meanwhile shows the next time.
  Beside known{.movie = path, .folder = folder, .subtitles = library_.SubtitlesOf(path)};
  const MutexLock lock(mutex_);
  std::erase_if(beside_, [&](const Beside& other) { return other.movie == path; });
  beside_.push_front(known);
  if (beside_.size() > kMaxShelvedPlans) beside_.pop_back();
  return known.subtitles;
}

void MovieShelf::LookBeside(const std::string& path, Opened& opened) {
  AddTexts(SubtitlesOf(path), opened);
}

void MovieShelf::AddTexts(const std::vector<std::string>& paths, Opened& opened) const {
  for (const std::string& name : paths) {
    if (auto entry = library_.Find(name)) opened.subtitles.push_back(*std::move(entry));
  }
  for (const Library::Entry& text : opened.subtitles) {
    opened.identity.texts += fmt::format("|{}:{}:{}", text.path, text.size_bytes, text.modified_ns);
  }
}

Result<std::vector<SubtitleTrack>> MovieShelf::ReadBeside(const std::string& path,
                                                          const Opened& opened,
                                                          const std::stop_token& stop) const {
  std::vector<SubtitleTrack> tracks;
  for (const Library::Entry& text : opened.subtitles) {
    auto described = DescribeSubtitleFile(StemOf(path), text.path);
    auto fd = library_.OpenEntry(text.path);
    if (!described) continue;
    if (!fd.ok()) {  // it was there just now
      return Error{.code = Code::kIo, .message = "The movie's subtitles cannot be read now."};
    }
    auto track = ReadSubtitleFile(std::move(fd).value(), *std::move(described), stop);
    if (!track.ok() && track.error().code == Code::kIo) return track.error();
    if (track.ok()) {
      tracks.push_back(std::move(track).value());
    } else {
      spdlog::warn("subtitles {}: {}", text.path, track.error().ToString());
    }
  }
  return tracks;
}

std::shared_ptr<ShelvedFile> MovieShelf::File(const std::string& path, const FileIdentity& identity,
                                              int audio_track) {
  Dropped dropped;
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find_if(files_, [&](const auto& file) {
    return file->identity() == identity && file->audio_track() == audio_track;
  });
  auto file =
      found != files_.end() ? *found : std::make_shared<ShelvedFile>(path, identity, audio_track);
  ToFront(file, dropped);
  return file;
}

void MovieShelf::Keep(Plan plan) {
  Dropped dropped;
  const MutexLock lock(mutex_);
  ToFront(plan.shelved.file, dropped);
  DropPlans([&](const Plan& other) { return other.key == plan.key; }, dropped);
  plans_.push_front(std::move(plan));
  if (plans_.size() > kMaxShelvedPlans) {
    dropped.plans.splice(dropped.plans.end(), plans_, std::prev(plans_.end()));
  }
  DropLargePlans(dropped);
}

void MovieShelf::DropPlans(const std::function<bool(const Plan&)>& which, Dropped& dropped) {
  for (auto at = plans_.begin(); at != plans_.end();) {
    const auto here = at++;
    if (which(*here)) dropped.plans.splice(dropped.plans.end(), plans_, here);
  }
}

// Those asked for longest ago, where all together are too large; the newest stays.
void MovieShelf::DropLargePlans(Dropped& dropped) {
  const Plan* newest = &plans_.front();
  std::size_t bytes = 0, plan_bytes = 0;
  std::set<const SubtitleScript*> kept;  // plans of one movie share theirs
  const auto too_large = [&](const Plan& each) {
    const std::size_t own = each.shelved.movie->footprint_bytes();
    const auto& script = each.shelved.movie->video.front().plan->texts.script;
    const bool adds = script != nullptr && !kept.contains(script.get());
    const std::size_t more = adds ? script->bytes() : 0;
    const bool fits = plan_bytes + own <= kMaxPlanBytes && bytes + more <= kMaxKeptScriptBytes;
    if (&each != newest && !fits) return true;
    plan_bytes += own;
    bytes += more;
    if (adds) kept.insert(script.get());
    return false;
  };
  DropPlans(too_large, dropped);
}

// With what does not fit any more dropped: those asked for longest ago, and their plans.
void MovieShelf::ToFront(const std::shared_ptr<ShelvedFile>& file, Dropped& dropped) {
  std::erase(files_, file);
  files_.push_front(file);
  file->Shelve();
  std::size_t bytes = 0, count = 0;
  for (auto at = files_.begin(); at != files_.end();) {
    const auto here = at++;
    const std::shared_ptr<ShelvedFile> each = *here;
    bytes += each->footprint_bytes();
    if (each == file || (bytes <= kMaxIndexBytes && count < kMaxShelvedFiles)) {
      ++count;
    } else {
      DropFile(here, dropped);
    }
  }
}

// And its plans.
void MovieShelf::DropFile(Files::iterator at, Dropped& dropped) {
  const std::shared_ptr<ShelvedFile> file = *at;
  dropped.files.splice(dropped.files.end(), files_, at);
  DropPlans([&](const Plan& old) { return old.shelved.file == file; }, dropped);
  if (auto readers = file->Unshelve(); !readers.empty()) {
    unshelved_.push_back({.path = file->path(), .readers = std::move(readers)});
  }
}

void MovieShelf::Forget(const std::string& path) {
  Dropped dropped;
  const MutexLock lock(mutex_);
  for (auto at = files_.begin(); at != files_.end();) {
    const auto here = at++;
    if ((*here)->path() == path) DropFile(here, dropped);
  }
}

// With the times at which anything of the files changed, which nobody can set: what is kept under
// it outlives whoever would notice that they are others.
std::string MovieShelf::LastingIdentity(const Opened& opened) {
  std::string lasting =
      fmt::format("{}{}|{}", opened.identity.movie, opened.identity.texts, opened.movie.changed_ns);
  for (const Library::Entry& text : opened.subtitles) {
    lasting += fmt::format(":{}", text.changed_ns);
  }
  return lasting;
}

Result<std::shared_ptr<const SourceIndex>> MovieShelf::MakeIndex(const ShelvedFile& file,
                                                                 Opened opened,
                                                                 const std::string& path,
                                                                 const std::stop_token& stop) {
  const UniqueFd movie = Duplicate(opened.fd);
  const std::string identity = LastingIdentity(opened);
  auto found = kept_.Find(identity, file.audio_track(), Duplicate(movie), stop);
  if (found != nullptr) return found;
  lseek(opened.fd.get(), 0, SEEK_SET);  // a place that all of them share
  GOPMILL_ASSIGN_OR_RETURN(auto beside, ReadBeside(path, opened, stop));
  GOPMILL_ASSIGN_OR_RETURN(
      std::shared_ptr<const SourceIndex> read,
      indexer_(std::move(opened.fd), stop, file.audio_track(), std::move(beside)));
  WarnOfLostCues(path, read->subtitles);
  // Not of a movie that has changed meanwhile.
  const auto now = Library::Describe(path, movie);
  if (now.ok() && now->IsAs(opened.movie)) kept_.Keep(identity, file.audio_track(), *read);
  return read;
}

// The index of a file, which counts from now on.
Result<std::shared_ptr<const SourceIndex>> MovieShelf::IndexOf(
    const std::shared_ptr<ShelvedFile>& file, Opened opened, const std::string& path,
    const std::stop_token& stop) {
  GOPMILL_ASSIGN_OR_RETURN(
      auto index, file->Index([&] { return MakeIndex(*file, std::move(opened), path, stop); }));
  Dropped dropped;
  const MutexLock lock(mutex_);
  ToFront(file, dropped);
  return index;
}

std::string MovieShelf::KeyOf(const Opened& opened, const std::string& path,
                              const RequestParams& params) {
  return opened.identity.movie + opened.identity.texts + "|" + path + QueryFor(params, "");
}

std::optional<Shelved> MovieShelf::KnownAs(const std::string& key) {
  Dropped dropped;
  const MutexLock lock(mutex_);
  const auto found =
      std::ranges::find_if(plans_, [&](const Plan& plan) { return plan.key == key; });
  if (found == plans_.end()) return std::nullopt;
  plans_.splice(plans_.begin(), plans_, found);
  ToFront(plans_.front().shelved.file, dropped);
  return plans_.front().shelved;
}

Result<std::optional<Shelved>> MovieShelf::Known(const std::string& path,
                                                 const RequestParams& params) {
  GOPMILL_ASSIGN_OR_RETURN(Opened opened, Open(path));
  LookBeside(path, opened);
  return KnownAs(KeyOf(opened, path, params));
}

bool MovieShelf::ReadsWhole(const std::string& path, const TargetRequest& request) {
  if (request.burn.value_or(0) > 0) return true;
  auto opened = Open(path);
  if (!opened.ok()) return true;
  LookBeside(path, *opened);
  const int audio_track = request.audio.first;
  if (kept_.Has(LastingIdentity(*opened), audio_track)) return false;
  const MutexLock lock(mutex_);
  return std::ranges::none_of(files_, [&](const auto& file) {
    return file->identity() == opened->identity && file->audio_track() == audio_track &&
           file->footprint_bytes() > 0;
  });
}

// By what the list has of it: the names in a folder are not read again for each of its movies.
bool MovieShelf::Keeps(const Library::Entry& listed) const {
  Opened same;
  same.movie = listed;
  same.identity.movie = IdentityOf(listed);
  std::vector<std::string> texts;
  for (const std::string& name : listed.subtitles) {
    texts.push_back(listed.path.substr(0, NameStart(listed.path)) + name);
  }
  AddTexts(texts, same);
  return kept_.Has(LastingIdentity(same), TargetRequest().audio.first);
}

Result<Shelved> MovieShelf::Get(const std::string& path, const SegmentRequest& request,
                                const RequestParams& params, const std::stop_token& stop) {
  GOPMILL_ASSIGN_OR_RETURN(Opened opened, Open(path));
  LookBeside(path, opened);
  const std::string key = KeyOf(opened, path, params);
  if (auto known = KnownAs(key)) return *std::move(known);
  const int audio_track = request.target.audio.first;
  Shelved shelved{.path = path, .file = File(path, opened.identity, audio_track), .movie = nullptr};
  GOPMILL_ASSIGN_OR_RETURN(auto index, IndexOf(shelved.file, std::move(opened), path, stop));
  std::shared_ptr<const SubtitleScript> script;
  if (const int number = request.target.burn.value_or(0); number > 0) {
    GOPMILL_ASSIGN_OR_RETURN(script, scripts_.Get(path, number, stop));
  }
  GOPMILL_ASSIGN_OR_RETURN(shelved.movie, PlanMovie(std::move(index), request, params,
                                                    shelved.file->identity(), std::move(script)));
  Keep({.key = key, .shelved = shelved});
  return shelved;
}

// Each of those is a plan of its own, since its index tells the times of its packets.
Result<std::vector<Shelved>> MovieShelf::Sounds(const Shelved& shelved, SegmentRequest request,
                                                const RequestParams& params,
                                                const std::stop_token& stop) {
  std::vector<Shelved> sounds;
  std::size_t others = 0;
  for (const AudioChoice& choice : shelved.movie->audio_choices) {
    sounds.push_back(choice.chosen ? shelved : Shelved{});
    if (choice.chosen || others == kMaxOtherSounds) continue;
    ++others;
    request.target.audio.first = choice.number;
    auto other = Get(shelved.path, request, WithSound(params, choice), stop);
    if (!other.ok()) {
      const Code code = other.error().code;
      if (code == Code::kUnsupported || code == Code::kCorrupt) continue;
      return other.error();
    }
    if (other->file->identity().movie != shelved.file->identity().movie) return Replaced();
    sounds.back() = std::move(other).value();
  }
  return sounds;
}

bool MovieShelf::KnowsSounds(const Shelved& shelved, const RequestParams& params) {
  std::size_t others = 0;
  return std::ranges::all_of(shelved.movie->audio_choices, [&](const AudioChoice& choice) {
    if (choice.chosen || others == kMaxOtherSounds) return true;
    ++others;
    const auto known = Known(shelved.path, WithSound(params, choice));
    return known.ok() && known->has_value();
  });
}

std::vector<MovieShelf::Unused> MovieShelf::TakeIdle(TimePoint time) {
  std::vector<Unused> idle;
  const MutexLock lock(mutex_);
  for (const auto& file : files_) {
    if (auto readers = file->TakeIdle(time); !readers.empty()) {
      idle.push_back({.path = file->path(), .readers = std::move(readers)});
    }
  }
  return idle;
}

std::vector<MovieShelf::Unused> MovieShelf::TakeUnshelved() {
  const MutexLock lock(mutex_);
  return std::exchange(unshelved_, {});
}

Result<std::unique_ptr<SegmentReader>> MovieShelf::Reader(const Shelved& movie,
                                                          const std::stop_token& stop) {
  if (auto reader = movie.file->TakeReader()) return reader;
  GOPMILL_ASSIGN_OR_RETURN(Opened opened, Open(movie.path));
  if (opened.identity.movie != movie.file->identity().movie) return Replaced();
  return SegmentReader::Open(std::move(opened.fd), movie.movie->index, stop);
}

}  // namespace gopmill
