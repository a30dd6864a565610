// SPDX-License-Identifier: Apache-2.0
#include "media/source.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <string_view>
#include <thread>

#include "media/decoder_table.h"

namespace gopmill {
namespace {

TEST(Source, RefusesADescriptorThatIsNotOpen) {
  EXPECT_FALSE(Source::Open(UniqueFd(), {}).ok()) << "and does not wait for it";
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  const auto unreadable = Source::Open(UniqueFd(ends[1]), {});
  ASSERT_FALSE(unreadable.ok()) << "an end that is only written to";
  EXPECT_FALSE(unreadable.error().message.empty());
}

// Matroska's header, and attachments one behind the other.
TEST(Source, ReadsNoHeaderWithoutAnEnd) {
  constexpr std::size_t kPayload = std::size_t{100} << 20U;
  const auto element = [](std::string_view id, std::size_t bytes) {
    std::string text(id);
    for (int shift = 56; shift >= 0; shift -= 8) {
      text += static_cast<char>((bytes | std::size_t{1} << 56U) >> shift & 0xff);
    }
    return text;
  };
  const std::string data = element("\x46\x5c", kPayload);
  const std::string file = element("\x61\xa7", data.size() + kPayload);
  const std::string head =
      element("\x19\x41\xa4\x69", file.size() + data.size() + kPayload) + file + data;
  const std::string begin = element("\x1a\x45\xdf\xa3", 11) + "\x42\x82\x88matroska" +
                            "\x18\x53\x80\x67\x01" + std::string(7, '\xff');
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  signal(SIGPIPE, SIG_IGN);
  std::thread sender([&, end = UniqueFd(ends[1])] {
    const std::string piece(std::size_t{1} << 20U, '\0');
    const auto send = [&](const std::string& bytes) {
      return write(end.get(), bytes.data(), bytes.size()) == std::ssize(bytes);
    };
    bool read = send(begin);
    for (int i = 0; i < 10 && read; ++i) {
      read = send(head);
      for (int part = 0; part < 100 && read; ++part) read = send(piece);
    }
    EXPECT_FALSE(read) << "all of it was read";
  });
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  const auto source = Source::Open(UniqueFd(ends[0]), {});
  getrusage(RUSAGE_SELF, &after);
  sender.join();
  ASSERT_FALSE(source.ok());
  EXPECT_EQ(source.error().code, Code::kUnsupported);
  EXPECT_NE(source.error().message.find("256 MiB"), std::string::npos) << source.error().message;
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 400L << 10U) << "kilobytes";
}

TEST(Source, WaitsForTheBytesOfItsHeaderAsLongAsItIsTold) {
  for (const bool drips : {false, true}) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    signal(SIGPIPE, SIG_IGN);
    // A byte now and then, as long as somebody reads: fewer than FFmpeg needs to tell anything.
    std::jthread sender([&, end = UniqueFd(ends[1])](const std::stop_token& stop) {
      while (!stop.stop_requested() && (!drips || write(end.get(), "G", 1) == 1)) {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
    const auto source =
        Source::Open(UniqueFd(ends[0]), {}, {.opening_waits = std::chrono::milliseconds(300)});
    ASSERT_FALSE(source.ok());
    EXPECT_EQ(source.error().code, Code::kDeadlineExceeded) << source.error().ToString();
  }
}

TEST(DecoderTable, TakesWhatItNamesAndNothingElse) {
  for (const char* name :
       {"mpeg1video", "mpeg2video", "mpeg4",  "h264",    "hevc",    "vp8",      "vp9",
        "av1",        "mjpeg",      "prores", "dvvideo", "theora",  "rawvideo", "msmpeg4v2",
        "msmpeg4v3",  "wmv1",       "wmv2",   "h263",    "flv1",    "vp6",      "vp6f",
        "vp6a",       "dnxhd",      "cfhd",   "ffv1",    "huffyuv", "ffvhuff",  "utvideo"}) {
    EXPECT_TRUE(SourceCodecAllowed(TrackKind::kVideo, name)) << name;
    const AVCodec* decoder = FindSourceDecoder(TrackKind::kVideo, name);
    ASSERT_NE(decoder, nullptr) << name;
    EXPECT_NE(("," + DecoderWhitelist() + ",").find("," + std::string(decoder->name) + ","),
              std::string::npos);
  }
  EXPECT_FALSE(SourceCodecAllowed(TrackKind::kVideo, "exr"));
  EXPECT_FALSE(SourceCodecAllowed(TrackKind::kVideo, ""));
  EXPECT_FALSE(SourceCodecAllowed(TrackKind::kVideo, "aac"));
  EXPECT_TRUE(SourceCodecAllowed(TrackKind::kAudio, "aac"));
  EXPECT_TRUE(SourceCodecAllowed(TrackKind::kAudio, "pcm_s16le"));
  EXPECT_TRUE(SourceCodecAllowed(TrackKind::kAudio, "wmav2"));
  EXPECT_FALSE(SourceCodecAllowed(TrackKind::kAudio, "wmavoice"));
}

}  // namespace
}  // namespace gopmill
