// SPDX-License-Identifier: Apache-2.0
#include "server/live/live_track.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gopmill {
namespace {

std::size_t SizeOf(const LiveKey& key) {
  const std::size_t coded = key.packet ? static_cast<std::size_t>((*key.packet)->size) : 0;
  return coded + (key.bytes ? key.bytes->size() : 0);
}

std::size_t SizeOf(const std::vector<LiveText>& texts) {
  std::size_t bytes = 0;
  for (const LiveText& text : texts) {
    bytes += (text.vtt ? text.vtt->size() : 0) + (text.ttml ? text.ttml->size() : 0);
  }
  return bytes;
}

std::size_t SizeOf(const LiveSegment& segment) {
  std::size_t bytes = segment.whole ? segment.whole->size() : 0;
  bytes += SizeOf(segment.key);
  if (segment.thumbnail && segment.thumbnail->ok()) bytes += segment.thumbnail->value()->size();
  for (const LivePart& part : segment.parts) {
    if (part.bytes != segment.whole) bytes += part.bytes->size();
  }
  return bytes + SizeOf(segment.texts);
}

// Of one part it is that part.
std::shared_ptr<const std::string> WholeOf(const std::vector<LivePart>& parts) {
  if (parts.size() == 1) return parts.front().bytes;
  auto whole = std::make_shared<std::string>();
  for (const LivePart& part : parts) whole->append(*part.bytes);
  return whole;
}

}  // namespace

void LiveTrack::Describe(SegmentTrack track, const CodedTrack& coded) {
  track_ = std::move(track);
  coded_ = coded;
  const bool sound = track_.mux.kind == TrackKind::kAudio && track_.mux.parameters;
  if (!sound || coded.sample_rate <= 0) return;
  longest_part_ = Rescale(track_.mux.parameters->frame_size, {1, coded.sample_rate},
                          track_.mux.time_base, Round::kUp);
}

void LiveTrack::Begin(LiveSegment segment) { segments_.push_back(std::move(segment)); }

void LiveTrack::Add(LivePart part) {
  LiveSegment& segment = segments_.back();
  segment.ticks += part.ticks;
  longest_part_ = std::max(longest_part_, part.ticks);
  bytes_ += part.bytes->size();
  segment.parts.push_back(std::move(part));
}

void LiveTrack::End(LiveKey key, std::vector<LiveText> texts) {
  LiveSegment& segment = segments_.back();
  bytes_ -= SizeOf(segment);
  segment.complete = true;
  segment.key = std::move(key);
  segment.texts = std::move(texts);
  if (!segment.parts.empty()) segment.whole = WholeOf(segment.parts);
  bytes_ += SizeOf(segment);
  if (segment.whole) measured_bps_ = std::max(measured_bps_, NewestBps());
  DropOldParts();
  Trim();
}

// Of the newest segments that are half a target duration long together (RFC 8216 section 4.1: rows
// of 0.5 to 1.5 of it).
std::int64_t LiveTrack::NewestBps() const {
  double bits = 0, seconds = 0;
  for (auto segment = segments_.rbegin();
       segment != segments_.rend() && seconds < 0.5 * window_.target_seconds; ++segment) {
    if (segment->whole == nullptr) break;
    bits += 8 * static_cast<double>(segment->whole->size());
    seconds += Seconds(segment->ticks);
  }
  return std::llround(bits / seconds + 0.5);
}

void LiveTrack::SetThumbnail(std::int64_t number, Result<std::shared_ptr<const std::string>> made,
                             TimePoint again) {
  if (Find(number) == nullptr) return;
  LiveSegment& segment = segments_[static_cast<std::size_t>(number - segments_.front().number)];
  bytes_ -= SizeOf(segment);
  segment.thumbnail = std::move(made);
  segment.thumbnail_again = again;
  bytes_ += SizeOf(segment);
}

void LiveTrack::DropOldParts() {
  const std::int64_t edge = segments_.back().end();
  for (LiveSegment& segment : segments_) {
    const double behind = Seconds(edge - segment.end());
    if (behind <= (kPartTargets + kPartGraceTargets) * window_.target_seconds) break;
    bytes_ -= SizeOf(segment);
    segment.parts.clear();
    bytes_ += SizeOf(segment);
  }
}

// RFC 8216 section 6.2.2: what stays listed is at least three target durations long, and what was
// listed can be had for another playlist's length and its own.
void LiveTrack::Trim() {
  const std::int64_t edge = segments_.back().end();
  const double least = 3.0 * window_.target_seconds;
  const double longest = std::max(window_.listed_seconds, least);
  for (const LiveSegment& segment : segments_) {
    if (segment.number < first_listed_) continue;
    if (Seconds(edge - segment.start) <= longest || Seconds(edge - segment.end()) < least) break;
    first_listed_ = segment.number + 1;
  }
  const auto forgotten = [&](const LiveSegment& segment) {
    return Seconds(edge - segment.end()) > 2 * longest + window_.target_seconds;
  };
  while (forgotten(segments_.front()) && DropOldest()) continue;
}

bool LiveTrack::DropOldest() {
  if (segments_.size() <= kFewestSegments) return false;
  bytes_ -= SizeOf(segments_.front());
  segments_.pop_front();
  first_listed_ = std::max(first_listed_, segments_.front().number);
  return true;
}

bool LiveTrack::parts_listed(const LiveSegment& segment) const {
  const std::int64_t behind = segments_.back().end() - segment.end();
  return Seconds(behind) <= kPartTargets * window_.target_seconds;
}

std::int64_t LiveTrack::key_average_bps() const {
  std::size_t bytes = 0;
  std::int64_t ticks = 0;
  for (const LiveSegment& segment : segments_) {
    if (!segment.key.bytes) continue;
    bytes += segment.key.bytes->size();
    ticks += segment.ticks;
  }
  return ticks > 0 ? std::llround(8 * static_cast<double>(bytes) / Seconds(ticks)) : 0;
}

const LiveSegment* LiveTrack::Find(std::int64_t number) const {
  if (segments_.empty() || number < segments_.front().number) return nullptr;
  const auto index = static_cast<std::size_t>(number - segments_.front().number);
  return index < segments_.size() ? &segments_[index] : nullptr;
}

std::int64_t LiveTrack::last_complete() const {
  if (segments_.empty()) return -1;
  const LiveSegment& newest = segments_.back();
  return newest.complete ? newest.number : newest.number - 1;
}

std::size_t LiveTrack::parts_behind() const {
  if (segments_.empty() || segments_.back().complete) return 0;
  return segments_.back().parts.size();
}

}  // namespace gopmill
