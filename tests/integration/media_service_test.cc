// SPDX-License-Identifier: Apache-2.0
#include "server/service/media_service.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <filesystem>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "tests/integration/end_sink.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

std::unique_ptr<MediaService> MakeService(std::int64_t max_streams = 64) {
  ServerConfig config;
  config.library = "movies/files";
  config.scheduler.workers = 2;
  config.streams.max = max_streams;
  auto service = MediaService::Create(config);
  GOPMILL_CHECK(service.ok());
  return std::move(service).value();
}

// A client that carries the packets itself, as an RTSP player does.
class PlayerSink : public EndSink, public PacketSink {
 public:
  using EndSink::EndSink;
  PacketSink* packets() override { return this; }
  Status OnTracks(std::vector<CodedTrack>) override { return OkStatus(); }
  Status WritePacket(const CodedPacket&) override { return OkStatus(); }
};

TEST(MediaService, ServesAStreamAndRemembersIt) {
  const auto service = MakeService();
  std::promise<StreamEnd> ended;
  const auto id = service->OpenStream("ref-talk.mpg", kSmall, std::make_unique<EndSink>(ended));
  ASSERT_TRUE(id.ok());
  const StreamEnd end = ended.get_future().get();
  EXPECT_TRUE(end.status.ok());
  EXPECT_EQ(end.measures.at("frames"), "45");
  EXPECT_TRUE(service->WaitIdle(std::chrono::seconds(10)));
  const auto json = service->Stream(*id);
  ASSERT_TRUE(json.ok());
  EXPECT_NE(json->find("\"state\": \"done\""), std::string::npos);
  EXPECT_NE(service->Metrics().find("gopmill_frames_total 45\n"), std::string::npos);
  const auto seams = service->Seams(*id);
  ASSERT_TRUE(seams.ok());
  EXPECT_NE(seams->find("\"violations\":0"), std::string::npos) << *seams;
  EXPECT_EQ(service->Seams(StreamId{77}).error().code, Code::kNotFound);
  EXPECT_NE(service->Metrics().find("gopmill_seam_violations_total 0\n"), std::string::npos);
}

double BusySeconds(const nlohmann::json& load) {
  double seconds = 0;
  for (const auto& worker : load["workers"]) seconds += worker["busy_s"].get<double>();
  return seconds;
}

TEST(MediaService, TellsWhereUnitsRan) {
  const auto service = MakeService();
  const auto before = nlohmann::json::parse(service->Workers());
  ASSERT_EQ(before["workers"].size(), 2U);
  EXPECT_EQ(before["machine"]["kind"], "machine");
  std::promise<StreamEnd> ended;
  const auto id = service->OpenStream("ref-talk.mpg", kSmall, std::make_unique<EndSink>(ended));
  ASSERT_TRUE(id.ok());
  ASSERT_TRUE(ended.get_future().get().status.ok());
  EXPECT_TRUE(service->WaitIdle(std::chrono::seconds(10)));
  const auto stream = nlohmann::json::parse(*service->Stream(*id));
  std::map<std::int64_t, int> run, expected;
  for (std::int64_t i = 0; i < stream["counts"]["units_done"]; ++i) expected[i] = 1;
  EXPECT_GT(expected.size(), 2U);
  const auto trace = nlohmann::json::parse(*service->Trace(*id));
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "X" && event["cat"] == "unit") ++run[event["args"]["unit"]];
  }
  EXPECT_EQ(run, expected) << trace;
  const auto after = nlohmann::json::parse(service->Workers());
  EXPECT_GT(BusySeconds(after), BusySeconds(before));
  EXPECT_GT(after["now_s"], before["now_s"]);
  std::map<std::int64_t, int> recent;
  for (const auto& worker : after["workers"]) {
    EXPECT_TRUE(worker["running"].is_null());
    for (const auto& one : worker["recent"]) {
      EXPECT_EQ(one[0], id->value);
      ++recent[one[1]];
      EXPECT_GT(one[2], 0.0);
      EXPECT_LT(one[2], one[3]);
      EXPECT_LE(one[3], after["now_s"]);
    }
  }
  EXPECT_EQ(recent, expected);
  EXPECT_EQ(service->Trace(StreamId{77}).error().code, Code::kNotFound);
}

