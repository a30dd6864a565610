// SPDX-License-Identifier: Apache-2.0
#include "server/rtsp/playback.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/thread_safety.h"
#include "server/rtsp/gst_start.h"
#include "tests/unit/http/fake_service.h"

namespace gopmill {
namespace {

constexpr std::int64_t kStep = 20'000'000;

// Each stream is of pictures and sound, and brings what Send says.
class ScriptedService final : public FakeService {
 public:
  Result<StreamId> OpenStream(const std::string& /*path*/, const RequestParams& /*params*/,
                              std::unique_ptr<StreamSink> sink) override {
    return Take(std::move(sink));
  }
  Result<StreamId> ReplaceStream(StreamId /*before*/, const std::string& /*path*/,
                                 const RequestParams& /*params*/,
                                 const SinkMaker& make_sink) override {
    return Take(make_sink());
  }
  Status CancelStream(StreamId /*id*/) override { return OkStatus(); }

  void Send(std::size_t track, std::int64_t number) {
    const std::vector<std::uint8_t> bytes(10);
    static_cast<void>(sink_->packets()->WritePacket({.track = track,
                                                     .bytes = bytes,
                                                     .pts_ns = number * kStep,
                                                     .dts_ns = number * kStep,
                                                     .duration_ns = kStep,
                                                     .key = true}));
  }
  void End(Status status) { sink_->Finish({.status = std::move(status), .measures = {}}); }

 private:
  Result<StreamId> Take(std::unique_ptr<StreamSink> sink) {
    sink_ = std::move(sink);
    EXPECT_TRUE(sink_->Start({.content_type = {}, .adjustments = {}, .seconds = 60}).ok());
    EXPECT_TRUE(
        sink_->packets()
            ->OnTracks(
                {{.codec = "h264", .width = 64, .height = 64},
                 {.kind = TrackKind::kAudio, .codec = "opus", .sample_rate = 48000, .channels = 2}})
            .ok());
    return StreamId{++streams_};
  }

  std::unique_ptr<StreamSink> sink_;
  std::uint64_t streams_ = 0;
};

// Of one track: the times of what comes out of its appsrc, which goes no farther. What has no time
// is no packet, and does.
class Taken {
 public:
  void Follow(GstPad* pad) {
    gst_pad_add_probe(
        pad,
        static_cast<GstPadProbeType>(GST_PAD_PROBE_TYPE_BUFFER |
                                     GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM),
        [](GstPad*, GstPadProbeInfo* info, gpointer self) noexcept {
          return static_cast<Taken*>(self)->OnItem(*info);
        },
        this, nullptr);
  }
  void Forget() {
    const MutexLock lock(mutex_);
    times_.clear();
  }
  // Waits for the first; -1 if none comes.
  std::int64_t First() {
    const TimePoint deadline = SteadyNow() + std::chrono::seconds(10);
    const MutexLock lock(mutex_);
    while (times_.empty() && SteadyNow() < deadline) {
      came_.WaitFor(mutex_, deadline - SteadyNow());
    }
    return times_.empty() ? -1 : times_.front();
  }
  bool ended() {
    const MutexLock lock(mutex_);
    return ended_;
  }
  // While it is held the next packet is not due, as in front of a sink that keeps time.
  void Hold(bool held) {
    const MutexLock lock(mutex_);
    held_ = held;
    came_.NotifyAll();
  }
  bool played_out() const { return played_out_; }

 private:
  GstPadProbeReturn OnItem(GstPadProbeInfo& info) {
    const MutexLock lock(mutex_);
    if ((GST_PAD_PROBE_INFO_TYPE(&info) & GST_PAD_PROBE_TYPE_BUFFER) == 0) {
      if (GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(&info)) == GST_EVENT_EOS) ended_ = true;
      return GST_PAD_PROBE_OK;
    }
    if (!GST_BUFFER_PTS_IS_VALID(GST_PAD_PROBE_INFO_BUFFER(&info))) {
      played_out_ = true;
      return GST_PAD_PROBE_OK;
    }
    times_.push_back(static_cast<std::int64_t>(GST_BUFFER_PTS(GST_PAD_PROBE_INFO_BUFFER(&info))));
    came_.NotifyAll();
    while (held_) came_.Wait(mutex_);
    return GST_PAD_PROBE_DROP;
  }

