// SPDX-License-Identifier: Apache-2.0
//
// Whole streams in one process, for tests: a request, an engine, and a sink that keeps or steers
// what comes out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/stream/engine.h"
#include "server/stream/stream_session.h"

namespace gopmill::test {

// "width=320 height=180 bitrate=200k" -> a request; aborts the test on a bad one.
TargetRequest Request(const std::string& params);

// Of a bundled movie, or of another one by its absolute path.
std::string MoviePath(const std::string& name);

// A bundled movie, read as a file; through a PacketTee it is a live source.
PacketSourceOpener OpenMovie(const std::string& name);
// All units of a movie, or of what a request wants of it.
std::vector<std::shared_ptr<const UnitInput>> UnitsOf(Ingest& ingest);

// A bundled movie as a live source, cut for a request; aborts the test where that fails.
struct LiveUnits {
  std::shared_ptr<const StreamPlan> plan;
  std::shared_ptr<const EncoderSpec> encoder;
  std::vector<std::shared_ptr<const UnitInput>> units;
};
LiveUnits LiveUnitsOf(const std::string& movie, const std::string& params);

// The packets of a unit, each as a hash of its bytes and times.
class Packets : public UnitOutput {
 public:
  void OnEncoder(std::shared_ptr<const AVCodecParameters>) override { ++encoders; }
  void OnPacket(av::Packet packet) override;
  void OnRunReady(std::unique_ptr<RunState> handed_on) override { state = std::move(handed_on); }

  std::vector<std::uint64_t> hashes;
  int keys = 0, encoders = 0;
  std::unique_ptr<RunState> state;
};

std::unique_ptr<Engine> MakeEngine(const std::string& policy, int workers);

// What came out of a finished stream.
struct Outcome {
  StreamSnapshot snapshot;
  std::vector<std::uint8_t> bytes;
  bool started = false;
};

// Called for each write; its status is what the sink answers.
using OnWrite = std::function<Status(std::span<const std::uint8_t>)>;

// A stream of a bundled movie that has been started.
class TestStream {
 public:
  // `adjust` may change the rest of the spec.
  using Adjust = std::function<void(SessionSpec&)>;
  TestStream(Engine& engine, std::uint64_t number, const std::string& movie,
             const std::string& params, OnWrite on_write = {}, const Adjust& adjust = {});
  StreamSession& session() { return *session_; }
  // Waits for the end.
  Outcome Finish();

 private:
  std::shared_ptr<Outcome> outcome_;
  std::unique_ptr<StreamSession> session_;
};

Outcome RunStream(Engine& engine, const std::string& movie, const std::string& params);

// 64-bit FNV-1a.
std::uint64_t HashOf(std::span<const std::uint8_t> bytes);

}  // namespace gopmill::test
