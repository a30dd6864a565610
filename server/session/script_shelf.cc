// SPDX-License-Identifier: Apache-2.0
#include "server/session/script_shelf.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/session/movie_texts.h"

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

std::shared_ptr<const SubtitleScript> ScriptShelf::Find(const std::string& key) {
  const MutexLock lock(mutex_);
  const auto found = std::ranges::find(kept_, key, &Kept::key);
  if (found == kept_.end()) return nullptr;
  kept_.splice(kept_.begin(), kept_, found);
  return found->script;
}

void ScriptShelf::Keep(Kept kept) {
  const MutexLock lock(mutex_);
  std::erase_if(kept_, [&](const Kept& other) { return other.key == kept.key; });
  kept_.push_front(std::move(kept));
  std::size_t bytes = 0, count = 0;
  std::erase_if(kept_, [&](const Kept& each) {
    bytes += each.script->text.size();
    return ++count > kMaxKeptScripts || bytes > kMaxKeptScriptBytes;
  });
}

Result<std::shared_ptr<const SubtitleScript>> ScriptShelf::Get(const std::string& path, int number,
                                                               const std::stop_token& stop) {
  const std::string key = KeyOf(path, number);
  if (auto script = Find(key)) return script;
  const MutexLock reading(reading_);
  if (auto script = Find(key)) return script;
  GOPMILL_ASSIGN_OR_RETURN(auto script, ReadScript([&] { return library_.OpenEntry(path); },
                                                   TextFilesOf(library_, path), number, stop));
  Keep({.key = key, .script = script});
  return script;
}

}  // namespace gopmill
