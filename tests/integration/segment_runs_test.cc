// SPDX-License-Identifier: Apache-2.0
//
// Segments that go on with what the one before was decoded with: the same bytes as those that were
// decoded from their key picture, and each GOP of the source decoded once.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "server/segments/segment_service.h"
#include "server/stream/engine.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

class DecodedPictures : public UnitObserver {
 public:
  void OnEnded(const UnitLife& life) noexcept override {
    count += life.stats.selection.decoded;
    if (life.stats.encodes > 1) ++encoded_again;
  }
  void OnReleased(UnitId /*unit*/, TimePoint /*when*/) noexcept override {}
  std::atomic<std::int64_t> count = 0, encoded_again = 0;
};

using Segments = std::vector<std::string>;

// Makes segments of one movie, and keeps none.
class Maker {
 public:
  Maker(const std::string& folder, std::string movie, std::string request)
      : movie_(std::move(movie)), request_(std::move(request)) {
    auto library = Library::Open(folder);
    EXPECT_TRUE(library.ok());
    library_.emplace(std::move(library).value());
    scripts_.emplace(*library_);
    auto engine = Engine::Create({.scheduler = {.workers = 2}});
    EXPECT_TRUE(engine.ok()) << engine.error().ToString();
    engine_ = std::move(engine).value();
    service_.emplace(*library_, *scripts_, engine_->scheduler(), SegmentOptions{}, decoded_);
    EXPECT_TRUE(service_->Start().ok());
  }

  Result<MediaPart> Ask(const std::string& name) {
    std::promise<Result<MediaPart>> answer;
    service_->Open({.path = movie_, .name = name, .params = Params(), .if_none_match = ""},
                   [&](Result<MediaPart> part) { answer.set_value(std::move(part)); });
    return answer.get_future().get();
  }
  std::string Make(std::size_t number) {
    const auto part = Ask("v0-" + std::to_string(number) + ".m4s");
    EXPECT_TRUE(part.ok()) << part.error().ToString();
    return part.ok() ? *part->bytes : "";
  }
  std::size_t Count() {
    const auto playlist = Ask("v0.m3u8");
    EXPECT_TRUE(playlist.ok()) << playlist.error().ToString();
    std::size_t count = 0;
    for (std::size_t at = 0; (at = playlist->bytes->find("#EXTINF", at)) != std::string::npos; ++at)
      ++count;
    return count;
  }
  Segments Forward() {
    Segments made(Count());
    for (std::size_t k = 0; k < made.size(); ++k) made[k] = Make(k);
    return made;
  }
  Segments Backward() {
    Segments made(Count());
    for (std::size_t k = made.size(); k-- > 0;) made[k] = Make(k);
    return made;
  }
  [[nodiscard]] SegmentStats stats() const { return service_->stats(); }
  [[nodiscard]] std::int64_t decoded() const { return decoded_->count; }
  [[nodiscard]] std::int64_t encoded_again() const { return decoded_->encoded_again; }
  SegmentService& service() { return *service_; }

 private:
  [[nodiscard]] RequestParams Params() const {
    RequestParams params{{"preset", "ultrafast"}};
    if (request_.find("width=") == std::string::npos) params.emplace_back("width", "96");
    std::istringstream words(request_);
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      params.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    }
    return params;
  }

  const std::string movie_, request_;
  std::optional<Library> library_;
  std::optional<ScriptShelf> scripts_;
  std::unique_ptr<Engine> engine_;
  const std::shared_ptr<DecodedPictures> decoded_ = std::make_shared<DecodedPictures>();
  std::optional<SegmentService> service_;  // goes first
};

struct Case {
  const char* name;
  const char* movie;
  const char* request;
  bool goes_on = true;
};

class SegmentRuns : public testing::TestWithParam<Case> {};