TEST(MediaService, RefusesBadParametersBeforeAnythingStarts) {
  const auto service = MakeService();
  std::promise<StreamEnd> ended;
  const auto bad =
      service->OpenStream("ref-talk.mpg", {{"widht", "3"}}, std::make_unique<EndSink>(ended));
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().parameter, "widht");
  EXPECT_EQ(service->running(), 0);
}

TEST(MediaService, UnknownMovieEndsWithNotFound) {
  const auto service = MakeService();
  std::promise<StreamEnd> ended;
  ASSERT_TRUE(service->OpenStream("no.mp4", kSmall, std::make_unique<EndSink>(ended)).ok());
  const StreamEnd end = ended.get_future().get();
  ASSERT_FALSE(end.status.ok());
  EXPECT_EQ(end.status.error().code, Code::kNotFound);
}

TEST(MediaService, KnowsWhetherItsLibraryCanBeRead) {
  std::string folder = testing::TempDir() + "/gopmill-service-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  ServerConfig config;
  config.library = folder;
  config.scheduler.workers = 1;
  const auto service = MediaService::Create(config);
  ASSERT_TRUE(service.ok());
  const auto sources = [&] {
    std::promise<bool> listed;
    (*service)->Sources({}, [&](const Result<SharedText>& list) { listed.set_value(list.ok()); });
    return listed.get_future().get();
  };
  EXPECT_TRUE(sources());
  EXPECT_TRUE((*service)->LibraryReadable());
  rmdir(folder.c_str());
  EXPECT_FALSE(sources());
  while ((*service)->LibraryReadable()) std::this_thread::yield();
  EXPECT_TRUE((*service)->Ready()) << "live streams need no library";
  mkdir(folder.c_str(), 0700);
  while (!(*service)->LibraryReadable()) std::this_thread::yield();
  EXPECT_TRUE(sources());
  rmdir(folder.c_str());
}

// Requests for it would be for a live source.
TEST(MediaService, SaysWhichMoviesNoRequestCanReach) {
  namespace fs = std::filesystem;
  std::string folder = testing::TempDir() + "/gopmill-service-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  for (const char* below : {"live", "sub/live"}) {
    fs::create_directories(fs::path(folder) / below);
    fs::copy_file("movies/files/ref-talk.mpg", fs::path(folder) / below / "talk.mpg");
  }
  ServerConfig config;
  config.library = folder;
  config.scheduler.workers = 1;
  const auto service = MediaService::Create(config);
  ASSERT_TRUE(service.ok());
  std::promise<std::string> listed;
  (*service)->Sources({}, [&](const Result<SharedText>& json) { listed.set_value(*json.value()); });
  const auto sources = nlohmann::json::parse(listed.get_future().get())["sources"];
  ASSERT_EQ(sources.size(), 2U);
  EXPECT_EQ(sources[0]["path"], "live/talk.mpg");
  ASSERT_TRUE(sources[0].contains("error"));
  EXPECT_EQ(sources[0]["error"]["code"], "unsupported");
  EXPECT_EQ(sources[1]["path"], "sub/live/talk.mpg");
  EXPECT_TRUE(sources[1].contains("video")) << "only at the top";
  fs::remove_all(folder);
}

TEST(MediaService, RefusesMoreStreamsThanConfigured) {
  const auto service = MakeService(1);
  std::promise<StreamEnd> first, second;
  std::promise<void> go;
  auto gate = go.get_future().share();
  ASSERT_TRUE(service
                  ->OpenStream("ref-talk.mpg", kSmall,
                               std::make_unique<EndSink>(first,
                                                         [gate](std::span<const std::uint8_t>) {
                                                           gate.wait();
                                                           return OkStatus();
                                                         }))
                  .ok());
  const auto refused =
      service->OpenStream("ref-talk.mpg", kSmall, std::make_unique<EndSink>(second));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  go.set_value();
  EXPECT_TRUE(first.get_future().get().status.ok());
}

