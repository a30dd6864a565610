// SPDX-License-Identifier: Apache-2.0
//
// The part of SegmentService that reads movies to their end: for whoever asks first, while others
// who need the same wait for it without a thread.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/api/refusals.h"
#include "server/segments/segment_service.h"

namespace gopmill {

bool SegmentService::IsFirst(const std::string& key, Waiting& waiting) {
  {
    const MutexLock lock(mutex_);
    const auto [at, first] = parked_.try_emplace(key);
    if (first) return true;
    if (at->second.size() < kMaxWaitingForMovie) {
      at->second.push_back(std::move(waiting));
      return false;
    }
  }
  Reply(waiting, TooManyWait());
  return false;
}

std::vector<SegmentService::Waiting> SegmentService::Unpark(const std::string& key) {
  const MutexLock lock(mutex_);
  const auto entry = parked_.find(key);
  GOPMILL_CHECK(entry != parked_.end());
  std::vector<Waiting> parked = std::move(entry->second);
  parked_.erase(entry);
  return parked;
}

void SegmentService::ReadMovie(Waiting waiting, const Ask& ask) {
  const std::string path = waiting.request.path;
  const std::string key = path + '|' + std::to_string(ask.parsed.target.audio.first);
  if (!IsFirst(key, waiting)) return;
  const bool whole = shelf_.ReadsWhole(path, ask.parsed.target);
  AddTask(TaskPool::kReading,
          {.place = path,
           .run = [this, key, waiting = std::move(waiting), ask] { ReadFirst(key, waiting, ask); },
           .whole = whole});
}

void SegmentService::ReadFirst(const std::string& key, const Waiting& waiting, const Ask& ask) {
  const PartRequest& request = waiting.request;
  auto shelved = Left(waiting.ticket)
                     ? Result<Shelved>(Cancelled())
                     : shelf_.Get(request.path, ask.parsed, request.params, reading_.get_token());
  for (Waiting& other : Unpark(key)) {
    // Who asks for the same has the same answer; a client that left says nothing about the movie.
    const bool same = !shelved.ok() && shelved.error().code != Code::kCancelled &&
                      other.request.params == request.params;
    if (same) {
      Reply(other, shelved.error());
    } else {
      AddTask(TaskPool::kAnswering, AnswerTask(other));
    }
  }
  if (!shelved.ok()) return Reply(waiting, shelved.error());
  AnswerFrom(*shelved, waiting, ask);
}

// A manifest tells the times of all sound tracks, each of which is an index of the movie.
void SegmentService::AnswerManifest(const Shelved& movie, Waiting waiting, const Ask& ask) {
  if (shelf_.KnowsSounds(movie, waiting.request.params)) {
    const auto sounds = SoundsOf(movie, waiting, ask);
    return sounds.ok() ? AnswerText(movie, waiting, ask, *sounds) : Reply(waiting, sounds.error());
  }
  const FileIdentity& file = movie.file->identity();
  const std::string key = movie.path + "|sounds|" + file.movie + file.texts;
  if (!IsFirst(key, waiting)) return;
  AddTask(TaskPool::kReading, {.place = movie.path,
                               .run = [this, key, movie, waiting = std::move(waiting),
                                       ask] { ReadSounds(key, movie, waiting, ask); },
                               .whole = true});
}

void SegmentService::ReadSounds(const std::string& key, const Shelved& movie,
                                const Waiting& waiting, const Ask& ask) {
  const auto sounds = Left(waiting.ticket) ? Result<std::vector<SoundOf>>(Cancelled())
                                           : SoundsOf(movie, waiting, ask);
  const bool left = !sounds.ok() && sounds.error().code == Code::kCancelled;
  std::vector<Waiting> same{waiting};
  for (Waiting& other : Unpark(key)) {
    if (!left && other.request.params == waiting.request.params) {
      same.push_back(std::move(other));
    } else {
      AddTask(TaskPool::kAnswering, AnswerTask(other));
    }
  }
  // Not looked at again: a track that cannot be played is never known. One text for all of them.
  const Result<MediaPart> part =
      sounds.ok() ? TextPart(*movie.movie, ask.name, *sounds) : Result<MediaPart>(sounds.error());
  for (const Waiting& each : same) ReplyText(each, ask, part);
}

Result<std::vector<SoundOf>> SegmentService::SoundsOf(const Shelved& movie, const Waiting& waiting,
                                                      const Ask& ask) {
  GOPMILL_ASSIGN_OR_RETURN(
      const auto found,
      shelf_.Sounds(movie, ask.parsed, waiting.request.params, reading_.get_token()));
  std::vector<SoundOf> sounds;
  for (const Shelved& sound : found) sounds.push_back(sound.movie);
  return sounds;
}

}  // namespace gopmill