TEST_P(SegmentRuns, GoneOnWithAreTheSameBytes) {
  const auto& [name, movie, request, goes_on] = GetParam();
  Maker there("movies/files", movie, request), back("movies/files", movie, request);
  const Segments forward = there.Forward(), backward = back.Backward();
  ASSERT_GT(forward.size(), 4U);
  EXPECT_EQ(forward, backward);
  EXPECT_EQ(there.stats().went_on > 0, goes_on);
  EXPECT_EQ(back.stats().went_on, 0U);
  if (goes_on) {
    EXPECT_LT(there.decoded(), back.decoded());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Movies, SegmentRuns,
    testing::Values(Case{"H264", "modern-720p.mp4", "segment=1 duration=12"},
                    Case{"FewerPictures", "modern-720p.mp4", "segment=1 duration=12 fps=7"},
                    Case{"MorePictures", "modern-720p.mp4", "segment=0.7 duration=6 fps=50"},
                    Case{"FromTheMiddle", "modern-720p.mp4", "segment=1 duration=8 start=3.3"},
                    Case{"ToTheEnd", "modern-720p.mp4", "segment=0.5 start=55"},
                    Case{"Capped", "modern-720p.mp4",
                         "segment=1 duration=8 bitrate=60k maxrate=66k bufsize=40k"},
                    Case{"ToHevc", "modern-720p.mp4",
                         "segment=1 duration=8 bitrate=60k vcodec=hevc"},
                    Case{"Hevc", "hevc10-540p.mp4", "segment=0.5 duration=7"},
                    Case{"OpenGops", "open-gop-480p.ts", "segment=0.5 duration=6"},
                    Case{"VariableFrameRate", "vfr-540p.mkv", "segment=0.5 duration=6"},
                    Case{"ShortGops", "ref-talk.mpg", "segment=2 duration=12", false}),
    [](const auto& each) { return each.param.name; });

// Each picture once, and what it takes to know that the last one has come. From their key pictures
// it would be each two and a half times.
TEST(SegmentRunsTest, AreDecodedOnce) {
  Maker maker("movies/files", "modern-720p.mp4", "segment=0.5 duration=12 fps=30");
  ASSERT_EQ(maker.Forward().size(), 24U);
  const std::int64_t pictures = 12 * 30;
  EXPECT_GE(maker.decoded(), pictures);
  EXPECT_LT(maker.decoded(), pictures * 3 / 2);
}

// So large that its frames are not kept for the second pass, which has to begin at the key picture.
TEST(SegmentRunsTest, ThatAreEncodedAgainAreDecodedAgain) {
  const char* request = "segment=1 duration=4 width=1280 bitrate=400k maxrate=420k bufsize=60k";
  Maker there("movies/files", "modern-720p.mp4", request),
      back("movies/files", "modern-720p.mp4", request);
  EXPECT_EQ(there.Forward(), back.Backward());
  EXPECT_GT(there.stats().went_on, 0U);
  EXPECT_GT(there.encoded_again(), 0);
  EXPECT_GT(there.decoded(), 4 * 30 * 3 / 2);
}

TEST(SegmentRunsTest, ThatNobodyGoesOnWithAreDropped) {
  Maker maker("movies/files", "modern-720p.mp4", "segment=0.5 duration=4");
  maker.Make(0);
  EXPECT_GT(maker.stats().run_bytes, 0U);
  maker.service().CloseReaders(SteadyNow());
  EXPECT_EQ(maker.stats().run_bytes, 0U);
  maker.Make(1);
  EXPECT_EQ(maker.stats().went_on, 0U);
  maker.Make(2);
  EXPECT_EQ(maker.stats().went_on, 1U);
}

// A folder with a copy of modern-720p.mp4, whose groups have two seconds, as `change` makes it.
class ChangedMovie {
 public:
  explicit ChangedMovie(const std::function<void(std::string& bytes)>& change) {
    EXPECT_NE(mkdtemp(folder_.data()), nullptr);
    std::ifstream in(MoviePath("modern-720p.mp4"), std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    EXPECT_GT(bytes.size(), 1'000'000U);
    change(bytes);
    std::ofstream(folder_ + "/damaged.mp4", std::ios::binary) << bytes;
  }
  ~ChangedMovie() { std::filesystem::remove_all(folder_); }
  ChangedMovie(const ChangedMovie&) = delete;
  ChangedMovie& operator=(const ChangedMovie&) = delete;
  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  std::string folder_ = testing::TempDir() + "/gopmill-runs-XXXXXX";
};

void Damage(std::string& bytes, std::size_t at, std::size_t count) {
  for (std::size_t i = at; i < at + count; ++i) bytes[i] = static_cast<char>(bytes[i] ^ 0x5a);
}

// Where a decoder patches what is damaged, it may depend on what it has decoded before.
TEST(SegmentRunsTest, AreNotGoneOnWithWhereTheSourceIsDamaged) {
  const ChangedMovie movie([](std::string& bytes) {
    for (std::size_t at = bytes.size() / 10; at < bytes.size() / 5; at += 150'001)
      Damage(bytes, at, 40);
  });
  const char* request = "segment=1 duration=12";
  Maker there(movie.folder(), "damaged.mp4", request), back(movie.folder(), "damaged.mp4", request);
  const Segments forward = there.Forward(), backward = back.Backward();
  EXPECT_EQ(forward, backward);
  EXPECT_GT(there.stats().patched + there.stats().concealed, 0U);
  EXPECT_GT(there.stats().went_on, 0U) << "those that are not damaged";
}

// The bytes of a large picture that is shown at or soon after this time.
std::span<char> PictureAt(std::string& bytes, double seconds) {
  constexpr int kLarge = 2000;
  AVFormatContext* open = nullptr;
  EXPECT_EQ(avformat_open_input(&open, MoviePath("modern-720p.mp4").c_str(), nullptr, nullptr), 0);
  const std::unique_ptr<AVFormatContext, void (*)(AVFormatContext*)> format(
      open, [](AVFormatContext* context) { avformat_close_input(&context); });
  const av::Packet packet(av_packet_alloc());
  while (av_read_frame(format.get(), packet.get()) >= 0) {
    const AVStream& stream = *format->streams[packet->stream_index];
    if (stream.codecpar->codec_type == AVMEDIA_TYPE_VIDEO && packet->size > kLarge &&
        static_cast<double>(packet->pts) * av_q2d(stream.time_base) >= seconds) {
      return std::span(bytes).subspan(static_cast<std::size_t>(packet->pos),
                                      static_cast<std::size_t>(packet->size));
    }
    av_packet_unref(packet.get());
  }
  ADD_FAILURE() << "nothing is so late";
  return {};
}

struct MadeOne {
  std::string bytes;
  std::int64_t decoded = 0;
  bool went_on = false;
};

MadeOne MakeOne(Maker& maker, std::size_t number) {
  const std::int64_t decoded = maker.decoded();
  const std::uint64_t went_on = maker.stats().went_on;
  std::string bytes = maker.Make(number);
  return {std::move(bytes), maker.decoded() - decoded, maker.stats().went_on > went_on};
}

// Damage in the third of the four segments of a group. It has gone on when that shows, and is made
// from the key picture as if it had been asked for alone; nobody goes on with it.
TEST(SegmentRunsTest, ThatMeetDamageAreMadeAnewFromTheKeyPicture) {
  const ChangedMovie movie([](std::string& bytes) {
    const std::span<char> picture = PictureAt(bytes, 5.25);
    for (char& byte : picture.subspan(picture.size() / 2)) byte = static_cast<char>(byte ^ 0x5a);
  });
  const char* request = "segment=0.5 duration=6";
  Maker there(movie.folder(), "damaged.mp4", request),
      alone(movie.folder(), "damaged.mp4", request);
  constexpr std::size_t kDamaged = 10, kCount = 12;
  ASSERT_EQ(there.Count(), kCount);
  for (std::size_t k = 0; k < kCount; ++k) {
    const auto [made, decoded, went_on] = MakeOne(there, k);
    EXPECT_EQ(went_on, k % 4 != 0 && k < kDamaged) << k;
    if (k < kDamaged) continue;
    const auto [made_alone, decoded_alone, never] = MakeOne(alone, k);
    EXPECT_EQ(made, made_alone) << k;
    EXPECT_FALSE(never);
    // The half a second that it had decoded when the damage showed.
    EXPECT_GE(decoded, decoded_alone + (k == kDamaged ? 15 : 0)) << k;
  }
}

}  // namespace
}  // namespace gopmill::test