// A player that seeks. What it had before does not end here, as its client holds a write.
TEST(MediaService, AStreamThatReplacesAnotherHasItsPlace) {
  const auto service = MakeService(1);
  std::deque<std::promise<StreamEnd>> ends;
  std::counting_semaphore<> writing(0);
  std::promise<void> go;
  const auto make = [&, gate = go.get_future().share()]() -> std::unique_ptr<StreamSink> {
    return std::make_unique<EndSink>(ends.emplace_back(), [&, gate](std::span<const std::uint8_t>) {
      writing.release();
      gate.wait();
      return OkStatus();
    });
  };
  auto stream = service->OpenStream("ref-talk.mpg", kSmall, make());
  for (std::int64_t i = 0; i < kFewestReplaced; ++i) {
    ASSERT_TRUE(stream.ok()) << stream.error().ToString();
    writing.acquire();
    stream = service->ReplaceStream(*stream, "ref-talk.mpg", kSmall, [&] {
      EXPECT_FALSE(service->OpenStream("ref-talk.mpg", kSmall, make()).ok()) << "it is taken";
      return make();
    });
  }
  ASSERT_TRUE(stream.ok());
  writing.acquire();
  EXPECT_FALSE(service->OpenStream("ref-talk.mpg", kSmall, make()).ok());
  EXPECT_FALSE(service->ReplaceStream(*stream, "ref-talk.mpg", kSmall, make).ok())
      << "there is no end to those that are ending";
  go.set_value();
  ASSERT_TRUE(service->WaitIdle(std::chrono::seconds(10)));
  ASSERT_TRUE(service->ReplaceStream(*stream, "ref-talk.mpg", kSmall, make).ok());
  EXPECT_TRUE(ends.back().get_future().get().status.ok()) << "in place of one that has ended";
}

TEST(MediaService, APlayerThatWouldBreakAPromiseIsRefusedAndCounted) {
  ServerConfig config;
  config.library = "movies/files";
  config.scheduler.workers = 1;
  config.scheduler.classes = "live:1,archive:999";  // a thousandth of a core for live
  auto created = MediaService::Create(config);
  ASSERT_TRUE(created.ok());
  const auto service = std::move(created).value();
  std::promise<StreamEnd> refused, served;
  RequestParams live = kSmall;
  live.emplace_back("class", "live");
  ASSERT_TRUE(
      service->OpenStream("ref-talk.mpg", live, std::make_unique<PlayerSink>(refused)).ok());
  const StreamEnd end = refused.get_future().get();
  ASSERT_FALSE(end.status.ok());
  EXPECT_EQ(end.status.error().code, Code::kUnavailable);
  EXPECT_NE(end.status.error().message.find("Class live has 0.00"), std::string::npos)
      << end.status.error().message;
  ASSERT_TRUE(service->OpenStream("ref-talk.mpg", live, std::make_unique<EndSink>(served)).ok());
  EXPECT_TRUE(served.get_future().get().status.ok()) << "a file that nobody plays needs no promise";
  ASSERT_TRUE(service->WaitIdle(std::chrono::seconds(10)));
  EXPECT_NE(service->Metrics().find("gopmill_streams_refused_total 1\n"), std::string::npos);
  EXPECT_NE(service->Metrics().find("gopmill_class_real_time_cores{class=\"live\"} 0\n"),
            std::string::npos);
}

