// SPDX-License-Identifier: Apache-2.0
//
// The segments that are being made, and who waits for each. Requests for the same one share a
// Making; one that nobody waits for any more leaves the table at once, so that who asks from then
// on gets a new one, while its job may still be out: with a worker, or waiting for one.
//
// Bounded by Join: what is in the table, that of one folder, and that with the jobs that were given
// up. Pure: no lock, no thread; nothing is called back.
//
// Thread-safety: compatible; SegmentService guards it. The stop of a Making may be asked for its
// state by any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "server/api/service.h"
#include "server/segments/segment_tasks.h"

namespace gopmill {

// Segments being made at once, queued ones included; those of movies of one folder at the library's
// top; and those with the jobs that nobody waits for any more, which have their packets until their
// turn comes. More are refused (kUnavailable).
inline constexpr std::size_t kMaxSegmentsMaking = 64, kMaxMakingInFolder = 48;
inline constexpr std::size_t kMaxSegmentJobs = 128;

// One request that waits for a segment.
struct SegmentWaiter {
  PartTicket ticket = 0;
  PartCallback done;
  MediaPart part;  // without its bytes
};

// One transcode and all who wait for it.
struct Making {
  std::vector<SegmentWaiter> waiters;
  std::stop_source stop;            // asked for when all have left
  std::uint16_t service_class = 0;  // of the first who asked
  std::string movie;
  std::string part;        // path and name, for the log
  std::int64_t bytes = 0;  // of its packets; set before its job is out
};

class MakingTable {
 public:
  struct Joined {
    std::shared_ptr<Making> making;
    bool first = false;  // it has just been put into the table: who joined has to make it
  };
  // Puts a request to those who wait for the segment of this key. `request` and `service_class` are
  // for a new one. Nothing where there is none and no room for one.
  std::optional<Joined> Join(const std::string& key, SegmentWaiter waiter,
                             const PartRequest& request, std::uint16_t service_class);

  struct Leaving {
    bool waited = false;  // it was one of those who wait
    // The segment that nobody waits for any more, if so: out of the table and told to stop.
    std::shared_ptr<const Making> given_up;
  };
  Leaving Leave(PartTicket ticket);

  // Takes the segment out, if it still is in the table, and those who wait for it: they are to be
  // answered.
  std::vector<SegmentWaiter> Finish(const std::string& key, Making& making);

  // Its job is with the scheduler, from here to JobEnded.
  void JobOut(std::shared_ptr<const Making> making) { jobs_out_.insert(std::move(making)); }
  void JobEnded(const std::shared_ptr<const Making>& making) { jobs_out_.erase(making); }
  [[nodiscard]] const std::set<std::shared_ptr<const Making>>& jobs_out() const {
    return jobs_out_;
  }
  // Of the packets of these, also of those that nobody waits for any more.
  [[nodiscard]] PacketBytes bytes_out() const;

  // Tells all to stop; they stay, as they have to be finished.
  void StopAll();
  [[nodiscard]] std::size_t size() const { return making_.size(); }

 private:
  [[nodiscard]] bool HasRoomFor(const std::string& path) const;

  std::map<std::string, std::shared_ptr<Making>> making_;  // by key
  std::set<std::shared_ptr<const Making>> jobs_out_;       // have not ended
};

}  // namespace gopmill