  Mutex mutex_;
  CondVar came_;
  std::vector<std::int64_t> times_ GOPMILL_GUARDED_BY(mutex_);
  bool ended_ GOPMILL_GUARDED_BY(mutex_) = false;
  bool held_ GOPMILL_GUARDED_BY(mutex_) = false;
  std::atomic<bool> played_out_ = false;  // the last that a stream has brought which failed
};

bool BecomesTrue(const std::function<bool()>& condition) {
  const TimePoint deadline = SteadyNow() + std::chrono::seconds(10);
  while (!condition() && SteadyNow() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return condition();
}

class PlaybackTest : public testing::Test {
 protected:
  void SetUp() override {
    StartGStreamer();
    auto opened = Playback::Open(service_, {.path = "movie.mp4", .params = {}}, {});
    ASSERT_TRUE(opened.ok()) << opened.error().ToString();
    const auto bin = Playback::MakeBin(*opened);
    ASSERT_TRUE(bin.ok()) << bin.error().ToString();
    bin_ = *bin;
    pipeline_ = gst::Adopt(GST_ELEMENT(gst_object_ref_sink(gst_pipeline_new(nullptr))));
    gst_bin_add(GST_BIN(pipeline_.get()), bin_);
    for (std::size_t track = 0; track < taken_.size(); ++track) {
      const std::string name = "src" + std::to_string(track);
      const auto source = gst::Adopt(gst_bin_get_by_name(GST_BIN(bin_), name.c_str()));
      pads_[track] = gst::Adopt(gst_element_get_static_pad(source.get(), "src"));
      taken_[track].Follow(pads_[track].get());
    }
    gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING);
    for (std::size_t track = 0; track < taken_.size(); ++track) {
      service_.Send(track, 0);
      ASSERT_EQ(taken_[track].First(), 0);
    }
  }
  void TearDown() override {
    if (pipeline_ != nullptr) gst_element_set_state(pipeline_.get(), GST_STATE_NULL);
  }
  void Seek(std::size_t track, std::int64_t place) {
    taken_[track].Forget();
    EXPECT_TRUE(gst_pad_send_event(
        pads_[track].get(), gst_event_new_seek(1.0, GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
                                               GST_SEEK_TYPE_SET, place, GST_SEEK_TYPE_NONE, -1)));
  }

  ScriptedService service_;
  gst::Object<GstElement> pipeline_;
  GstElement* bin_ = nullptr;
  std::array<gst::Object<GstPad>, 2> pads_;
  std::array<Taken, 2> taken_;
};

// The stream of the new place may bring sound before the seek has come to that track, too.
TEST_F(PlaybackTest, ASeekLosesNothingOfTheTrackThatHearsOfItLast) {
  constexpr std::int64_t kPlace = 5'000'000'000;
  Seek(0, kPlace);
  for (std::int64_t number = 0; number < 10; ++number) service_.Send(1, number);
  Seek(1, kPlace);
  EXPECT_EQ(taken_[1].First(), kPlace);
}

// Its players are sent away then, who have pictures to come where the sound is shorter.
TEST_F(PlaybackTest, AStreamThatFailedIsPlayedOut) {
  taken_[0].Hold(true);
  for (std::int64_t number = 1; number < 5; ++number) service_.Send(0, number);
  service_.End(Cancelled());
  EXPECT_TRUE(BecomesTrue([this] { return taken_[1].played_out(); })) << "the sound";
  EXPECT_FALSE(Playback::Failed(*bin_)) << "pictures wait";
  EXPECT_FALSE(taken_[0].played_out());
  taken_[0].Hold(false);
  EXPECT_TRUE(BecomesTrue([this] { return Playback::Failed(*bin_); }));
}

TEST_F(PlaybackTest, AFailureIsNoEnd) {
  EXPECT_FALSE(Playback::Failed(*bin_));
  service_.End(Cancelled());
  EXPECT_TRUE(BecomesTrue([this] { return Playback::Failed(*bin_); }));
  // What is behind it comes out as ever, so that an end would have.
  constexpr std::int64_t kPlace = 2'000'000'000;
  Seek(0, kPlace);
  EXPECT_FALSE(Playback::Failed(*bin_)) << "another stream plays";
  service_.Send(0, 0);
  EXPECT_EQ(taken_[0].First(), kPlace);
  EXPECT_FALSE(taken_[0].ended());
}

}  // namespace
}  // namespace gopmill
