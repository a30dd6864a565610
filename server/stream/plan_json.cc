// SPDX-License-Identifier: Apache-2.0
#include "server/stream/plan_json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace gopmill {
namespace {

using nlohmann::ordered_json;

double Seconds(Rational value) { return std::round(value.ToDouble() * 1000.0) / 1000.0; }

ordered_json RateJson(const Target& target) {
  ordered_json json;
  switch (target.rate_mode) {
    case RateMode::kBitrate: json["bitrate"] = target.bitrate; break;
    case RateMode::kCrf: json["crf"] = target.crf; break;
    case RateMode::kQp: json["qp"] = target.qp; break;
  }
  if (target.maxrate > 0) {
    json["maxrate"] = target.maxrate;
    json["bufsize"] = target.bufsize;
  }
  return json;
}

// Empty where it is copied.
ordered_json SoundJson(const SoundTarget& sound) {
  if (sound == SoundTarget{}) return ordered_json::object();
  return {{"abitrate", sound.abitrate},
          {"channels", sound.channels},
          {"sample_rate", sound.sample_rate}};
}

}  // namespace

std::string FractionText(Rational value) {
  return value.den == 1 ? fmt::to_string(value.num) : fmt::format("{}/{}", value.num, value.den);
}

ordered_json TargetJson(const Target& target) {
  ordered_json json{{"width", target.width},
                    {"height", target.height},
                    {"fit", Name(target.fit)},
                    {"fps", FractionText(target.fps)},
                    {"vcodec", Name(target.vcodec)},
                    {"preset", Name(target.preset)},
                    {"quality", Name(target.quality)},
                    {"container", Name(target.container)},
                    {"bframes", target.b_frames ? "on" : "off"},
                    {"rotate", target.rotate},
                    {"deinterlace", Name(target.deinterlace)},
                    {"denoise", Name(target.denoise)},
                    {"degrain", Name(target.degrain)},
                    {"acodec", Name(target.acodec)}};
  if (target.profile != Profile::kAuto) json["profile"] = Name(target.profile);
  if (!target.service_class.empty()) json["class"] = target.service_class;
  json.update(RateJson(target));
  if (target.acodec == AudioCodec::kAac || target.acodec == AudioCodec::kOpus) {
    json["abitrate"] = target.abitrate;
    json["channels"] = target.channels;
    json["sample_rate"] = target.sample_rate;
  }
  for (const SoundTarget& sound : target.more_sounds)
    json["more_sounds"].push_back(SoundJson(sound));
  if (target.burn > 0) json["burn"] = target.burn;
  if (target.subtitles == Subtitles::kCopy) json["subtitles"] = Name(target.subtitles);
  if (target.start.num > 0) json["start_s"] = Seconds(target.start);
  if (target.duration.valid()) json["duration_s"] = Seconds(target.duration);
  return json;
}

ordered_json AdjustmentsJson(const std::vector<Adjustment>& adjustments) {
  ordered_json list = ordered_json::array();
  for (const Adjustment& a : adjustments) {
    list.push_back(
        {{"parameter", a.parameter}, {"asked", a.asked}, {"given", a.given}, {"reason", a.reason}});
  }
  return list;
}

namespace {

ordered_json AudioJson(const AudioInfo& audio) {
  return {{"codec", audio.codec},
          {"channels", audio.channels},
          {"sample_rate", audio.sample_rate},
          {"bitrate", audio.bitrate},
          {"language", audio.language},
          {"title", audio.title},
          {"default", audio.is_default}};
}

}  // namespace

ordered_json SubtitlesJson(const SubtitleTrack& track) {
  return {{"codec", track.codec},   {"language", track.language},
          {"title", track.title},   {"default", track.is_default},
          {"forced", track.forced}, {"pictures", track.of_pictures}};
}

ordered_json SourceJson(const SourceInfo& source) {
  const VideoInfo& video = source.video;
  ordered_json json{{"size_bytes", source.size_bytes}, {"container", source.container}};
  if (const std::string title = TagText(source.tags.Text("title")); !title.empty()) {
    json["title"] = title;
  }
  json["duration_s"] =
      source.duration.valid() ? ordered_json(Seconds(source.duration)) : ordered_json();
  json["video"] = {{"codec", video.codec},
                   {"width", video.width},
                   {"height", video.height},
                   {"sample_aspect", FractionText(video.sample_aspect)},
                   {"rotation", video.rotation},
                   {"fps", Seconds(video.fps)},
                   {"fps_exact", FractionText(video.fps)},
                   {"variable_fps", video.variable_fps},
                   {"bit_depth", video.bit_depth},
                   {"interlaced", video.interlaced},
                   {"captions", video.captions},
                   {"bitrate", video.bitrate}};
  json["audio"] = nullptr;
  if (source.audio) {
    json["audio"] = AudioJson(*source.audio);
  }
  for (const AudioInfo& track : source.more_audio) {
    json["more_audio"].push_back(AudioJson(track));
  }
  json["audio_tracks"] = ordered_json::array();
  for (const AudioInfo& track : source.audio_tracks) {
    json["audio_tracks"].push_back(AudioJson(track));
  }
  if (!source.unusable_audio.empty()) json["unusable_audio"] = source.unusable_audio;
  json["subtitles"] = ordered_json::array();
  for (const SubtitleTrack& track : source.subtitles) {
    json["subtitles"].push_back(SubtitlesJson(track));
  }
  if (!source.tags.chapters.empty()) json["chapters"] = source.tags.chapters.size();
  return json;
}

ordered_json SchedulerJson(const SchedulerStats& stats) {
  ordered_json workers = ordered_json::array();
  for (const WorkerStats& worker : stats.workers) {
    workers.push_back({{"worker", worker.worker.value},
                       {"pu", worker.pu_os_index},
                       {"pinned", worker.pinned},
                       {"busy_s", ToSeconds(worker.busy)},
                       {"units_done", worker.jobs_done},
                       {"queued_units", worker.queued_units},
                       {"queued_bytes", worker.queued_bytes}});
  }
  return {{"workers", std::move(workers)},
          {"waiting_units", stats.waiting_units},
          {"waiting_bytes", stats.waiting_bytes},
          {"submitted", stats.submitted},
          {"assigned", stats.assigned},
          {"assigned_elsewhere", stats.assigned_elsewhere},
          {"disruption", stats.Disruption()},
          {"retries", stats.retries},
          {"cancelled", stats.cancelled},
          {"decisions", stats.decisions},
          {"decision_ms", ToMillis(stats.decision_time)},
          {"overhead", stats.Overhead()}};
}

ordered_json CacheJson(const CacheStats& stats) {
  const auto kind = [](std::int64_t hits, std::int64_t misses) {
    return ordered_json{{"hits", hits}, {"misses", misses}};
  };
  return {{"decoder", kind(stats.decoder_hits, stats.decoder_misses)},
          {"filter", kind(stats.filter_hits, stats.filter_misses)},
          {"encoder", kind(stats.encoder_hits, stats.encoder_misses)},
          {"bytes", stats.bytes}};
}

}  // namespace gopmill