// A page that is loaded by many asks for the whole library each time.
TEST(MediaService, TheLibraryIsListedOnceForAllWhoAskBehindWhatTakesNoTime) {
  std::promise<void> begun, go_on, last;
  const auto service = MakeService();
  std::vector<std::string> order;
  std::vector<SharedText> lists;
  service->Sources({}, [&](const auto&) {
    begun.set_value();
    go_on.get_future().wait();
  });
  begun.get_future().wait();
  for (int i = 0; i < 9; ++i) {
    service->Sources({}, [&](const Result<SharedText>& list) {
      order.emplace_back("list");
      lists.push_back(list.ok() ? *list : nullptr);
      if (lists.size() == 9) last.set_value();
    });
  }
  service->CheckStream("sync-720p.mp4", {}, {}, [&](const Result<std::string>& type) {
    order.push_back(type.ok() ? *type : type.error().ToString());
  });
  go_on.set_value();
  last.get_future().wait();
  EXPECT_EQ(order.front(), "video/mp4");
  ASSERT_NE(lists.front(), nullptr);
  EXPECT_EQ(std::ranges::count(lists, lists.front()), 9) << "it was made once";
}

TEST(MediaService, OneRequestForFilesTooManyIsRefused) {
  std::promise<void> begun;
  std::promise<void> go_on;
  std::atomic<std::size_t> answered = 0;
  auto service = MakeService();
  service->Sources({}, [&](const auto&) {
    begun.set_value();
    go_on.get_future().wait();
  });
  begun.get_future().wait();  // it waits no more
  for (std::size_t i = 0; i < kMaxFileRequests; ++i) {
    service->Sources({}, [&](const auto&) { ++answered; });
  }
  EXPECT_EQ(answered, 0U);
  std::optional<Error> refused;
  service->Sources({}, [&](const Result<SharedText>& sources) { refused = sources.error(); });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, Code::kUnavailable);
  go_on.set_value();
  service.reset();
  EXPECT_EQ(answered, kMaxFileRequests) << "each of the others gets an answer";
}

TEST(MediaService, AStreamThatWasLetInAndFailedIsNotCountedAsRefused) {
  std::string folder = testing::TempDir() + "/gopmill-unmounted-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  ServerConfig config;
  config.library = folder;
  config.scheduler.workers = 1;
  const auto service = MediaService::Create(config);
  ASSERT_TRUE(service.ok()) << service.error().ToString();
  ASSERT_EQ(rmdir(folder.c_str()), 0);
  std::promise<StreamEnd> ended;
  ASSERT_TRUE((*service)->OpenStream("a.mp4", kSmall, std::make_unique<EndSink>(ended)).ok());
  EXPECT_EQ(ended.get_future().get().status.error().code, Code::kUnavailable);
  ASSERT_TRUE((*service)->WaitIdle(std::chrono::seconds(10)));
  const std::string metrics = (*service)->Metrics();
  EXPECT_NE(metrics.find("gopmill_streams_ended_total{state=\"failed\"} 1\n"), std::string::npos);
  EXPECT_NE(metrics.find("gopmill_streams_refused_total 0\n"), std::string::npos);
}

TEST(MediaService, DrainingRefusesNewStreams) {
  const auto service = MakeService();
  service->StartDraining();
  EXPECT_FALSE(service->Ready());
  std::promise<StreamEnd> ended;
  const auto refused =
      service->OpenStream("ref-talk.mpg", kSmall, std::make_unique<EndSink>(ended));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
}

TEST(MediaService, CancelStopsAStream) {
  const auto service = MakeService();
  std::promise<StreamEnd> ended;
  const auto id =
      service->OpenStream("modern-720p.mp4", {{"bitrate", "2M"}}, std::make_unique<EndSink>(ended));
  ASSERT_TRUE(id.ok());
  EXPECT_TRUE(service->CancelStream(*id).ok());
  EXPECT_EQ(ended.get_future().get().status.error().code, Code::kCancelled);
  EXPECT_FALSE(service->CancelStream(StreamId{999}).ok());
}

// Asks the service from another thread while it is cancelled, as GStreamer's threads may, and
// waits.
class AskingSink : public EndSink {
 public:
  AskingSink(std::promise<StreamEnd>& end, MediaService& service)
      : EndSink(end), service_(service) {}
  void Cancel() noexcept override {
    if (asked_.exchange(true)) return;
    auto answer = std::async(std::launch::async, [this] { return service_.running(); });
    answered_ = answer.wait_for(std::chrono::seconds(2)) == std::future_status::ready;
    // Without an answer this waits until the service has let go of its lock.
    late_ = std::move(answer);
  }
  static inline std::atomic<bool> answered_ = false;

