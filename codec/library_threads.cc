// SPDX-License-Identifier: Apache-2.0
#include "codec/library_threads.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace gopmill {
namespace {

constexpr const char* kTasks = "/proc/self/task";

// Of this process, ascending.
std::vector<int> ThreadIds() {
  std::vector<int> ids;
  std::error_code code;
  std::filesystem::directory_iterator at(kTasks, code);
  for (const std::filesystem::directory_iterator end; !code && at != end; at.increment(code)) {
    const std::string name = at->path().filename().string();
    int id = 0;
    std::from_chars(name.data(), name.data() + name.size(), id);
    ids.push_back(id);
  }
  std::ranges::sort(ids);
  return ids;
}

std::string NameFile(int id) { return std::string(kTasks) + "/" + std::to_string(id) + "/comm"; }

std::string NameOf(int id) {
  std::string name;
  std::getline(std::ifstream(NameFile(id)), name);
  return name;
}

// Gives the calling thread another name while it lives.
class ThreadName {
 public:
  explicit ThreadName(const std::string& name) {
    pthread_getname_np(pthread_self(), before_.data(), before_.size());
    pthread_setname_np(pthread_self(), name.c_str());
  }
  ~ThreadName() { pthread_setname_np(pthread_self(), before_.data()); }
  ThreadName(const ThreadName&) = delete;
  ThreadName& operator=(const ThreadName&) = delete;

  [[nodiscard]] const char* before() const { return before_.data(); }

 private:
  std::array<char, 16> before_{};
};

// The clock of any thread of the process, as the kernel numbers them (man 2 clock_getres, and
// MAKE_THREAD_CPUCLOCK there; pthread_getcpuclockid gives the same for a pthread_t).
clockid_t ClockOf(int id) {
  constexpr unsigned kOfThread = 4, kScheduled = 2;
  return static_cast<clockid_t>(~static_cast<unsigned>(id) << 3U | kOfThread | kScheduled);
}

}  // namespace

// Where they get fewer, SVT-AV1 (1.4, 16 of them) and x265 (3.5, one or two) wait for ever.
int ThreadsOfLibrary(VideoCodec codec) {
  switch (codec) {
    case VideoCodec::kAv1: return 20;
    case VideoCodec::kHevc: return 4;
    case VideoCodec::kH264:
    case VideoCodec::kVp9:
    case VideoCodec::kMpeg4: return 0;
  }
  return 0;
}

void LibraryThreads::Watch(const std::function<void()>& open) {
  const std::vector<int> before = ThreadIds();
  const std::string name = "open-" + std::to_string(gettid());
  const ThreadName renamed(name);
  open();
  ids_ = ThreadIds();
  std::erase_if(ids_, [&](int id) {
    return id == gettid() || std::ranges::binary_search(before, id) || NameOf(id) != name;
  });
  for (const int id : ids_) std::ofstream(NameFile(id)) << renamed.before();
}

Duration LibraryThreads::Cpu() const {
  Duration sum{};
  for (const int id : ids_) {
    timespec time{};
    if (clock_gettime(ClockOf(id), &time) != 0) continue;
    sum += std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }
  return sum;
}

}  // namespace gopmill
