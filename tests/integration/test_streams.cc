// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/test_streams.h"

#include <fcntl.h>

#include <sstream>
#include <utility>

#include "media/target_params.h"
#include "server/live/packet_tee.h"

namespace gopmill::test {
namespace {

class CaptureSink : public StreamSink {
 public:
  CaptureSink(std::shared_ptr<Outcome> outcome, OnWrite on_write)
      : outcome_(std::move(outcome)), on_write_(std::move(on_write)) {}
  Status Start(const StreamStart&) override {
    outcome_->started = true;
    return OkStatus();
  }
  Status Write(std::span<const std::uint8_t> bytes) override {
    if (on_write_) GOPMILL_RETURN_IF_ERROR(on_write_(bytes));
    outcome_->bytes.insert(outcome_->bytes.end(), bytes.begin(), bytes.end());
    return OkStatus();
  }
  void Finish(const StreamEnd&) override {}

 private:
  std::shared_ptr<Outcome> outcome_;
  OnWrite on_write_;
};

}  // namespace

TargetRequest Request(const std::string& params) {
  TargetRequest request;
  std::istringstream words(params);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    const Status status = SetParam(request, word.substr(0, equals), word.substr(equals + 1));
    GOPMILL_CHECK(status.ok());
  }
  return request;
}

std::string MoviePath(const std::string& name) {
  return name.starts_with('/') ? name : "movies/files/" + name;
}

PacketSourceOpener OpenMovie(const std::string& name) {
  return [path = MoviePath(name)](
             const std::stop_token& stop) -> Result<std::unique_ptr<PacketSource>> {
    UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    GOPMILL_ASSIGN_OR_RETURN(auto source, Source::Open(std::move(file), stop));
    return std::unique_ptr<PacketSource>(std::move(source));
  };
}

std::vector<std::shared_ptr<const UnitInput>> UnitsOf(Ingest& ingest) {
  std::vector<std::shared_ptr<const UnitInput>> units;
  while (true) {
    auto item = ingest.Next();
    GOPMILL_CHECK(item.ok());
    if (std::holds_alternative<EndOfSource>(*item)) return units;
    if (auto* unit = std::get_if<UnitInput>(&*item)) {
      units.push_back(std::make_shared<const UnitInput>(std::move(*unit)));
    }
  }
}

LiveUnits LiveUnitsOf(const std::string& movie, const std::string& params) {
  const auto tee = std::make_shared<PacketTee>(OpenMovie(movie), 1U, std::make_shared<LiveClock>());
  auto source = tee->Open(0, {});
  GOPMILL_CHECK(source.ok());
  auto ingest = Ingest::Open(std::move(source).value(), Request(params));
  GOPMILL_CHECK(ingest.ok());
  LiveUnits live{.plan = ingest.value()->plan(), .encoder = {}, .units = UnitsOf(**ingest)};
  live.encoder = std::make_shared<const EncoderSpec>(MakeEncoderSpec(*live.plan).value());
  return live;
}

void Packets::OnPacket(av::Packet packet) {
  hashes.push_back(HashOf({packet->data, static_cast<std::size_t>(packet->size)}) * 31 +
                   static_cast<std::uint64_t>(packet->pts * 7 + packet->dts));
  keys += (packet->flags & AV_PKT_FLAG_KEY) != 0 ? 1 : 0;
}

std::unique_ptr<Engine> MakeEngine(const std::string& policy, int workers) {
  EngineOptions options;
  options.scheduler.policy = policy;
  options.scheduler.workers = workers;
  auto engine = Engine::Create(options);
  GOPMILL_CHECK(engine.ok());
  return std::move(engine).value();
}

TestStream::TestStream(Engine& engine, std::uint64_t number, const std::string& movie,
                       const std::string& params, OnWrite on_write, const Adjust& adjust)
    : outcome_(std::make_shared<Outcome>()) {
  SessionSpec spec;
  spec.id = StreamId{number + 1};
  spec.number = number;
  spec.source_name = movie;
  spec.open = [path = MoviePath(movie)]() -> Result<UniqueFd> {
    return UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  };
  spec.request = Request(params);
  spec.sink = std::make_unique<CaptureSink>(outcome_, std::move(on_write));
  if (adjust) adjust(spec);
  auto session = StreamSession::Start(std::move(spec), engine.scheduler());
  GOPMILL_CHECK(session.ok());
  session_ = std::move(session).value();
}

Outcome TestStream::Finish() {
  session_->Wait();
  outcome_->snapshot = session_->Snapshot();
  return std::move(*outcome_);
}

Outcome RunStream(Engine& engine, const std::string& movie, const std::string& params) {
  return TestStream(engine, 0, movie, params).Finish();
}

std::uint64_t HashOf(std::span<const std::uint8_t> bytes) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const std::uint8_t byte : bytes) hash = (hash ^ byte) * 1099511628211ULL;
  return hash;
}

}  // namespace gopmill::test