 private:
  MediaService& service_;
  std::atomic<bool> asked_ = false;
  std::future<int> late_;
};

TEST(MediaService, SinksAreCancelledWithoutItsLock) {
  for (const bool all : {false, true}) {
    auto service = MakeService();
    std::promise<StreamEnd> ended;
    AskingSink::answered_ = false;
    const auto id = service->OpenStream("modern-720p.mp4", {{"bitrate", "2M"}},
                                        std::make_unique<AskingSink>(ended, *service));
    ASSERT_TRUE(id.ok());
    const Status cancelled = all ? OkStatus() : service->CancelStream(*id);
    EXPECT_TRUE(cancelled.ok());
    if (all) service.reset();
    EXPECT_EQ(ended.get_future().get().status.error().code, Code::kCancelled);
    EXPECT_TRUE(AskingSink::answered_) << all;
  }
}

// `sm` gives each stream the next worker; ids are taken by readers as well.
TEST(MediaService, StreamsThatReadersShareAreNumberedAsTheyCome) {
  ServerConfig config;
  config.library = "movies/files";
  config.scheduler.workers = 2;
  config.scheduler.policy = "sm";
  auto service = MediaService::Create(config);
  ASSERT_TRUE(service.ok()) << service.error().ToString();
  std::vector<std::promise<StreamEnd>> ends(2);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const std::string name = "camera" + std::to_string(i);
    ASSERT_TRUE((*service)
                    ->OpenStream("live/" + name, {{"width", "128"}, {"bitrate", "50k"}},
                                 std::make_unique<EndSink>(ends[i]))
                    .ok());
    UniqueFd body(open(MoviePath("ref-talk.mpg").c_str(), O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE((*service)->Publish(name, "test", std::move(body), [](const auto&) {}).ok());
  }
  const auto busy = [&](int worker) {
    const std::string line =
        "gopmill_worker_busy_seconds_total{worker=\"" + std::to_string(worker) + "\",";
    const std::string metrics = (*service)->Metrics();
    const auto at = metrics.find(line);
    return at == std::string::npos ? -1 : std::stod(metrics.substr(metrics.find(" ", at)));
  };
  const TimePoint late = SteadyNow() + std::chrono::seconds(60);
  while ((busy(0) <= 0 || busy(1) <= 0) && SteadyNow() < late) std::this_thread::yield();
  EXPECT_GT(busy(0), 0);
  EXPECT_GT(busy(1), 0);
  (*service)->CancelAll();
  for (auto& end : ends) end.get_future().get();
}

// A service that waits for a second until it is known what an upload or publisher brings, and a
// pipe to it.
class NothingBrought : public ::testing::Test {
 protected:
  void SetUp() override {
    ServerConfig config;
    config.library = "movies/files";
    config.scheduler.workers = 1;
    config.streams.opening_timeout_seconds = 1;
    auto made = MediaService::Create(config);
    ASSERT_TRUE(made.ok()) << made.error().ToString();
    service = std::move(*made);
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    receiver = UniqueFd(ends[0]);
    sender = UniqueFd(ends[1]);
  }

  UniqueFd receiver, sender;
  std::unique_ptr<MediaService> service;
};

TEST_F(NothingBrought, APublisherLosesItsName) {
  ASSERT_EQ(write(sender.get(), "G", 1), 1);
  std::promise<Result<std::string>> over;
  ASSERT_TRUE(service
                  ->Publish("cam", "test", std::move(receiver),
                            [&](Result<std::string> end) { over.set_value(std::move(end)); })
                  .ok());
  const auto movie = [] {
    return UniqueFd(open(MoviePath("ref-talk.mpg").c_str(), O_RDONLY | O_CLOEXEC));
  };
  EXPECT_FALSE(service->Publish("cam", "test", movie(), [](const auto&) {}).ok());
  const auto end = over.get_future().get();
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().code, Code::kDeadlineExceeded) << end.error().ToString();
  std::promise<void> second;
  ASSERT_TRUE(
      service->Publish("cam", "test", movie(), [&](const auto&) { second.set_value(); }).ok());
  second.get_future().wait();
}

