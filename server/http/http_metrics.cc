// SPDX-License-Identifier: Apache-2.0
#include "server/http/http_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace gopmill {
namespace {

prometheus::Counter& MakeCounter(prometheus::Registry& registry, const char* name,
                                 const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Gauge& MakeGauge(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add({});
}

std::int64_t Whole(double value) { return static_cast<std::int64_t>(value); }

}  // namespace

struct HttpMetrics::Families {
  prometheus::Registry registry;
  prometheus::Gauge& connections =
      MakeGauge(registry, "gopmill_http_connections", "Open connections");
  prometheus::Counter& accepted =
      MakeCounter(registry, "gopmill_http_connections_total", "Accepted connections");
  prometheus::Counter& refused = MakeCounter(registry, "gopmill_http_connections_refused_total",
                                             "Connections refused for want of room");
  prometheus::Counter& accept_failures =
      MakeCounter(registry, "gopmill_http_accept_failures_total",
                  "Times that accepting a connection failed for want of a file descriptor");
  prometheus::Family<prometheus::Counter>& requests = prometheus::BuildCounter()
                                                          .Name("gopmill_http_requests_total")
                                                          .Help("Answered requests")
                                                          .Register(registry);
  prometheus::Counter& received =
      MakeCounter(registry, "gopmill_http_received_bytes_total", "Bytes read from clients");
  prometheus::Counter& sent =
      MakeCounter(registry, "gopmill_http_sent_bytes_total", "Bytes written to clients");
  prometheus::Gauge& streams =
      MakeGauge(registry, "gopmill_http_streams", "Stream responses that are not finished");
  prometheus::Gauge& buffered = MakeGauge(registry, "gopmill_http_stream_buffer_bytes",
                                          "Bytes of streams that wait for their clients");
};

HttpMetrics::HttpMetrics() : families_(std::make_unique<Families>()) {}
HttpMetrics::~HttpMetrics() = default;

void HttpMetrics::ConnectionOpened() {
  families_->accepted.Increment();
  families_->connections.Increment();
}
void HttpMetrics::ConnectionClosed() { families_->connections.Decrement(); }
void HttpMetrics::ConnectionRefused() { families_->refused.Increment(); }
void HttpMetrics::AcceptFailed() { families_->accept_failures.Increment(); }

void HttpMetrics::RequestAnswered(RouteId route, int status) {
  requests_.fetch_add(1, std::memory_order_relaxed);
  families_->requests
      .Add({{"route", std::string(RouteLabel(route))}, {"status", std::to_string(status)}})
      .Increment();
}

void HttpMetrics::Received(std::size_t bytes) {
  families_->received.Increment(static_cast<double>(bytes));
}
void HttpMetrics::Sent(std::size_t bytes) { families_->sent.Increment(static_cast<double>(bytes)); }
void HttpMetrics::StreamStarted() { families_->streams.Increment(); }
void HttpMetrics::StreamEnded() { families_->streams.Decrement(); }

void HttpMetrics::StreamBufferChanged(std::int64_t change, std::size_t now_waiting) {
  families_->buffered.Increment(static_cast<double>(change));
  const auto waiting = static_cast<std::int64_t>(now_waiting);
  std::int64_t peak = peak_stream_buffer_bytes_.load(std::memory_order_relaxed);
  while (waiting > peak && !peak_stream_buffer_bytes_.compare_exchange_weak(
                               peak, waiting, std::memory_order_relaxed)) {
  }
}

HttpStats HttpMetrics::Snapshot() const {
  HttpStats stats;
  stats.connections = Whole(families_->connections.Value());
  stats.connections_total = Whole(families_->accepted.Value());
  stats.connections_refused = Whole(families_->refused.Value());
  stats.accept_failures = Whole(families_->accept_failures.Value());
  stats.requests = requests_.load(std::memory_order_relaxed);
  stats.received_bytes = Whole(families_->received.Value());
  stats.sent_bytes = Whole(families_->sent.Value());
  stats.streams = Whole(families_->streams.Value());
  stats.peak_stream_buffer_bytes = peak_stream_buffer_bytes_.load(std::memory_order_relaxed);
  return stats;
}

std::string HttpMetrics::Serialize() const {
  return prometheus::TextSerializer().Serialize(families_->registry.Collect());
}

}  // namespace gopmill
