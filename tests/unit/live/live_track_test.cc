// SPDX-License-Identifier: Apache-2.0
#include "server/live/live_track.h"

#include <gmock/gmock.h>

#include <cmath>
#include <utility>

#include "server/live/live_playlist.h"
#include "server/live/live_thumbnails.h"

namespace gopmill {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Pictures at 10 a second, segments of two seconds, parts of half a second and 100 bytes.
class LiveTrackTest : public ::testing::Test {
 protected:
  LiveTrackTest() {
    SegmentTrack track;
    track.mux.time_base = {1, 10};
    track.timescale = 10'000;
    tracks_.emplace_back(terms_.window);
    tracks_[0].Describe(track, {});
    terms_.targets.resize(1);
  }
  LiveTrack& track() { return tracks_[0]; }
  void Begin(bool jumped = false) {
    period_ += jumped ? 1 : 0;
    track().Begin({.number = number_,
                   .start = number_ * 20,
                   .wall = WallTime(std::chrono::seconds(2 * number_)),
                   .period = period_,
                   .discontinuity = jumped});
    ++number_;
  }
  void AddParts(int count) {
    for (int i = 0; i < count; ++i) {
      track().Add({.bytes = std::make_shared<const std::string>(100, 'x'),
                   .ticks = 5,
                   .independent = i == 0});
    }
  }
  void AddSegments(int count) {
    for (int i = 0; i < count; ++i) {
      Begin();
      AddParts(4);
      track().End();
    }
  }
  std::string Playlist(bool ended = false) {
    return LiveMediaPlaylist({.terms = terms_, .tracks = tracks_, .ended = ended}, 0);
  }