TEST_F(NothingBrought, AnUploadLosesItsPlace) {
  std::promise<StreamEnd> end;
  ASSERT_TRUE(
      service->OpenUpload(std::move(receiver), kSmall, std::make_unique<EndSink>(end)).ok());
  EXPECT_EQ(end.get_future().get().status.error().code, Code::kDeadlineExceeded);
}

// What holds back the reading of movies that nobody asked for.
class Activity : public NothingBrought {
 protected:
  bool AwaitBusy(bool busy) {
    const TimePoint late = SteadyNow() + std::chrono::seconds(60);
    while (service->ActivityOfClients().busy != busy) {
      if (SteadyNow() > late) return false;
      std::this_thread::yield();
    }
    return true;
  }
  std::uint64_t requests() { return service->ActivityOfClients().requests; }
};

TEST_F(Activity, IsWithoutLiveStreams) {
  EXPECT_FALSE(service->ActivityOfClients().busy);
  std::promise<StreamEnd> end;
  const auto id = service->OpenStream("live/cam", kSmall, std::make_unique<EndSink>(end));
  ASSERT_TRUE(id.ok());
  UniqueFd body(open(MoviePath("ref-talk.mpg").c_str(), O_RDONLY | O_CLOEXEC));
  std::promise<void> over;
  ASSERT_TRUE(
      service->Publish("cam", "test", std::move(body), [&](const auto&) { over.set_value(); })
          .ok());
  over.get_future().wait();
  EXPECT_EQ(service->running(), 1) << "its reader waits for another publisher";
  EXPECT_TRUE(AwaitBusy(false));
  EXPECT_TRUE(service->CancelStream(*id).ok());
  end.get_future().wait();
}

TEST_F(Activity, IsThatOfMoviesAsLongAsTheyArePlayed) {
  const std::uint64_t before = requests();
  std::promise<StreamEnd> end;
  ASSERT_TRUE(
      service->OpenUpload(std::move(receiver), kSmall, std::make_unique<EndSink>(end)).ok());
  EXPECT_TRUE(service->ActivityOfClients().busy);
  EXPECT_GT(requests(), before);
  sender = UniqueFd();
  end.get_future().wait();
  EXPECT_TRUE(AwaitBusy(false));
}

TEST_F(Activity, CountsPartsThatAreAskedFor) {
  for (const char* part : {"master.m3u8", "master.m3u8", "none.m3u8"}) {
    const std::uint64_t before = requests();
    std::promise<void> answered;
    service->OpenPart({.path = "sync-720p.mp4", .name = part, .params = {}, .if_none_match = ""},
                      [&](const auto&) { answered.set_value(); });
    answered.get_future().wait();
    EXPECT_GT(requests(), before) << part;
  }
  EXPECT_TRUE(AwaitBusy(false));
}

TEST(MediaService, ListsSourcesAndExplains) {
  const auto service = MakeService();
  std::promise<std::string> sources, plan;
  service->Sources({}, [&](const Result<SharedText>& json) { sources.set_value(*json.value()); });
  EXPECT_NE(sources.get_future().get().find("\"modern-720p.mp4\""), std::string::npos);
  service->Explain("ref-street.mpg", kSmall, {},
                   [&](Result<std::string> json) { plan.set_value(json.value()); });
  EXPECT_NE(plan.get_future().get().find("\"frames\": 45"), std::string::npos);
  std::promise<Error> refused;
  service->Explain("ref-talk.mpg", {{"class", "none"}}, {},
                   [&](Result<std::string> json) { refused.set_value(json.error()); });
  EXPECT_EQ(refused.get_future().get().parameter, "class") << "as a stream would say";
}

}  // namespace
}  // namespace gopmill::test
