// SPDX-License-Identifier: Apache-2.0
#include "server/service/service_metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <utility>
#include <vector>

#include "base/contained.h"
#include "server/stream/build_identity.h"

namespace gopmill {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

// Collects families of plain values; every number is read at scrape time, so no counter objects
// live in the engine.
class Families {
 public:
  using Labels = std::vector<ClientMetric::Label>;

  void Counter(const std::string& name, const std::string& help, double value, Labels labels = {}) {
    Add(name, help, MetricType::Counter, value, std::move(labels));
  }
  void Gauge(const std::string& name, const std::string& help, double value, Labels labels = {}) {
    Add(name, help, MetricType::Gauge, value, std::move(labels));
  }
  [[nodiscard]] std::string Text() const {
    return prometheus::TextSerializer().Serialize(families_);
  }

 private:
  void Add(const std::string& name, const std::string& help, MetricType type, double value,
           Labels labels) {
    if (families_.empty() || families_.back().name != name) {
      families_.push_back({.name = name, .help = help, .type = type, .metric = {}});
    }
    ClientMetric metric;
    metric.label = std::move(labels);
    if (type == MetricType::Counter) {
      metric.counter.value = value;
    } else {
      metric.gauge.value = value;
    }
    families_.back().metric.push_back(std::move(metric));
  }

