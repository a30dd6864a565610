// SPDX-License-Identifier: Apache-2.0
#include "server/live/live_hub.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/dump_json.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/utc_time.h"
#include "media/ingest.h"
#include "server/stream/plan_json.h"

namespace gopmill {
namespace {

using nlohmann::ordered_json;

ordered_json CountsJson(const LiveCounts& counts) {
  return {{"publishers", counts.publishers},
          {"packets", counts.packets},
          {"bytes", counts.bytes},
          {"packets_lost", counts.lost},
          {"packets_damaged", counts.damaged},
          {"timestamps_repaired", counts.repaired},
          {"format_changes", counts.format_changes},
          {"clock_drift_ms", counts.clock_drift_ms},
          {"dropped_gops", counts.dropped_gops},
          {"dropped_packets", counts.dropped_packets},
          {"dropped_cues", counts.dropped_cues}};
}

void Add(LiveCounts& sum, const LiveCounts& counts) {
  sum.publishers += counts.publishers;
  sum.packets += counts.packets;
  sum.bytes += counts.bytes;
  sum.lost += counts.lost;
  sum.damaged += counts.damaged;
  sum.repaired += counts.repaired;
  sum.format_changes += counts.format_changes;
  sum.dropped_gops += counts.dropped_gops;
  sum.dropped_packets += counts.dropped_packets;
  sum.dropped_cues += counts.dropped_cues;
}

// What one publisher brought, from before it came until it had gone.
LiveCounts Between(const LiveCounts& before, LiveCounts after) {
  after.publishers -= before.publishers;
  after.packets -= before.packets;
  after.bytes -= before.bytes;
  after.lost -= before.lost;
  after.damaged -= before.damaged;
  after.repaired -= before.repaired;
  after.format_changes -= before.format_changes;
  after.dropped_gops -= before.dropped_gops;
  after.dropped_packets -= before.dropped_packets;
  after.dropped_cues -= before.dropped_cues;
  return after;
}

void AddPull(ordered_json& json, const PullState& pull) {
  json["pull"] = Name(pull.phase);
  json["since"] = UtcSeconds(pull.since);
  json["attempts"] = pull.attempts;
  json["failures"] = pull.failures;
  if (!pull.last_error.empty()) json["last_error"] = pull.last_error;
}

Error NotReadOn(std::int64_t packets) {
  return {.code = Code::kCorrupt,
          .message = "The stream could not be read on behind its first " + std::to_string(packets) +
                     " packets: what comes there is damaged, or another stream."};
}

// `before`: counts without this publisher's.
Status ReadPublisher(LiveSource& live, LiveSource::Claim claim, const LiveCounts& before,
                     const PacketSourceOpener& open, const std::stop_token& stop) {
  GOPMILL_ASSIGN_OR_RETURN(auto source, open(stop));
  bool any_picture = false;
  while (true) {
    GOPMILL_ASSIGN_OR_RETURN(const bool pictures, live.Run(claim, *source));
    any_picture = any_picture || pictures;
    GOPMILL_ASSIGN_OR_RETURN(auto next, source->Successor());
    if (next == nullptr) break;
    source = std::move(next);
  }
  if (!any_picture) return NoPicture(*source->info());
  if (source->truncated()) return NotReadOn(live.counts().packets - before.packets);
  return OkStatus();
}

}  // namespace

LiveHub::~LiveHub() { Stop(); }

Status LiveHub::Publish(const std::string& name, const std::string& from, PacketSourceOpener open,
                        Done done, Takeover takeover) {
  const MutexLock lock(mutex_);
  Reap();
  GOPMILL_RETURN_IF_ERROR(CheckRoom());
  GOPMILL_ASSIGN_OR_RETURN(const auto live, FindLocked(name));
  const LiveCounts before = live->counts();
  GOPMILL_ASSIGN_OR_RETURN(const auto claim, live->Acquire(Replaces(takeover)));
  for (Publisher& other : publishers_) {
    if (other.live == live) other.stop.request_stop();
  }
  Publisher& publisher = publishers_.emplace_back();
  publisher.live = live;
  const auto run = [&publisher, live, claim, before, name, from, open = std::move(open),
                    done = std::move(done)] {
    spdlog::info("live {}: a publisher has come ({})", name, from);
    Status status = ReadPublisher(*live, claim, before, open, publisher.stop.get_token());
    if (Status released = live->Release(claim); !released.ok()) status = std::move(released);
    spdlog::info("live {}: the publisher has gone ({}){}", name, from,
                 status.ok() ? "" : ": " + status.error().ToString());
    if (status.ok()) {
      const LiveCounts counts = Between(before, live->counts());
      done(DumpJson(ordered_json{{"name", name}, {"counts", CountsJson(counts)}}, 2));
    } else {
      done(status.error());
    }
    publisher.over = true;
  };
  auto thread = StartThread(run);
  if (!thread.ok()) {
    publishers_.pop_back();
    static_cast<void>(live->Release(claim));
    return thread.error();
  }
  publisher.thread = *std::move(thread);
  return OkStatus();
}

bool LiveHub::Replaces(Takeover takeover) const {
  return options_.replace && takeover == Takeover::kAsSet;
}

Status LiveHub::CheckRoom() const {
  if (stopping_) return ShuttingDown();
  const auto here = std::ranges::count_if(
      publishers_, [](const Publisher& publisher) { return !publisher.over.load(); });
  if (static_cast<std::size_t>(here) < kMaxPublishers) return OkStatus();
  return Error{.code = Code::kUnavailable,
               .message = "No more publishers are taken now; the limit is " +
                          std::to_string(kMaxPublishers) + "."};
}

Status LiveHub::CheckPublish(const std::string& name, Takeover takeover) const {
  GOPMILL_RETURN_IF_ERROR(CheckLiveName(name));
  const MutexLock lock(mutex_);
  GOPMILL_RETURN_IF_ERROR(CheckRoom());
  const auto found = sources_.find(name);
  return found == sources_.end() ? OkStatus() : found->second->CheckFree(Replaces(takeover));
}

void LiveHub::Configure(const LiveOptions& options) {
  const MutexLock lock(mutex_);
  options_ = options;
}

void LiveHub::Reap() {
  std::erase_if(publishers_, [](const Publisher& publisher) { return publisher.over.load(); });
}

Result<std::shared_ptr<LiveSource>> LiveHub::Find(const std::string& name) {
  const MutexLock lock(mutex_);
  return FindLocked(name);
}

Result<std::shared_ptr<LiveSource>> LiveHub::FindLocked(const std::string& name) {
  GOPMILL_RETURN_IF_ERROR(CheckLiveName(name));
  const auto found = sources_.find(name);
  if (found != sources_.end()) return found->second;
  if (sources_.size() >= kMaxLiveNames) {
    // Not std::erase_if: the analysis of locks does not follow into a lambda.
    for (auto source = sources_.begin(); source != sources_.end();) {
      const LiveSource& live = *source->second;
      if (live.publishing() || live.wanted() || live.pull()) {
        ++source;
        continue;
      }
      Add(forgotten_, source->second->counts());
      source = sources_.erase(source);
    }
  }
  if (sources_.size() >= kMaxLiveNames) {
    return Error{.code = Code::kUnavailable, .message = "There are too many live sources."};
  }
  return sources_[name] = std::make_shared<LiveSource>(options_.patience);
}

void LiveHub::SetPull(const std::string& name, PullState state) {
  const MutexLock lock(mutex_);
  const auto source = FindLocked(name);
  if (source.ok()) (*source)->SetPull(std::move(state));
}

bool LiveHub::Wanted(const std::string& name) const {
  const MutexLock lock(mutex_);
  const auto found = sources_.find(name);
  return found != sources_.end() && found->second->wanted();
}

std::string LiveHub::Json() const {
  ordered_json list = ordered_json::array();
  const MutexLock lock(mutex_);
  for (const auto& [name, source] : sources_) {
    const auto pull = source->pull();
    if (!source->publishing() && source->readers() == 0 && !pull) continue;
    ordered_json json{{"name", name},
                      {"path", std::string(kLivePrefix) + name},
                      {"publishing", source->publishing()},
                      {"readers", source->readers()},
                      {"counts", CountsJson(source->counts())}};
    if (pull) AddPull(json, *pull);
    if (const auto info = source->info()) json["source"] = SourceJson(*info);
    list.push_back(std::move(json));
  }
  return DumpJson(ordered_json{{"live", std::move(list)}}, 2);
}

LiveTotals LiveHub::Totals() const {
  LiveTotals totals;
  const MutexLock lock(mutex_);
  totals.counts = forgotten_;
  for (const auto& [name, source] : sources_) {
    const LiveCounts counts = source->counts();
    totals.publishing += source->publishing() ? 1 : 0;
    totals.readers += source->readers();
    Add(totals.counts, counts);
    if (const auto pull = source->pull()) totals.pull_failures[name] = pull->failures;
  }
  return totals;
}

void LiveHub::Stop() {
  std::list<Publisher> leaving;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    leaving.swap(publishers_);
  }
  for (Publisher& publisher : leaving) publisher.stop.request_stop();
}

}  // namespace gopmill
