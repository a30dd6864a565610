// SPDX-License-Identifier: Apache-2.0
//
// Files that are opened although they begin oddly, or are not the ones any more that they were.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

extern "C" {
#include <libavformat/avformat.h>
}

#include "media/source.h"
#include "tests/integration/test_streams.h"

namespace gopmill::test {
namespace {

std::string BytesAt(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

UniqueFd InMemory(const std::string& bytes) {
  UniqueFd file(memfd_create("movie", 0));
  EXPECT_EQ(pwrite(file.get(), bytes.data(), bytes.size(), 0), std::ssize(bytes));
  return file;
}

std::vector<av::Packet> PicturesOf(const std::string& path) {
  AVFormatContext* format = nullptr;
  EXPECT_EQ(avformat_open_input(&format, path.c_str(), nullptr, nullptr), 0);
  EXPECT_GE(avformat_find_stream_info(format, nullptr), 0);
  const int video = av_find_best_stream(format, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  std::vector<av::Packet> pictures;
  for (av::Packet packet = av::NewPacket(); av_read_frame(format, packet.get()) >= 0;
       packet = av::NewPacket()) {
    if (packet->stream_index == video) pictures.push_back(std::move(packet));
  }
  avformat_close_input(&format);
  return pictures;
}

std::string Pes(char stream, const std::string& time, const std::string& payload) {
  const std::size_t length = 3 + time.size() + payload.size();
  return std::string("\0\0\1", 3) + stream + static_cast<char>(length >> 8U) +
         static_cast<char>(length & 0xffU) + '\x81' + (time.empty() ? '\0' : '\x80') +
         static_cast<char>(time.size()) + time + payload;
}

std::string Pts(std::int64_t ticks) {
  const auto part = [ticks](int shift) {
    return static_cast<char>((static_cast<std::uint64_t>(ticks) >> shift & 0x7fU) << 1U | 1U);
  };
  const auto whole = [ticks](int shift) {
    return static_cast<char>(static_cast<std::uint64_t>(ticks) >> shift & 0xffU);
  };
  const auto top = static_cast<std::uint64_t>(ticks) >> 30U & 7U;
  return {static_cast<char>(0x21U | top << 1U), whole(22), part(15), whole(7), part(0)};
}

// A key picture without a time, the beginning of another one, and then sound alone.
std::string PictureAndSound(std::int64_t packets) {
  std::string stream("\0\0\1\xba\x44\0\x04\0\x04\x01\0\x01\x89\xf8", 14);
  const av::Packet key = std::move(PicturesOf(MoviePath("ref-talk.mpg")).front());
  const std::string picture(reinterpret_cast<const char*>(key->data),
                            static_cast<std::size_t>(key->size));
  for (const std::string& bytes : {picture, picture}) {
    for (std::size_t at = 0; at < bytes.size(); at += 2000) {
      stream += Pes('\xe0', "", bytes.substr(at, 2000));
    }
  }
  const std::string frame = "\xff\xfd\xa4" + std::string(573, '\0');  // 24 ms of MP2
  for (std::int64_t n = 0; n < packets; ++n) stream += Pes('\xc0', Pts(90'000 + n * 2160), frame);
  return stream;
}

// What it is read to is bounded, as for other pictures that do not come.
TEST(OddSources, AFirstPictureWithoutATimeIsNotWaitedForWithoutAnEnd) {
  constexpr std::int64_t kSound = 60'000;
  const std::string bytes = PictureAndSound(kSound);
  const UniqueFd file = InMemory(bytes);
  const auto source = Source::Open(UniqueFd(dup(file.get())), {});
  ASSERT_TRUE(source.ok()) << source.error().ToString();
  EXPECT_LT(lseek(file.get(), 0, SEEK_CUR), std::ssize(bytes) * 2 / 3);
  std::int64_t pictures = 0, sounds = 0;
  for (av::Packet packet = av::NewPacket();; packet = av::NewPacket()) {
    const auto state = (*source)->Read(*packet);
    ASSERT_TRUE(state.ok());
    if (*state == PacketSource::ReadState::kEnd) break;
    ++(*state == PacketSource::ReadState::kVideo ? pictures : sounds);
  }
  EXPECT_GE(pictures, 1);
  EXPECT_GE(sounds, kSound - 2) << "all is there";
}

// Pictures of a later place that nothing can decode, and the movie.
TEST(OddSources, TextsAreNotMovedByPicturesThatAreLeftOut) {
  const std::string path = MoviePath("open-gop-480p.ts"), whole = BytesAt(path);
  const std::vector<av::Packet> pictures = PicturesOf(path);
  std::vector<std::size_t> keys;
  for (std::size_t n = 0; n < pictures.size(); ++n) {
    if ((pictures[n]->flags & AV_PKT_FLAG_KEY) != 0) keys.push_back(n);
  }
  ASSERT_GT(keys.size(), 5U);
  const auto place = [&](std::size_t n) { return static_cast<std::size_t>(pictures[n]->pos); };
  const std::size_t begin = place(keys[4] + 1), end = place(keys[5]);
  const UniqueFd file = InMemory(whole.substr(begin, end - begin) + whole);
  const auto source = Source::Open(UniqueFd(dup(file.get())), {}, {.texts = TextUse::kScript});
  ASSERT_TRUE(source.ok()) << source.error().ToString();
  EXPECT_GT((*source)->skipped(), 10);
  for (int n = 0; n < 500; ++n) {
    const av::Packet packet = av::NewPacket();
    ASSERT_TRUE((*source)->Read(*packet).ok());
  }
  EXPECT_TRUE((*source)->jumps().empty());
}

// The pictures of a movie, and so many tracks of text, in Matroska.
std::string WithTexts(const std::string& movie, int texts) {
  AVFormatContext *in = nullptr, *out = nullptr;
  EXPECT_EQ(avformat_open_input(&in, MoviePath(movie).c_str(), nullptr, nullptr), 0);
  EXPECT_GE(avformat_find_stream_info(in, nullptr), 0);
  const int video = av_find_best_stream(in, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  EXPECT_GE(avformat_alloc_output_context2(&out, nullptr, "matroska", nullptr), 0);
  avcodec_parameters_copy(avformat_new_stream(out, nullptr)->codecpar,
                          in->streams[video]->codecpar);
  for (int n = 0; n < texts; ++n) {
    AVCodecParameters& text = *avformat_new_stream(out, nullptr)->codecpar;
    text.codec_type = AVMEDIA_TYPE_SUBTITLE;
    text.codec_id = AV_CODEC_ID_SUBRIP;
  }
  EXPECT_GE(avio_open_dyn_buf(&out->pb), 0);
  EXPECT_GE(avformat_write_header(out, nullptr), 0);
  for (av::Packet packet = av::NewPacket(); av_read_frame(in, packet.get()) >= 0;) {
    if (packet->stream_index == video) {
      av_packet_rescale_ts(packet.get(), in->streams[video]->time_base, out->streams[0]->time_base);
      packet->stream_index = 0;
      EXPECT_GE(av_interleaved_write_frame(out, packet.get()), 0);
    }
    av_packet_unref(packet.get());
  }
  EXPECT_EQ(av_write_trailer(out), 0);
  std::uint8_t* bytes = nullptr;
  const int size = avio_close_dyn_buf(out->pb, &bytes);
  std::string file(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  av_free(bytes);
  out->pb = nullptr;
  avformat_free_context(out);
  avformat_close_input(&in);
  return file;
}

// Who writes over a movie that is read gets what comes of it, or an error.
TEST(OddSources, AFileThatHasFewerTracksWhenItIsOpenedAgain) {
  const std::string many = WithTexts("sync-720p.mp4", 30), none = WithTexts("sync-720p.mp4", 0);
  const UniqueFd file = InMemory(many);
  const auto source = Source::Open(UniqueFd(dup(file.get())), {}, {.texts = TextUse::kScript});
  ASSERT_TRUE(source.ok()) << source.error().ToString();
  ASSERT_EQ((*source)->info()->subtitles.size(), 30U);
  ASSERT_EQ(ftruncate(file.get(), 0), 0);
  ASSERT_EQ(pwrite(file.get(), none.data(), none.size(), 0), std::ssize(none));
  const Status begun = (*source)->SeekBefore({-1, 1});  // nothing is there: from the beginning
  ASSERT_TRUE(begun.ok()) << begun.error().ToString();
  const av::Packet packet = av::NewPacket();
  const auto state = (*source)->Read(*packet);
  ASSERT_TRUE(state.ok());
  EXPECT_EQ(*state, PacketSource::ReadState::kVideo);
}

}  // namespace
}  // namespace gopmill::test