  std::vector<MetricFamily> families_;
};

template <class T>
double Number(T value) {
  return static_cast<double>(value);
}

void AddStreams(Families& f, const ServiceMetrics& m) {
  const StreamTotals& t = m.totals;
  f.Gauge("gopmill_streams_running", "Streams being served now.", m.streams_running);
  const std::string ended = "gopmill_streams_ended_total";
  f.Counter(ended, "Streams that have ended, by how.", Number(t.done), {{"state", "done"}});
  f.Counter(ended, "", Number(t.failed), {{"state", "failed"}});
  f.Counter(ended, "", Number(t.cancelled), {{"state", "cancelled"}});
  f.Counter("gopmill_streams_refused_total",
            "Streams refused: too many, or a promise would be broken.", Number(t.refused));
  f.Counter("gopmill_units_total", "Units transcoded.", Number(t.units));
  f.Counter("gopmill_units_reordered_total",
            "Units that finished after a later one of their stream (RFC 4737).",
            Number(t.reordered_units));
  f.Counter("gopmill_units_away_from_home_total", "Units that ran off their stream's home worker.",
            Number(t.away_from_home_units));
  f.Counter("gopmill_units_decoded_elsewhere_total",
            "Units that another rendition of the same live source has decoded.",
            Number(t.decoded_elsewhere));
  f.Counter("gopmill_unit_retries_total", "Units worked on a second time.", Number(t.retries));
  f.Counter("gopmill_frames_total", "Frames muxed.", Number(t.frames));
  f.Counter("gopmill_output_bytes_total",
            "Container bytes made; coded bytes where readers share a stream.", Number(t.bytes));
  f.Counter("gopmill_source_video_bytes_total", "Compressed video taken in.",
            Number(t.source_bytes));
  f.Counter("gopmill_frames_concealed_total", "Frames made up for damaged ones.",
            Number(t.concealed));
  f.Counter("gopmill_frames_patched_total",
            "Frames that show a picture in which the decoder made up parts.", Number(t.patched));
  f.Counter(
      "gopmill_decoders_left_behind_total",
      "Decoders and readers that failed an assertion of FFmpeg; their memory is not given back.",
      LeftBehind());
  f.Counter("gopmill_damaged_packets_total", "Source packets that could not be decoded.",
            Number(t.damaged));
  f.Counter("gopmill_rate_corrections_total",
            "Units passed over again to satisfy the VBV or to meet their rate.",
            Number(t.rate_corrections));
  for (std::size_t i = 1; i < kEfforts; ++i) {
    f.Counter("gopmill_degraded_units_total",
              "Units of live streams that a busy machine made with less effort.",
              Number(t.units_by_effort[i]), {{"effort", kEffortNames[i]}});
  }
  f.Counter("gopmill_seams_total", "Joins of units that were checked.", Number(t.seams));
  f.Counter("gopmill_seam_violations_total",
            "Faults the checks found: frames, times, parameter sets, VBV, sound.",
            Number(t.seam_violations));
  f.Gauge("gopmill_jitter_worst_seconds", "Largest RFC 3550 jitter among running streams.",
          m.worst_jitter_ms / 1000);
}

void AddStages(Families& f, const StageTimes& s) {
  const std::string name = "gopmill_stage_seconds_total";
  const std::string help = "Time that units spent in each stage of their life.";
  const auto stage = [&](const char* label, Duration time) {
    f.Counter(name, help, ToSeconds(time), {{"stage", label}});
  };
  stage("rate_wait", s.rate_wait);
  stage("global_wait", s.global_wait);
  stage("schedule", s.schedule);
  stage("run_wait", s.run_wait);
  stage("decode", s.decode);
  stage("filter", s.filter);
  stage("encode", s.encode);
  stage("reorder_wait", s.reorder_wait);
  stage("mux_send", s.mux_send);
  f.Counter("gopmill_worker_cpu_seconds_total",
            "CPU time of workers in units, and of their encoders.", ToSeconds(s.cpu + s.analysis));
}

void AddScheduler(Families& f, const SchedulerStats& s) {
  for (const WorkerStats& w : s.workers) {
    const Families::Labels labels{{"worker", std::to_string(w.worker.value)},
                                  {"pu", std::to_string(w.pu_os_index)}};
    f.Counter("gopmill_worker_busy_seconds_total", "Time inside units, per worker.",
              ToSeconds(w.busy), labels);
  }
  for (const WorkerStats& w : s.workers) {
    f.Gauge("gopmill_worker_queued_bytes", "Compressed bytes in the run queue.",
            Number(w.queued_bytes), {{"worker", std::to_string(w.worker.value)}});
  }
  for (const WorkerStats& w : s.workers) {
    f.Gauge("gopmill_worker_pinned", "1 when the worker's affinity mask was read back as set.",
            w.pinned ? 1 : 0, {{"worker", std::to_string(w.worker.value)}});
  }
  for (const WorkerStats& w : s.workers) {
    f.Gauge("gopmill_worker_in_service", "1 while the worker is given units.", w.in_service ? 1 : 0,
            {{"worker", std::to_string(w.worker.value)}});
  }
  for (const ClassStats& c : s.classes) {
    f.Counter("gopmill_class_served_seconds_total", "Worker time that the class got.",
              ToSeconds(c.served), {{"class", c.name}});
  }
  for (const ClassStats& c : s.classes) {
    f.Gauge("gopmill_class_waiting_units", "Units of the class in the global queue.",
            Number(c.waiting_units), {{"class", c.name}});
  }
  f.Gauge("gopmill_queue_units", "Units in the global queue.", Number(s.waiting_units));
  f.Gauge("gopmill_queue_bytes", "Compressed bytes in the global queue.", Number(s.waiting_bytes));
  f.Counter("gopmill_decisions_total", "Calls of the scheduling policy.", Number(s.decisions));
  f.Counter("gopmill_decision_seconds_total", "Time inside the policy.",
            ToSeconds(s.decision_time));
}

void AddCache(Families& f, const CacheStats& c) {
  const std::string name = "gopmill_context_cache_total";
  const std::string help = "Codec contexts taken from the workers' caches, by kind and result.";
  const auto kind = [&](const char* label, std::int64_t hits, std::int64_t misses) {
    f.Counter(name, help, Number(hits), {{"kind", label}, {"result", "hit"}});
    f.Counter(name, help, Number(misses), {{"kind", label}, {"result", "miss"}});
  };
  kind("decoder", c.decoder_hits, c.decoder_misses);
  kind("filter", c.filter_hits, c.filter_misses);
  kind("encoder", c.encoder_hits, c.encoder_misses);
  f.Gauge("gopmill_context_cache_bytes", "Estimated memory of kept contexts.", Number(c.bytes));
}

void AddLive(Families& f, const LiveTotals& l) {
  f.Gauge("gopmill_live_publishers", "Live sources with a publisher.", Number(l.publishing));
  f.Gauge("gopmill_live_readers", "Streams that read live sources.", Number(l.readers));
  f.Counter("gopmill_live_publishers_total", "Publishers accepted.", Number(l.counts.publishers));
  f.Counter("gopmill_live_received_bytes_total", "Coded bytes of live sources.",
            Number(l.counts.bytes));
  f.Counter("gopmill_live_lost_packets_total", "RTP packets of live sources that never came.",
            Number(l.counts.lost));
  f.Counter("gopmill_live_damaged_packets_total",
            "Packets of live transport streams of which a part never came.",
            Number(l.counts.damaged));
  f.Counter("gopmill_live_timestamps_repaired_total", "Timestamps of live sources put right.",
            Number(l.counts.repaired));
  f.Counter("gopmill_live_format_changes_total",
            "Times that a live source went on with another codec, size or number of sounds.",
            Number(l.counts.format_changes));
  f.Counter("gopmill_live_dropped_gops_total", "GOPs dropped before readers that do not keep up.",
            Number(l.counts.dropped_gops));
  f.Counter("gopmill_live_dropped_packets_total", "The packets in them.",
            Number(l.counts.dropped_packets));
  f.Counter("gopmill_live_dropped_cues_total",
            "Cues of live text beyond the limits of a presentation.",
            Number(l.counts.dropped_cues));
  for (const auto& [name, failures] : l.pull_failures) {
    f.Counter("gopmill_pull_failures_total", "Attempts to fetch a source that failed, and breaks.",
              Number(failures), {{"name", name}});
  }
}

void AddFanouts(Families& f, const FanoutStats& s) {
  f.Gauge("gopmill_shared_readers", "Readers of streams that several may share.",
          Number(s.readers));
  f.Counter("gopmill_shared_dropped_gops_total", "GOPs dropped for readers that lag behind.",
            Number(s.dropped_gops));
  f.Counter("gopmill_shared_output_bytes_total", "Container bytes for these readers.",
            Number(s.bytes));
}

void AddLiveSegments(Families& f, const LiveSegmentStats& s) {
  f.Gauge("gopmill_live_presentations", "Live sources in segments, by set of renditions.",
          Number(s.presentations));
  f.Counter("gopmill_live_presentations_total", "Presentations started.", Number(s.started));
  f.Gauge("gopmill_live_segment_bytes", "Segments of live sources in memory.", Number(s.bytes));
  f.Gauge("gopmill_live_waiting_requests", "Requests that wait for a playlist or part.",
          Number(s.waiting));
  const std::string requests = "gopmill_live_requests_total";
  f.Counter(requests, "Requests for parts of live presentations, by what became of them.",
            Number(s.answered), {{"result", "answered"}});
  f.Counter(requests, "", Number(s.refused), {{"result", "refused"}});
  f.Counter(requests, "", Number(s.timeouts), {{"result", "timeout"}});
  f.Counter("gopmill_live_thumbnails_total", "Thumbnails made of segments of live sources.",
            Number(s.thumbnails));
}

void AddDiskCache(Families& f, const DiskCacheStats& stats, const std::string& name,
                  const std::string& counted, const std::string& space) {
  const std::string total = name + "_total";
  f.Counter(total, counted, Number(stats.hits), {{"result", "hit"}});
  f.Counter(total, "", Number(stats.misses), {{"result", "miss"}});
  f.Counter(total, "", Number(stats.stored), {{"result", "stored"}});
  f.Counter(total, "", Number(stats.evicted), {{"result", "evicted"}});
  f.Counter(total, "", Number(stats.failed), {{"result", "failed"}});
  f.Gauge(name + "_bytes", space, Number(stats.bytes));
}

void AddSegments(Families& f, const SegmentStats& s) {
  const std::string parts = "gopmill_parts_total";
  f.Counter(parts, "Parts of HLS and DASH presentations answered, by kind.", Number(s.playlists),
            {{"kind", "playlist"}});
  f.Counter(parts, "", Number(s.segments), {{"kind", "segment"}});
  f.Counter(parts, "", Number(s.not_modified), {{"kind", "not_modified"}});
  f.Counter(parts, "", Number(s.failed), {{"kind", "failed"}});
  f.Counter(parts, "", Number(s.cancelled), {{"kind", "cancelled"}});
  f.Counter("gopmill_segments_made_total", "Segments transcoded.", Number(s.made));
  f.Counter("gopmill_segments_gone_on_total", "Segments decoded from where the one before ended.",
            Number(s.went_on));
  f.Counter("gopmill_segments_shared_total", "Requests that joined a transcode under way.",
            Number(s.shared));
  f.Counter("gopmill_segments_frames_concealed_total",
            "Pictures made up in segments because the source gave none.", Number(s.concealed));
  f.Counter("gopmill_segments_frames_patched_total",
            "Pictures in segments in which the decoder made up parts.", Number(s.patched));
  f.Gauge("gopmill_segments_making", "Segments being transcoded.", Number(s.making));
  f.Gauge("gopmill_segments_run_bytes",
          "Estimated memory of decoders that wait for the next segment.", Number(s.run_bytes));
  AddDiskCache(f, s.cache, "gopmill_segment_cache",
               "Segments looked for in the disk cache, kept and dropped, by what happened.",
               "Disk space of the kept segments.");
}

void AddIndexAhead(Families& f, const IndexAheadStats& s) {
  const std::string name = "gopmill_index_ahead_total";
  f.Counter(name, "Movies that were read before somebody asked for them, by what happened.",
            Number(s.read), {{"result", "read"}});
  f.Counter(name, "", Number(s.failed), {{"result", "failed"}});
  f.Gauge("gopmill_index_ahead_waiting", "Movies that are to be read so.", Number(s.waiting));
}

void AddAdmission(Families& f, const std::vector<AdmissionStats>& classes) {
  const std::string cores = "gopmill_class_promised_cores";
  for (const AdmissionStats& c : classes) {
    f.Gauge(cores, "Cores of the class when all classes have work.", c.promise.cores,
            {{"class", c.name}});
  }
  const std::string taken = "gopmill_class_real_time_cores";
  for (const AdmissionStats& c : classes) {
    f.Gauge(taken, "Cores that the class's running real-time streams need.", c.promise.taken,
            {{"class", c.name}});
  }
}

// By the names that Prometheus gives them, so that what watches any process watches this one.
void AddProcess(Families& f, const ProcessStats& p) {
  f.Gauge("gopmill_build_info", "Always 1; which gopmill this is.", 1,
          {{"version", BuildVersion()}});
  f.Gauge("process_start_time_seconds", "Start of the process, in seconds since 1970.",
          p.started_seconds);
  f.Counter("process_cpu_seconds_total", "CPU time of all threads, user and system.",
            p.cpu_seconds);
  f.Gauge("process_resident_memory_bytes", "Memory that is resident.", Number(p.resident_bytes));
  f.Gauge("process_open_fds", "File descriptors that are open.", Number(p.open_fds));
  f.Gauge("process_max_fds", "File descriptors that may be open.", Number(p.max_fds));
}

}  // namespace

