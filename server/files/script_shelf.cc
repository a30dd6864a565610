// SPDX-License-Identifier: Apache-2.0
#include "server/files/script_shelf.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/files/movie_texts.h"

namespace gopmill {

std::string ScriptShelf::KeyOf(const std::string& path, int number) const {
  std::vector<std::string> names = library_.SubtitlesOf(path);
  names.push_back(path);
  std::string key = fmt::format("{}", number);
  for (const std::string& name : names) {
    const auto entry = library_.Find(name);
    if (!entry) continue;
    key += fmt::format("|{}:{}:{}:{}:{}", name, entry->device, entry->inode, entry->size_bytes,
                       entry->modified_ns);
  }
  return key;
}

Result<std::shared_ptr<const SubtitleScript>> ScriptShelf::Claim(const std::string& key,
                                                                 const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kTick{100};
  const MutexLock lock(mutex_);
  while (true) {
    const auto found = std::ranges::find(kept_, key, &Kept::key);
    if (found != kept_.end()) {
      kept_.splice(kept_.begin(), kept_, found);
      return found->script;
    }
    if (reading_.insert(key).second) return std::shared_ptr<const SubtitleScript>();
    if (stop.stop_requested()) return Cancelled();
    read_.WaitFor(mutex_, kTick);
  }
}

void ScriptShelf::Keep(Kept kept) {
  {
    const MutexLock lock(mutex_);
    reading_.erase(kept.key);
    if (kept.script) kept_.push_front(std::move(kept));
    std::size_t bytes = 0, count = 0;
    std::erase_if(kept_, [&](const Kept& each) {
      bytes += each.script->bytes();
      return ++count > kMaxKeptScripts || bytes > kMaxKeptScriptBytes;
    });
  }
  read_.NotifyAll();
}

Result<std::shared_ptr<const SubtitleScript>> ScriptShelf::Get(const std::string& path, int number,
                                                               const std::stop_token& stop) {
  const std::string key = KeyOf(path, number);
  GOPMILL_ASSIGN_OR_RETURN(auto kept, Claim(key, stop));
  if (kept) return kept;
  auto script = ReadScript([&] { return library_.OpenEntry(path); }, TextFilesOf(library_, path),
                           number, stop);
  Keep({.key = key, .script = script.ok() ? *script : nullptr});
  return script;
}

}  // namespace gopmill
