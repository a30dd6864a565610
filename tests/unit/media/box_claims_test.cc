// SPDX-License-Identifier: Apache-2.0
#include "media/box_claims.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "media/av_error.h"
#include "media/source.h"
#include "tests/unit/media/boxes.h"

namespace gopmill {
namespace {

using test::Big;
using test::Box;

std::string Join(std::initializer_list<std::uint32_t> values) {
  std::string text;
  for (const std::uint32_t value : values) text += Big(value);
  return text;
}

std::string LongBox(const std::string& name, const std::string& content) {
  return Big(1) + name + Big(content.size() + 16, 8) + content;
}

std::string Handler(const std::string& type) {
  return Box("hdlr", Join({0, 0}) + type + std::string(13, '\0'));
}

// A sample entry of sound, version 0.
std::string SoundEntry(const std::string& format) {
  return Box("stsd", Join({0, 1}) + Box(format, std::string(28, '\0')));
}

std::string PictureEntry() {
  return Box("stsd",
             Join({0, 1}) + Box("mp4v", std::string(7, '\0') + '\1' + std::string(16, '\0') +
                                            Big(64, 2) + Big(64, 2) + std::string(50, '\0')));
}

// All samples of one size and in one chunk, so that no table says anything of each.
std::string Tables(std::uint32_t samples) {
  return Box("stts", Join({0, 1, samples, 40})) + Box("stsc", Join({0, 1, 1, samples, 1})) +
         Box("stsz", Join({0, 1, samples})) + Box("stco", Join({0, 1, 0}));
}

std::string TrackBox(const std::string& handler, const std::string& tables) {
  const std::string head = Box("mdhd", Join({0, 0, 0, 1000, 1000, 0}));
  return Box("trak", Box("tkhd", Join({7, 0, 0, 1, 0, 1000}) + std::string(60, '\0')) +
                         Box("mdia", head + Handler(handler) +
                                         Box("minf", Handler("url ") + Box("stbl", tables))));
}

std::string Pictures(std::uint32_t samples) {
  return TrackBox("vide", PictureEntry() + Tables(samples));
}

std::string Movie(const std::string& tracks) {
  return Box("ftyp", "isom" + Join({0})) +
         Box("moov", Box("mvhd", Join({0, 0, 0, 1000, 1000}) + std::string(80, '\0')) + tracks);
}

// Ten hours, each sample listed; FFmpeg makes a packet of 1024 of them.
std::string RawSound(const std::string& format) {
  constexpr std::uint32_t kChunks = 36'000, kInChunk = 48'000;
  return TrackBox("soun", SoundEntry(format) + Box("stts", Join({0, 1, kChunks * kInChunk, 1})) +
                              Box("stsc", Join({0, 1, 1, kInChunk, 1})) +
                              Box("stsz", Join({0, 2, kChunks * kInChunk})) +
                              Box("stco", Join({0, kChunks}) + std::string(4 * kChunks, '\0')));
}

bool TooMany(const std::string& file, std::size_t piece = std::size_t{1} << 16U) {
  BoxClaims claims;
  for (std::size_t at = 0; at < file.size(); at += piece) {
    const std::string bytes = file.substr(at, piece);
    claims.Push({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
    if (claims.too_many()) return true;
  }
  return false;
}

UniqueFd AsFile(const std::string& bytes) {
  UniqueFd file(memfd_create("movie", 0));
  EXPECT_EQ(pwrite(file.get(), bytes.data(), bytes.size(), 0), std::ssize(bytes));
  return file;
}

UniqueFd AsPipe(const std::string& bytes) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  EXPECT_EQ(write(ends[1], bytes.data(), bytes.size()), std::ssize(bytes));
  close(ends[1]);
  return UniqueFd(ends[0]);
}

long PeakMebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

std::uint32_t Size(const std::string& box) { return static_cast<std::uint32_t>(box.size()); }

// Of that track: where pieces of such sizes begin, the first one so far behind the index.
std::string Index(std::uint32_t track, const std::vector<std::uint32_t>& sizes,
                  std::uint32_t ahead = 0, std::uint32_t version = 0) {
  std::string rows;
  for (const std::uint32_t size : sizes) rows += Join({size, 40, 0x90000000});
  const int width = version == 0 ? 4 : 8;
  return Box("sidx", Join({version << 24U, track, 1000}) + Big(0, width) + Big(ahead, width) +
                         Big(0, 2) + Big(sizes.size(), 2) + rows);
}

// Why it is refused before FFmpeg sees it; empty if it is not.
std::string Refused(const std::string& movie, bool piped) {
  const auto source = Source::Open(piped ? AsPipe(movie) : AsFile(movie), {});
  if (source.ok()) return "";
  for (const char* reason : {"more packets", "leads to where", "is compressed"}) {
    if (source.error().message.find(reason) != std::string::npos) return reason;
  }
  return "";
}

constexpr std::uint32_t kMany = 20'000'000;

TEST(BoxClaims, RefusesAHeaderThatClaimsMoreThanIsThere) {
  const std::string hostile = Movie(Pictures(kMany) + Pictures(kMany));
  const long before = PeakMebibytes();
  for (const bool piped : {false, true}) {
    const auto source = Source::Open(piped ? AsPipe(hostile) : AsFile(hostile), {});
    ASSERT_FALSE(source.ok());
    EXPECT_EQ(source.error().code, Code::kUnsupported);
    EXPECT_NE(source.error().message.find("more packets"), std::string::npos)
        << source.error().message;
  }
  EXPECT_LT(PeakMebibytes(), before + 200) << "and makes none of it";
}

TEST(BoxClaims, RefusesFragmentsThatClaimMoreThanIsThere) {
  const std::string packets = Box("trun", Join({0, kMany}));
  const std::string fragment =
      Box("moof", Box("traf", Box("tfhd", Join({0, 1})) + packets + packets));
  const long before = PeakMebibytes();
  for (const bool piped : {false, true}) {
    const std::string movie = Movie(Pictures(0)) + fragment;
    EXPECT_EQ(TooMany(movie), true);
    EXPECT_FALSE(Source::Open(piped ? AsPipe(movie) : AsFile(movie), {}).ok());
  }
  EXPECT_LT(PeakMebibytes(), before + 200);
}

TEST(BoxClaims, HearsOfFragmentsAfterTheHeaderToo) {
  BoxClaims claims;
  const auto push = [&](const std::string& bytes) {
    claims.Push({reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()});
  };
  push(Movie(Pictures(0)));
  claims.Opened();
  for (int i = 0; i < 100; ++i) push(Box("moof", Box("trun", Join({0x200, 1'000'000}))));
  EXPECT_FALSE(claims.too_many()) << "each of which brings its size";
  BoxClaims large = claims;
  for (int i = 0; i < 20; ++i) push(Box("moof", Box("trun", Join({0, 1'000'000}))));
  EXPECT_TRUE(claims.too_many());
  const std::string much = Box("moof", Box("trun", Join({0x200, kMany})));
  large.Push({reinterpret_cast<const std::uint8_t*>(much.data()), much.size()});
  EXPECT_TRUE(large.too_many()) << "FFmpeg makes room for all before it has seen one";
}

TEST(BoxClaims, CountsTheTracksTogetherAndInPieces) {
  const std::string few = Movie(Pictures(7'000'000) + Pictures(7'000'000));
  const std::string many = Movie(Pictures(7'000'000) + Pictures(7'000'000) + Pictures(7'000'000));
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, many.size()}) {
    EXPECT_FALSE(TooMany(few, piece));
    EXPECT_TRUE(TooMany(many, piece));
  }
}

TEST(BoxClaims, FindsThemWhereverTheyLie) {
  const std::string sizes = Join({0, 1, kMany});
  EXPECT_TRUE(TooMany(Movie(TrackBox("vide", LongBox("stsz", sizes)))));
  const std::string meta = Join({0}) + Handler("mdir");
  EXPECT_TRUE(TooMany(Movie(Box("udta", Box("meta", meta + Box("stsz", sizes))))));
  EXPECT_TRUE(TooMany(Box("trak", Box("stz2", sizes))));
  EXPECT_TRUE(TooMany(Box("ftyp", "isom") + Box("mdat", "media") + Movie(Pictures(kMany))));
  EXPECT_FALSE(TooMany(Box("ftyp", "isom") + Box("mdat", Movie(Pictures(kMany)))));
  EXPECT_TRUE(TooMany(Movie(TrackBox("vide", Box("ctts", Join({0, 1, kMany, 0}))))));
  EXPECT_TRUE(TooMany(Movie(Box("meta", meta + Box("keys", Join({0, 100'000'000}))))));
  const std::string entry = Box("mp4a", std::string(28, '\0') + Box("stsz", sizes));
  EXPECT_TRUE(TooMany(Movie(TrackBox("vide", Box("stsd", Join({0, 1}) + entry)))));
}

// The header of a fragmented movie lists nothing.
TEST(BoxClaims, TakesTablesWithoutRows) {
  const std::string none = PictureEntry() + Box("stts", Join({0, 0})) + Box("stsc", Join({0, 0})) +
                           Box("stsz", Join({0, 0, 0})) + Box("stco", Join({0, 0}));
  for (const std::size_t piece : {std::size_t{1}, std::size_t{1} << 16U}) {
    EXPECT_FALSE(TooMany(Movie(TrackBox("vide", none) + TrackBox("soun", none)), piece));
  }
}

TEST(BoxClaims, ReadsSizesAsFfmpegDoes) {
  const std::string sizes = Join({0, 1, kMany});
  const std::string to_the_end = Big(1) + "moov" + Big(8, 8) + Pictures(kMany);
  EXPECT_TRUE(TooMany(to_the_end));
  EXPECT_FALSE(Source::Open(AsFile(to_the_end), {}).ok());
  EXPECT_TRUE(TooMany(Box("moov", Box("moov", Pictures(kMany)))));
  EXPECT_TRUE(TooMany(Movie(Box("udta", Box("hoov", Pictures(kMany))))));
  const std::string handler = LongBox("hdlr", Join({0, 0}) + "mdir" + std::string(13, '\0'));
  EXPECT_TRUE(
      TooMany(Movie(TrackBox("vide", Box("meta", Join({0}) + handler + Box("stsz", sizes))))));
}

// Words of titles and comments have the letters of boxes.
TEST(BoxClaims, TakesNoTextForABox) {
  const std::string text = "aus Edelstahl geschweisst, Costco, Kontrakt, monkeys in the trunk";
  const std::string title =
      Box("\xa9"
          "nam",
          Box("data", Join({1, 0}) + text));
  const std::string list = Box("ilst", title + Box("covr", Box("data", Join({13, 0}) + text)));
  const std::string user = Box("udta", Box("meta", Join({0}) + Handler("mdir") + list));
  for (const std::string& tail : {user,
                                  Box("udta", Box("\xa9"
                                                  "cmt",
                                                  text)),
                                  Box("uuid", text)}) {
    const std::string movie = Movie(Pictures(1000) + RawSound("sowt") + tail) + Box("wide", text);
    for (const std::size_t piece : {std::size_t{1}, movie.size()}) {
      EXPECT_FALSE(TooMany(movie, piece));
    }
  }
}

TEST(BoxClaims, CountsWhatIsShownAgain) {
  const std::string edits = Box("edts", Box("elst", Join({0, 1000}) + std::string(12'000, '\0')));
  const std::string few = Box("elst", Join({0, 2}) + std::string(24, '\0'));
  EXPECT_FALSE(TooMany(Movie(TrackBox("vide", few + Tables(5'000'000)))));
  EXPECT_FALSE(TooMany(Movie(TrackBox("vide", edits + Tables(10'000)))));
  EXPECT_TRUE(TooMany(Movie(TrackBox("vide", edits + Tables(100'000)))));
  const std::string said = Box("elst", Join({0, 1}) + std::string(12'000, '\0'));
  EXPECT_TRUE(TooMany(Movie(TrackBox("vide", said + Tables(100'000))))) << "whatever it says";
}

TEST(BoxClaims, TakesHoursOfSoundWithoutFrames) {
  EXPECT_FALSE(TooMany(Movie(RawSound("sowt") + RawSound("in24") + Pictures(2'000'000))));
  EXPECT_FALSE(TooMany(Movie(RawSound("GSM "))));
  EXPECT_TRUE(TooMany(Movie(RawSound("GSM ") + RawSound("GSM "))));
  std::string pictures = RawSound("sowt");
  pictures.replace(pictures.find("soun"), 4, "vide");
  EXPECT_TRUE(TooMany(Movie(pictures)));
  const std::string one_chunk = SoundEntry("sowt") + Box("stts", Join({0, 1, 1, 1})) +
                                Box("stsc", Join({0, 1, 1, 0xffffffff, 1})) +
                                Box("stsz", Join({0, 2, 1}));
  EXPECT_TRUE(TooMany(
      Movie(TrackBox("soun", one_chunk + Box("stco", Join({0, 10}) + std::string(40, '\0'))))));
}

TEST(BoxClaims, IsNotDeceivedByATrackInATrack) {
  const std::string decoy = Box("free", Box("trak", Handler("soun")));
  EXPECT_TRUE(TooMany(Movie(TrackBox("vide", decoy + Tables(kMany)))));
  const std::string cut = Box("stsc", Join({0, 3, 1, 1, 1}));  // of three rows one is there
  EXPECT_TRUE(TooMany(Movie(TrackBox("soun", cut) + Pictures(1))));
}

// FFmpeg takes a header in a sample entry for one, with its tracks.
TEST(BoxClaims, TakesNoTracksInASampleEntry) {
  constexpr std::uint32_t kEach = 1'000'000;
  std::string tracks;
  for (int i = 0; i < 20; ++i) tracks += Box("trak", Handler("vide") + Tables(kEach));
  const std::string picture =
      std::string(24, '\0') + Big(64, 2) + Big(64, 2) + std::string(50, '\0');
  const auto movie = [&](const std::string& inner) {
    const std::string entries = Box("stsd", Join({0, 1}) + Box("mp4v", picture + inner));
    return Movie(Box("trak", Handler("vide") + entries + Tables(kEach)));
  };
  for (const std::string name : {"moov", "hoov"}) {
    const std::string head = Box("mvhd", std::string(100, '\0'));
    EXPECT_TRUE(TooMany(movie(Box(name, head + tracks)))) << name;
    EXPECT_TRUE(TooMany(movie(LongBox(name, head + tracks)), 1)) << name;
  }
  EXPECT_FALSE(TooMany(movie(Box("name", "Autotrak")))) << "text";
}

// What FFmpeg passes over says nothing of a track, and ends none.
TEST(BoxClaims, KeepsTracksApart) {
  const std::string single = Box("stts", Join({0, 1, kMany, 1})) +
                             Box("stsc", Join({0, 1, 1, kMany, 1})) +
                             Box("stsz", Join({0, 1, kMany})) + Box("stco", Join({0, 1, 0}));
  const std::string pictures = TrackBox("text", PictureEntry() + single);
  EXPECT_TRUE(TooMany(Movie(Handler("soun") + pictures)));
  const std::string before = Box("stts", Join({0, 1, kMany, 40})) +
                             Box("stsc", Join({0, 1, 1, kMany, 1})) + Box("stco", Join({0, 1, 0}));
  const std::string after = Handler("soun") + Box("stsz", Join({0, 1, kMany}));
  EXPECT_TRUE(TooMany(Movie(TrackBox("soun", before + Box("free", Box("trak", "")) + after))));
}

// FFmpeg mends rows that are in no order by the one behind them.
TEST(BoxClaims, CountsRowsThatAreMended) {
  constexpr std::uint32_t kRows = 1000;
  const auto movie = [](const std::string& empty) {
    std::string rows;
    for (std::uint32_t i = 1; i < kRows; ++i) rows += empty;
    return Movie(
        TrackBox("soun", SoundEntry("sowt") + Box("stts", Join({0, 1, 45'000'000, 1})) +
                             Box("stsc", Join({0, kRows}) + rows + Join({kRows, 45'000'000, 1})) +
                             Box("stsz", Join({0, 2, 45'000'000})) +
                             Box("stco", Join({0, kRows}) + std::string(4 * kRows, '\0'))));
  };
  EXPECT_TRUE(TooMany(movie(Join({0, 0, 0}))));
  EXPECT_TRUE(TooMany(movie(Join({1, 0, 1}))));
}

// The index is of tracks that there are; what is not a fragment is read behind the media too.
TEST(BoxClaims, IsNotDeceivedByAnIndex) {
  const std::string index = Box("sidx", Join({0, 1, 1000, 0, 0, 0}));
  const std::string media = Box("mdat", "x"), hostile = Pictures(kMany) + Pictures(kMany);
  const std::string movie = Movie(Pictures(0));
  for (const std::string& file :
       {Box("ftyp", "isom") + index + media + Movie(hostile), movie + index + media + hostile}) {
    const auto source = Source::Open(AsFile(file), {});
    ASSERT_FALSE(source.ok());
    EXPECT_NE(source.error().message.find("more packets"), std::string::npos)
        << source.error().message;
  }
}

// Behind media and an index that leads to them, too: FFmpeg reads them where the index is not
// complete, and later where it is.
TEST(BoxClaims, CountsFragmentsBehindAnIndex) {
  const std::string fragment =
      Box("moof", Box("traf", Box("tfhd", Join({0, 1})) + Box("trun", Join({0, kMany})) +
                                  Box("trun", Join({0, kMany}))));
  const std::string media = Box("mdat", "x");
  for (const std::string& index : {Index(99, {9, 100}), Index(1, {9, Size(fragment)})}) {
    for (const bool piped : {false, true}) {
      EXPECT_EQ(Refused(Movie(Pictures(0)) + index + media + fragment, piped), "more packets");
    }
  }
}

TEST(BoxClaims, CountsTheRowsOfIndexes) {
  const std::vector<std::uint32_t> rows(60'000, 1);
  std::string few = Movie(Pictures(0)), many = few;
  for (int i = 0; i < 50; ++i) few += Box("trak", "");
  for (int i = 0; i < 100; ++i) many += Box("trak", "");
  EXPECT_FALSE(TooMany(few + Index(1, rows)));
  EXPECT_TRUE(TooMany(many + Index(1, rows)));
  EXPECT_TRUE(TooMany(many + Index(1, rows, 0, 1))) << "in its later version";
  // Each fragment has FFmpeg look for the next one of its track.
  std::string runs;
  for (int i = 0; i < 20'000; ++i) runs += Box("trun", Join({0, 0}));
  EXPECT_FALSE(TooMany(few + Box("moof", Box("traf", runs))));
  EXPECT_TRUE(TooMany(few + Index(1, rows, 50'000'000) + Box("moof", Box("traf", runs))));
}

// As what has gone by is not looked at again, a long movie may have one in front of each fragment.
TEST(BoxClaims, TakesManyIndexesOfOneRow) {
  const std::string fragment = Box("moof", Box("traf", Box("trun", Join({0, 0}))));
  std::string movie = Movie(Pictures(0));
  for (int i = 0; i < 30; ++i) movie += Box("trak", "");
  for (int i = 0; i < 60'000; ++i) movie += Index(1, {Size(fragment)}) + fragment;
  EXPECT_FALSE(TooMany(movie));
}

TEST(BoxClaims, CountsRowsThatFragmentsAreInFrontOf) {
  constexpr std::uint32_t kRows = 60'000;
  const std::vector<std::uint32_t> rows(kRows, 1);
  std::string indexes, fragments;
  for (std::uint32_t i = 0; i < 8; ++i) {
    indexes += Index(1, rows, 50'000'000 + i * kRows - i * Size(Index(1, rows)));
  }
  for (int i = 0; i < 20'000; ++i) fragments += Box("moof", "");
  EXPECT_FALSE(TooMany(Movie(Pictures(0)) + fragments));
  EXPECT_FALSE(TooMany(Movie(Pictures(0)) + indexes));
  EXPECT_TRUE(TooMany(Movie(Pictures(0)) + indexes + fragments));
}

TEST(BoxClaims, CountsRowsThatAreMoved) {
  constexpr std::uint32_t kRows = 60'000;
  const std::vector<std::uint32_t> rows(kRows, 1);
  std::string ahead = Movie(Pictures(0)), back = ahead;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint32_t box = Size(Index(1, rows));
    ahead += Index(1, rows, 50'000'000 + i * kRows - i * box);
    back += Index(1, rows, 90'000'000 - i * kRows - i * box);
  }
  EXPECT_FALSE(TooMany(ahead));
  EXPECT_TRUE(TooMany(back));
}

TEST(BoxClaims, TakesNoMoreDescriptionsThanThereAre) {
  const auto movie = [](const std::string& head) {
    return Movie(TrackBox("vide", PictureEntry() + Tables(0) + Box("sgpd", head)));
  };
  for (const bool piped : {false, true}) {
    EXPECT_EQ(Refused(movie(Join({0x1000000}) + "sync" + Join({1, 1U << 30U})), piped),
              "more packets");
  }
  EXPECT_TRUE(TooMany(movie(Join({0x2000000}) + "sync" + Join({1, 1, 1U << 30U}))));
  EXPECT_TRUE(TooMany(movie(Join({0}) + "sync" + Join({1U << 30U}))));
  EXPECT_FALSE(TooMany(movie(Join({0x1000000}) + "sync" + Join({1, 4}) + "abcd")));
  EXPECT_FALSE(TooMany(movie(Join({0x1000000}) + "roll" + Join({2, 1U << 30U}))));
}

// FFmpeg reads boxes where an index names a place, whatever lies there.
TEST(BoxClaims, TakesNoIndexThatLeadsAstray) {
  const std::string movie = Movie(Pictures(0));
  const std::string fragment = Box("moof", ""), media = Box("mdat", fragment + fragment);
  ASSERT_EQ(media.size(), 24U);
  for (const bool piped : {false, true}) {
    EXPECT_EQ(Refused(movie + Index(1, {16, 8}) + media, piped), "leads to where");
    EXPECT_EQ(Refused(movie + Index(1, {24, 8}, 0, 1) + media + fragment, piped), "");
    EXPECT_EQ(Refused(movie + Box("udta", Index(1, {16, 8})) + media, piped), "leads to where");
  }
  // With what is no box behind it, where FFmpeg goes on as the index says.
  const std::string junk = Big(2) + std::string(32, 'x');
  EXPECT_EQ(Refused(movie + Index(1, {24, 20, 8}) + media + junk, true), "leads to where");
  EXPECT_EQ(Refused(movie + Index(1, {24, 8}) + media + fragment + junk, true), "");
  EXPECT_EQ(Refused(movie + Index(1, {16, 9}) + media, false), "") << "not used: it is incomplete";
  EXPECT_EQ(Refused(movie + Box("udta", fragment), false), "more packets") << "not at the top";
}

TEST(BoxClaims, TellsOfCompressedHeaders) {
  const std::string movie = Box("moov", Box("cmov", Box("dcom", "zlib")));
  for (const bool piped : {false, true}) EXPECT_EQ(Refused(movie, piped), "is compressed");
}

TEST(AvError, FfmpegMakesNoBlockThatIsLarger) {
  av::SilenceFfmpeg();
  EXPECT_EQ(av_malloc(av::kMaxFfmpegBlock + 1), nullptr);
}

}  // namespace
}  // namespace gopmill