void StreamTotals::Add(const StreamSnapshot& s) {
  const auto count = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  units += count(s.units_done);
  reordered_units += count(s.order.reordered());
  away_from_home_units += count(s.away_from_home);
  frames += count(s.frames_out);
  bytes += count(s.bytes_out);
  source_bytes += count(s.source_bytes);
  retries += count(s.retries);
  concealed += count(s.damage.concealed);
  patched += count(s.damage.patched);
  damaged += count(s.damage.rejected + s.audio_damaged);
  decoded_elsewhere += count(s.decoded_elsewhere);
  rate_corrections += count(s.rate_corrections);
  for (std::size_t i = 0; i < kEfforts; ++i) units_by_effort[i] += count(s.units_by_effort[i]);
  seams += count(s.seams.joins);
  seam_violations += count(s.seams.violations());
  stages.rate_wait += s.stages.rate_wait;
  stages.global_wait += s.stages.global_wait;
  stages.run_wait += s.stages.run_wait;
  stages.schedule += s.stages.schedule;
  stages.decode += s.stages.decode;
  stages.filter += s.stages.filter;
  stages.encode += s.stages.encode;
  stages.reorder_wait += s.stages.reorder_wait;
  stages.mux_send += s.stages.mux_send;
  stages.cpu += s.stages.cpu;
  stages.analysis += s.stages.analysis;
}

std::string MetricsText(const ServiceMetrics& metrics) {
  Families families;
  AddStreams(families, metrics);
  AddStages(families, metrics.totals.stages);
  AddScheduler(families, metrics.scheduler);
  AddCache(families, metrics.cache);
  AddSegments(families, metrics.segments);
  AddDiskCache(families, metrics.movies, "gopmill_movie_cache",
               "Indexes of movies looked for on disk, by what happened.",
               "Disk space of the kept indexes.");
  AddIndexAhead(families, metrics.index_ahead);
  AddDiskCache(families, metrics.sources, "gopmill_source_cache",
               "Descriptions of movies looked for on disk, by what happened.",
               "Disk space of the kept descriptions.");
  families.Gauge("gopmill_upload_spool_bytes",
                 "Disk space of uploads that are read once they are whole.",
                 Number(metrics.spooled_bytes));
  AddLive(families, metrics.live);
  AddAdmission(families, metrics.admission);
  AddFanouts(families, metrics.fanouts);
  AddLiveSegments(families, metrics.live_segments);
  AddProcess(families, metrics.process);
  return families.Text();
}

}  // namespace gopmill