  LiveTerms terms_{.version = "1",
                   .query = "?version=1",
                   .window = {.listed_seconds = 8, .target_seconds = 2},
                   .part = {1, 2},
                   .targets = {}};
  std::vector<LiveTrack> tracks_;
  std::int64_t number_ = 0, period_ = 0;
};

TEST_F(LiveTrackTest, ListsWholeSegmentsAndThePartsBehindThem) {
  AddSegments(1);
  Begin();
  AddParts(1);
  const std::string text = Playlist();
  EXPECT_THAT(text, HasSubstr("#EXT-X-TARGETDURATION:2\n"));
  EXPECT_THAT(text, HasSubstr("PART-HOLD-BACK=1.50100\n#EXT-X-PART-INF:PART-TARGET=0.50000\n"));
  EXPECT_THAT(text, HasSubstr("#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-DISCONTINUITY-SEQUENCE:0\n"));
  EXPECT_THAT(text, HasSubstr("#EXT-X-MAP:URI=\"v0-init.mp4?version=1\"\n"
                              "#EXT-X-PROGRAM-DATE-TIME:1970-01-01T00:00:00.000Z\n"
                              "#EXT-X-PART:DURATION=0.50000,URI=\"v0-0.0.m4s?version=1\","
                              "INDEPENDENT=YES\n"));
  EXPECT_THAT(text, HasSubstr("#EXTINF:2.00000,\nv0-0.m4s?version=1\n"
                              "#EXT-X-PROGRAM-DATE-TIME:1970-01-01T00:00:02.000Z\n"
                              "#EXT-X-PART:DURATION=0.50000,URI=\"v0-1.0.m4s?version=1\","
                              "INDEPENDENT=YES\n"
                              "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"v0-1.1.m4s?version=1\"\n"));
  EXPECT_THAT(text, Not(HasSubstr("ENDLIST")));
  EXPECT_THAT(Playlist(true), HasSubstr("#EXT-X-ENDLIST\n"));
}

TEST_F(LiveTrackTest, AShortSegmentDoesNotRaiseTheRateByItself) {
  AddSegments(1);
  EXPECT_EQ(track().peak_bps(), 1601) << "400 bytes in 2 s";
  Begin();
  track().Add({.bytes = std::make_shared<const std::string>(100, 'x'), .ticks = 1});
  track().End();
  EXPECT_EQ(track().peak_bps(), 1905) << "500 bytes in 2.1 s, and not 100 in 0.1";
}

TEST_F(LiveTrackTest, TheWindowMovesAndWhatItLeftCanStillBeHad) {
  AddSegments(7);
  EXPECT_THAT(Playlist(), HasSubstr("#EXT-X-MEDIA-SEQUENCE:3\n"));
  EXPECT_NE(track().Find(2), nullptr);
  EXPECT_FALSE(track().listed(*track().Find(2)));
  AddSegments(20);
  EXPECT_EQ(track().Find(2), nullptr);
  EXPECT_EQ(track().last_complete(), 26);
  // Kept: the window of four, as much again and one more.
  EXPECT_LE(track().segments().size(), 10U);
}

TEST_F(LiveTrackTest, ThreeTargetDurationsStayWhateverTheWindowIs) {
  LiveTrack narrow({.listed_seconds = 1, .target_seconds = 2});
  narrow.Describe(track().track(), {});
  for (std::int64_t number = 0; number < 9; ++number) {
    narrow.Begin({.number = number, .start = number * 20});
    narrow.Add({.bytes = std::make_shared<const std::string>("x"), .ticks = 20});
    narrow.End();
  }
  EXPECT_TRUE(narrow.listed(*narrow.Find(6)));
  EXPECT_FALSE(narrow.listed(*narrow.Find(5)));
}

TEST_F(LiveTrackTest, OldPartsAreGivenUpBeforeTheirSegment) {
  AddSegments(7);
  EXPECT_TRUE(track().segments().front().parts.empty());
  EXPECT_EQ(track().segments().front().whole->size(), 400U);
  std::size_t bytes = 0;
  for (const LiveSegment& segment : track().segments()) {
    bytes += segment.whole->size() + 100 * segment.parts.size();
  }
  EXPECT_EQ(track().bytes(), bytes);
  EXPECT_THAT(Playlist(), Not(HasSubstr("v0-2.0.m4s")));
  while (track().DropOldest()) continue;
  EXPECT_EQ(track().segments().size(), kFewestSegments);
}

TEST_F(LiveTrackTest, DiscontinuitiesAreCountedOnceTheyHaveLeft) {
  AddSegments(1);
  Begin(true);
  AddParts(4);
  track().End();
  AddSegments(1);
  EXPECT_THAT(Playlist(), HasSubstr("#EXT-X-DISCONTINUITY-SEQUENCE:0\n"));
  EXPECT_THAT(Playlist(), HasSubstr("v0-0.m4s?version=1\n#EXT-X-DISCONTINUITY\n"));
  AddSegments(2);  // segment 1, with the tag in front, is the first
  EXPECT_THAT(Playlist(), HasSubstr("#EXT-X-MEDIA-SEQUENCE:1\n#EXT-X-DISCONTINUITY-SEQUENCE:0\n"));
  AddSegments(1);
  EXPECT_THAT(Playlist(), HasSubstr("#EXT-X-MEDIA-SEQUENCE:2\n#EXT-X-DISCONTINUITY-SEQUENCE:1\n"));
  EXPECT_THAT(Playlist(), Not(HasSubstr("#EXT-X-DISCONTINUITY\n")));
}

TEST_F(LiveTrackTest, ASegmentInWhichNothingCameIsAGap) {
  AddSegments(1);
  Begin();
  track().End();
  EXPECT_THAT(Playlist(), HasSubstr("#EXT-X-GAP\n#EXTINF:2.00000,\nv0-1.m4s"));
}

TEST_F(LiveTrackTest, AGapInTheSoundIsAsLongAsThePicturesNextToIt) {
  SegmentTrack described;
  described.mux.time_base = {1, 1000};
  described.timescale = 1000;
  tracks_.emplace_back(terms_.window);
  LiveTrack& sound = tracks_[1];
  sound.Describe(described, {});
  AddSegments(1);
  Begin();
  track().Add({.bytes = std::make_shared<const std::string>("x"), .ticks = 1});
  track().End();
  for (std::int64_t number = 0; number < 3; ++number) {
    sound.Begin({.number = number});
    if (number == 0) {
      sound.Add({.bytes = std::make_shared<const std::string>("x"), .ticks = 2000});
    }
    sound.End();
  }
  const std::string text = LiveMediaPlaylist({.terms = terms_, .tracks = tracks_}, 1);
  EXPECT_THAT(text, HasSubstr("#EXT-X-GAP\n#EXTINF:0.10000,\na0-1.m4s"));
  EXPECT_THAT(text, HasSubstr("#EXT-X-GAP\n#EXTINF:2.00000,\na0-2.m4s")) << "no pictures to go by";
}

// AAC at 8 kHz, whose packets last longer than the parts of the pictures.
TEST_F(LiveTrackTest, APartOfSoundIsAtLeastAPacketAndItsPlaylistSaysSo) {
  terms_.part = {1, 10};
  const auto parameters = std::shared_ptr<AVCodecParameters>(
      avcodec_parameters_alloc(), [](AVCodecParameters* p) { avcodec_parameters_free(&p); });
  parameters->frame_size = 1024;
  SegmentTrack described;
  described.mux.kind = TrackKind::kAudio;
  described.mux.time_base = {1, 8000};
  described.mux.parameters = parameters;
  described.timescale = 8000;
  tracks_.emplace_back(terms_.window).Describe(described, {.sample_rate = 8000});
  const auto playlist = [&] { return LiveMediaPlaylist({.terms = terms_, .tracks = tracks_}, 1); };
  tracks_[1].Begin({.number = 0});
  EXPECT_THAT(playlist(),
              HasSubstr("PART-HOLD-BACK=0.38500\n#EXT-X-PART-INF:PART-TARGET=0.12800\n"));
  tracks_[1].Add({.bytes = std::make_shared<const std::string>("x"), .ticks = 1024});
  EXPECT_THAT(playlist(), HasSubstr("PART-TARGET=0.12800\n"));
  EXPECT_THAT(playlist(), HasSubstr("#EXT-X-PART:DURATION=0.12800,"));
  tracks_[1].Add({.bytes = std::make_shared<const std::string>("x"), .ticks = 2048});
  EXPECT_THAT(playlist(), HasSubstr("PART-TARGET=0.25600\n")) << "not what the codec says";
  AddSegments(1);
  EXPECT_THAT(Playlist(), HasSubstr("PART-TARGET=0.50000\n")) << "as its parts are";
}

TEST_F(LiveTrackTest, ADeltaUpdateLeavesOutWhatLiesBehindTheBoundary) {
  terms_.window.listed_seconds = 20;
  tracks_.clear();
  SegmentTrack described;
  described.mux.time_base = {1, 10};
  described.timescale = 10'000;
  tracks_.emplace_back(terms_.window);
  tracks_[0].Describe(described, {});
  const auto delta = [&] {
    return LiveMediaPlaylist({.terms = terms_, .tracks = tracks_}, 0, true);
  };
  AddSegments(7);  // the first ends twelve seconds before the last
  EXPECT_EQ(delta(), Playlist());
  EXPECT_THAT(delta(), HasSubstr("CAN-SKIP-UNTIL=12,"));
  AddSegments(2);
  const std::string text = delta();
  EXPECT_THAT(text, HasSubstr("#EXT-X-MEDIA-SEQUENCE:0\n"));
  EXPECT_THAT(text, HasSubstr("#EXT-X-SKIP:SKIPPED-SEGMENTS=2\n#EXT-X-PROGRAM-DATE-TIME:"
                              "1970-01-01T00:00:04.000Z\n#EXTINF:2.00000,\nv0-2.m4s"));
  EXPECT_THAT(text, Not(HasSubstr("v0-1.")));
  EXPECT_THAT(Playlist(), Not(HasSubstr("SKIP:")));
}

TEST_F(LiveTrackTest, KeyFramesAloneAreListedWithTheirSegments) {
  for (int i = 0; i < 7; ++i) {
    Begin(i == 5);
    AddParts(4);
    track().End({.bytes = std::make_shared<const std::string>(50, 'k')});
  }
  Begin();
  AddParts(1);
  const LiveView view{.terms = terms_, .tracks = tracks_};
  const std::string text = LiveKeyPlaylist(view);
  EXPECT_THAT(text, HasSubstr("#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=12,"
                              "HOLD-BACK=6\n#EXT-X-MEDIA-SEQUENCE:3\n"
                              "#EXT-X-DISCONTINUITY-SEQUENCE:0\n#EXT-X-I-FRAMES-ONLY\n"
                              "#EXT-X-MAP:URI=\"i0-init.mp4?version=1\"\n"));
  EXPECT_THAT(text, HasSubstr("#EXT-X-DISCONTINUITY\n"
                              "#EXT-X-PROGRAM-DATE-TIME:1970-01-01T00:00:10.000Z\n"
                              "#EXTINF:2.00000,\ni0-5.m4s?version=1\n"));
  EXPECT_TRUE(text.ends_with("i0-6.m4s?version=1\n")) << "the segment that grows has none yet";
  EXPECT_THAT(text, Not(HasSubstr("PART")));
  EXPECT_EQ(track().key_average_bps(), 200);
  EXPECT_THAT(LiveMasterPlaylist(view), HasSubstr("AVERAGE-BANDWIDTH=200,"));
  EXPECT_TRUE(LiveKeyPlaylist({.terms = terms_, .tracks = tracks_, .ended = true})
                  .ends_with("#EXT-X-ENDLIST\n"));
  const std::size_t bytes = track().bytes();
  ASSERT_TRUE(track().DropOldest());
  EXPECT_EQ(track().bytes(), bytes - 450) << "a segment whose parts are gone, and its key frame";
}

TEST_F(LiveTrackTest, OfTransportStreamsWholeSegmentsAreListed) {
  terms_.container = Container::kTs;
  for (int i = 0; i < 7; ++i) {
    Begin(i == 5);
    track().Add({.bytes = std::make_shared<const std::string>(400, 'x'), .ticks = 20});
    track().End({.bytes = std::make_shared<const std::string>(50, 'k')});
  }
  EXPECT_EQ(track().bytes(), 7 * 450U) << "the only part of a segment is the segment";
  Begin();
  const LiveView view{.terms = terms_, .tracks = tracks_};
  const std::string head =
      "#EXTM3U\n#EXT-X-VERSION:4\n#EXT-X-TARGETDURATION:2\n"
      "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=12,HOLD-BACK=6\n"
      "#EXT-X-MEDIA-SEQUENCE:3\n#EXT-X-DISCONTINUITY-SEQUENCE:0\n";
  const std::string date = "#EXT-X-PROGRAM-DATE-TIME:1970-01-01T00:00:";
  EXPECT_THAT(Playlist(), StartsWith(head + "#EXT-X-INDEPENDENT-SEGMENTS\n" + date +
                                     "06.000Z\n#EXTINF:2.00000,\nv0-3.ts?version=1\n" + date));
  EXPECT_TRUE(Playlist().ends_with("\nv0-6.ts?version=1\n")) << "no hint, no report";
  EXPECT_THAT(Playlist(), HasSubstr("\n#EXT-X-DISCONTINUITY\n" + date + "10.000Z\n"));
  const std::string keys = LiveKeyPlaylist(view);
  EXPECT_THAT(keys, StartsWith(head + "#EXT-X-I-FRAMES-ONLY\n" + date +
                               "06.000Z\n#EXTINF:2.00000,\ni0-3.ts?version=1\n"));
  EXPECT_THAT(LiveMasterPlaylist(view), StartsWith("#EXTM3U\n#EXT-X-VERSION:4\n"));
}

TEST_F(LiveTrackTest, ADeltaUpdateOfTransportStreamsSaysWhichVersionItNeeds) {
  terms_.container = Container::kTs;
  terms_.window.listed_seconds = 20;
  const SegmentTrack described = track().track();
  tracks_.clear();
  tracks_.emplace_back(terms_.window).Describe(described, {});
  AddSegments(9);
  const auto delta = LiveMediaPlaylist({.terms = terms_, .tracks = tracks_}, 0, true);
  EXPECT_THAT(delta, HasSubstr("#EXT-X-VERSION:9\n"));
  EXPECT_THAT(delta, HasSubstr("#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-SKIP:SKIPPED-SEGMENTS=2\n"));
}

TEST_F(LiveTrackTest, AThumbnailIsListedForEachKeyFrameAndCountsOnceItIsMade) {
  terms_.thumbnail = {.width = 192, .height = 108};
  for (int i = 0; i < 7; ++i) {
    Begin(i == 5);
    AddParts(4);
    track().End({.packet = std::make_shared<const av::Packet>(
                     av::NewPacket(std::vector<std::uint8_t>(30, 'k')))});
  }
  Begin();
  AddParts(1);
  const LiveView view{.terms = terms_, .tracks = tracks_};
  const std::string text = LiveThumbnailPlaylist(view);
  EXPECT_THAT(text, HasSubstr("#EXT-X-MEDIA-SEQUENCE:3\n#EXT-X-DISCONTINUITY-SEQUENCE:0\n"
                              "#EXT-X-IMAGES-ONLY\n#EXT-X-PROGRAM-DATE-TIME:"));
  EXPECT_THAT(text, HasSubstr("#EXT-X-DISCONTINUITY\n"
                              "#EXT-X-PROGRAM-DATE-TIME:1970-01-01T00:00:10.000Z\n"
                              "#EXTINF:2.00000,\n"
                              "#EXT-X-TILES:RESOLUTION=192x108,LAYOUT=1x1,DURATION=2.00000\n"
                              "t0-5.jpg?version=1\n"));
  EXPECT_TRUE(text.ends_with("t0-6.jpg?version=1\n")) << "the segment that grows has none yet";
  EXPECT_THAT(text, Not(HasSubstr("PART")));
  EXPECT_THAT(text, Not(HasSubstr("EXT-X-MAP")));
  EXPECT_THAT(LiveMasterPlaylist(view),
              HasSubstr(",RESOLUTION=192x108,CODECS=\"jpeg\",URI=\"t0.m3u8?version=1\"\n"));
  const std::size_t bytes = track().bytes();
  const std::int64_t oldest = track().segments().front().number;
  track().SetThumbnail(oldest, std::make_shared<const std::string>(70, 'j'));
  EXPECT_EQ(track().bytes(), bytes + 70);
  track().SetThumbnail(oldest + 1, Error{.code = Code::kCorrupt, .message = "Broken."});
  EXPECT_EQ(track().bytes(), bytes + 70) << "why there is none takes no bytes";
  ASSERT_TRUE(track().DropOldest());
  EXPECT_EQ(track().bytes(), bytes - 430) << "a segment whose parts are gone, and its key frame";
  track().SetThumbnail(oldest, std::make_shared<const std::string>(70, 'j'));
  EXPECT_EQ(track().bytes(), bytes - 430) << "it came too late";
}

TEST_F(LiveTrackTest, ManifestHasATileForEachSegment) {
  terms_.thumbnail = {.width = 192, .height = 108};
  AddSegments(3);
  const std::string text =
      LiveManifest({.terms = terms_, .tracks = tracks_, .ended = true}, {{.number = 0}}, {});
  const std::string images = text.substr(text.find("contentType=\"image\""));
  EXPECT_THAT(images, HasSubstr("<SegmentTemplate timescale=\"10000\" startNumber=\"0\" "
                                "presentationTimeOffset=\"0\" "
                                "media=\"$RepresentationID$-$Number$.jpg?version=1\">"));
  EXPECT_THAT(images, HasSubstr("<S t=\"40000\" d=\"20000\"/>"));
  EXPECT_THAT(images, HasSubstr("id=\"t0\""));
  EXPECT_THAT(images, HasSubstr("thumbnail_tile\" value=\"1x1\""));
}

// Sound that begins with a packet across the first picture's time: 1024 samples, 128 of them
// before.
TEST_F(LiveTrackTest, ManifestHasNoNegativeTimes) {
  AddSegments(2);
  SegmentTrack described;
  described.mux.time_base = {1, 48'000};
  described.timescale = 48'000;
  described.channels = 12;
  terms_.sounds = {{.name = "Sound", .language = "en"}};
  const auto begin = [&] {
    if (tracks_.size() > 1) tracks_.pop_back();
    tracks_.emplace_back(terms_.window).Describe(described, {});
  };
  const auto add = [&](std::int64_t number, std::int64_t start, std::int64_t ticks) {
    tracks_[1].Begin({.number = number, .start = start});
    tracks_[1].Add({.bytes = std::make_shared<const std::string>("x"), .ticks = ticks});
    tracks_[1].End();
  };
  const auto sound = [&] {
    const std::string text =
        LiveManifest({.terms = terms_, .tracks = tracks_, .ended = true}, {{.number = 0}}, {});
    return text.substr(text.find("contentType=\"audio\""));
  };
  begin();
  add(0, -128, 1024 * 94);
  add(1, -128 + 1024 * 94, 1024 * 94);
  EXPECT_THAT(sound(),
              HasSubstr("<S t=\"0\" d=\"96128\"/>\n          <S t=\"96128\" d=\"96256\"/>"));
  EXPECT_THAT(sound(), HasSubstr(":audio_channel_configuration:2011\" value=\"12\"/>"));
  begin();
  add(0, -1024, 1024);  // nothing but what the encoder begins with, then a pause
  add(1, 96'000, 96'000);
  EXPECT_THAT(sound(), HasSubstr("startNumber=\"1\""));
  EXPECT_THAT(sound(), HasSubstr("<SegmentTimeline>\n          <S t=\"96000\" d=\"96000\"/>"));
}

TEST(LiveThumbnailTest, ThumbnailsFitTheBoxAndAreNoLargerThanThePictures) {
  const auto size = [](int width, int height) {
    Target target;
    target.width = width;
    target.height = height;
    const ThumbnailSize made = LiveThumbnailSize(target);
    return std::pair(made.width, made.height);
  };
  EXPECT_EQ(size(426, 240), std::pair(192, 108));
  EXPECT_EQ(size(320, 180), std::pair(192, 108));
  EXPECT_EQ(size(240, 320), std::pair(82, 108));
  EXPECT_EQ(size(64, 36), std::pair(64, 36));
  EXPECT_EQ(size(1000, 16), std::pair(192, 4));
}

TEST_F(LiveTrackTest, TextIsListedWithThePicturesAndCountsAsTheirs) {
  terms_.texts = {{.name = "English", .language = "en", .is_default = true},
                  {.name = "Deutsch", .language = "de", .roles = AV_DISPOSITION_CAPTIONS}};
  for (int i = 0; i < 8; ++i) {
    Begin(i == 5);
    AddParts(4);
    track().End({}, {{.vtt = std::make_shared<const std::string>(20, 'e'),
                      .ttml = std::make_shared<const std::string>(10, 'e')},
                     {.vtt = std::make_shared<const std::string>(20, 'd')}});
  }
  Begin();
  AddParts(1);
  const LiveView view{.terms = terms_, .tracks = tracks_};
  const std::string text = LiveTextPlaylist(view, 1);
  EXPECT_THAT(text, HasSubstr("#EXT-X-MEDIA-SEQUENCE:4\n#EXT-X-DISCONTINUITY-SEQUENCE:0\n"));
  EXPECT_THAT(text, HasSubstr("#EXT-X-DISCONTINUITY\n"
                              "#EXT-X-PROGRAM-DATE-TIME:1970-01-01T00:00:10.000Z\n"
                              "#EXTINF:2.00000,\ns1-5.vtt?version=1\n"));
  EXPECT_TRUE(text.ends_with("s1-7.vtt?version=1\n")) << "the segment that grows has none yet";
  EXPECT_THAT(text, Not(HasSubstr("PART")));
  EXPECT_THAT(text, Not(HasSubstr("EXT-X-MAP")));
  const std::string master = LiveMasterPlaylist(view);
  EXPECT_THAT(master, HasSubstr("#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"text\",NAME=\"Deutsch\","
                                "LANGUAGE=\"de\",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO,"
                                "CHARACTERISTICS=\"public.accessibility.transcribes-spoken-dialog,"
                                "public.accessibility.describes-music-and-sound\","
                                "URI=\"s1.m3u8?version=1\"\n"));
  EXPECT_THAT(master, HasSubstr(",SUBTITLES=\"text\""));
  const std::vector<LivePeriod> periods{
      {.number = 0}, {.number = 1, .start = 10, .wall = WallTime() + std::chrono::seconds(10)}};
  const std::string manifest =
      LiveManifest({.terms = terms_, .tracks = tracks_, .ended = true}, periods, {});
  const std::string german = manifest.substr(manifest.find("lang=\"de\""));
  EXPECT_THAT(german,
              HasSubstr("<Role schemeIdUri=\"urn:mpeg:dash:role:2011\" value=\"caption\"/>"));
  EXPECT_THAT(german, HasSubstr("<SegmentTemplate timescale=\"1000\" startNumber=\"4\" "));
  EXPECT_THAT(german, HasSubstr("initialization=\"$RepresentationID$-init.mp4?version=1\""));
  EXPECT_THAT(german, HasSubstr("media=\"$RepresentationID$-$Number$.m4s?version=1\""));
  EXPECT_THAT(german, HasSubstr("<Representation id=\"x1\" codecs=\"stpp.ttml.im1t\""));
  const std::size_t bytes = track().bytes();
  ASSERT_TRUE(track().DropOldest());
  EXPECT_EQ(track().bytes(), bytes - 450) << "a segment whose parts are gone, and its text";
}

// Segment n ends 2 (n + 1) seconds after the epoch and is due by then and what making one took.
TEST_F(LiveTrackTest, ManifestListsNothingLongBeforeItIsDue) {
  AddSegments(4);
  const LiveView view{.terms = terms_, .tracks = tracks_};
  LiveDashTimes times{.available_from = WallTime(std::chrono::seconds(3)),
                      .behind = std::chrono::seconds(3)};
  const auto listed = [&](double now, const LiveView& what) {
    times.now = WallTime(std::chrono::milliseconds(std::llround(now * 1000)));
    std::string text = LiveManifest(what, {{.number = 0}}, times);
    text.resize(text.find("contentType=\"image\""));  // thumbnails have the same times
    int count = 0;
    for (auto at = text.find("<S "); at != std::string::npos; at = text.find("<S ", at + 1))
      ++count;
    return count;
  };
  EXPECT_EQ(listed(11.0, view), 4);  // the newest is due then
  EXPECT_EQ(listed(9.6, view), 4);   // and soon here
  EXPECT_EQ(listed(9.4, view), 3);
  EXPECT_EQ(listed(5.4, view), 1);
  EXPECT_EQ(listed(3.4, view), 4) << "a manifest without a period is none";
  EXPECT_EQ(listed(5.4, {.terms = terms_, .tracks = tracks_, .ended = true}), 4)
      << "nobody comes back for another one";
}

}  // namespace
}  // namespace gopmill
