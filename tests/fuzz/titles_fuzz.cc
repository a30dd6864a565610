// SPDX-License-Identifier: Apache-2.0
//
// Titles and languages of any bytes on their way from a source's tracks into the master playlist
// and the manifest. The playlist must read back by the grammar of RFC 8216, line for line, the
// manifest be XML, both with the same names: one for each track, all of them different, without
// control characters and quotes.
#include <expat.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "media/language.h"
#include "media/subtitle_track.h"
#include "server/segments/segment_playlist.h"
#include "server/segments/segment_subtitles.h"
#include "server/stream/track_names.h"
#include "tests/fuzz/bytes.h"

namespace {

using namespace gopmill;
using fuzz::Bytes;
using fuzz::Require;

constexpr std::size_t kMaxTracks = 12;

// What a reader finds of a track.
struct Track {
  std::string name, language;
  bool operator==(const Track&) const = default;
};

// --- readers ----------------------------------------------------------------------------------

// An attribute list (section 4.2).
std::map<std::string, std::string> AttributesOf(std::string_view list) {
  std::map<std::string, std::string> attributes;
  while (!list.empty()) {
    const std::size_t equal = list.find('=');
    Require(equal != std::string_view::npos && equal > 0);
    const std::string name(list.substr(0, equal));
    Require(name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == std::string::npos);
    list.remove_prefix(equal + 1);
    const bool quoted = list.starts_with('"');
    if (quoted) list.remove_prefix(1);
    const std::size_t end = std::min(list.find(quoted ? '"' : ','), list.size());
    Require(!quoted || end < list.size());
    Require(attributes.emplace(name, list.substr(0, end)).second);
    list.remove_prefix(end + (quoted ? 1 : 0));
    Require(list.empty() || list.starts_with(','));
    list.remove_prefix(list.empty() ? 0 : 1);
  }
  return attributes;
}

std::vector<Track> TracksOfPlaylist(const std::string& playlist) {
  constexpr std::string_view kMedia = "#EXT-X-MEDIA:";
  std::vector<Track> tracks;
  std::string_view rest = playlist;
  Require(rest.starts_with("#EXTM3U\n") && rest.ends_with('\n'));
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + 1);
    Require(line.starts_with("#EXT") || line.starts_with("v0.m3u8"));
    if (!line.starts_with(kMedia)) continue;
    const auto attributes = AttributesOf(line.substr(kMedia.size()));
    const auto language = attributes.find("LANGUAGE");
    tracks.push_back({attributes.at("NAME"), language == attributes.end() ? "" : language->second});
    Require(language == attributes.end() || !language->second.empty());
  }
  return tracks;
}

struct Manifest {
  std::vector<Track> tracks;  // a set without a label has no name
  bool in_label = false;
};

void OnStart(void* user, const XML_Char* name, const XML_Char** attributes) {
  auto& manifest = *static_cast<Manifest*>(user);
  manifest.in_label = std::string_view(name) == "Label";
  if (std::string_view(name) != "AdaptationSet") return;
  manifest.tracks.emplace_back();
  for (; *attributes != nullptr; attributes += 2) {
    if (std::string_view(*attributes) == "lang") manifest.tracks.back().language = attributes[1];
  }
}

void OnEnd(void* user, const XML_Char*) { static_cast<Manifest*>(user)->in_label = false; }

void OnText(void* user, const XML_Char* text, int size) {
  auto& manifest = *static_cast<Manifest*>(user);
  if (manifest.in_label) manifest.tracks.back().name.append(text, static_cast<std::size_t>(size));
}

std::vector<Track> TracksOfManifest(const std::string& xml) {
  Manifest manifest;
  XML_Parser parser = XML_ParserCreate(nullptr);
  XML_SetUserData(parser, &manifest);
  XML_SetElementHandler(parser, OnStart, OnEnd);
  XML_SetCharacterDataHandler(parser, OnText);
  const bool good = XML_Parse(parser, xml.data(), static_cast<int>(xml.size()), 1) == XML_STATUS_OK;
  XML_ParserFree(parser);
  Require(good);
  std::erase_if(manifest.tracks, [](const Track& track) { return track.name.empty(); });
  return manifest.tracks;
}

// --- a movie ----------------------------------------------------------------------------------

// What a container says, behind a byte with its length.
std::string Tag(Bytes& in, std::size_t most) {
  std::string text;
  for (std::size_t left = in.Byte() % (most + 1); left > 0 && !in.empty(); --left) {
    text += static_cast<char>(in.Byte());
  }
  return TagText(text);
}

// Of one segment: all that playlists say of it is fixed, but for the names.
std::shared_ptr<SegmentedMovie> MakeMovie() {
  const auto source = std::make_shared<SourceInfo>();
  const auto index = std::make_shared<SourceIndex>();
  index->source = source;
  const auto plan = std::make_shared<StreamPlan>();
  plan->target.fps = {25, 1};
  auto movie = std::make_shared<SegmentedMovie>();
  movie->index = index;
  movie->query = movie->text_query = "?width=640&version=1";
  movie->segments = {.fps = {25, 1}, .borders = {0, 50}};
  movie->video.emplace_back().plan = plan;
  movie->video.front().timescale = 12'800;
  movie->thumbnails.plan = plan;
  movie->thumbnails.frames = {0};
  AudioRendition& audio = movie->audio.emplace();
  audio.codecs = "mp4a.40.2";
  audio.timescale = 48'000;
  audio.grid = {.rate = 48'000, .frame_size = 1024, .samples = 96'256, .borders = {0, 94}};
  return movie;
}

void AddTracks(Bytes& in, SegmentedMovie& movie) {
  UniqueNames names;
  for (int number = 1; number <= 1 + in.Byte() % static_cast<int>(kMaxTracks); ++number) {
    AudioChoice& choice = movie.audio_choices.emplace_back();
    choice.number = number;
    choice.chosen = number == 1;
    choice.language = LanguageTag(LanguageText(Tag(in, 36)));
    choice.name = names.For({Tag(in, 240), choice.language, "Sound"});
  }
  std::vector<SubtitleTrack> texts(in.Byte() % kMaxTracks);
  for (SubtitleTrack& text : texts) {
    text.language = LanguageText(Tag(in, 36));
    text.title = Tag(in, 240);
    text.is_default = in.Byte() % 2 == 0;
  }
  movie.subtitles = ListSubtitles(texts);
}

void CheckNames(const SegmentedMovie& movie, const std::vector<Track>& tracks) {
  Require(tracks.size() == movie.audio_choices.size() + movie.subtitles.size());
  std::array<std::set<std::string>, 2> taken;
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    const bool sound = i < movie.audio_choices.size();
    const std::string& name = tracks[i].name;
    Require(!name.empty() && IsUtf8(name) && name.find('"') == std::string::npos);
    Require(std::ranges::none_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7F; }));
    Require(taken.at(sound ? 0 : 1).insert(name).second);
    Require(name == (sound ? movie.audio_choices[i].name
                           : movie.subtitles[i - movie.audio_choices.size()].name));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes in(data, size);
  const auto movie = MakeMovie();
  AddTracks(in, *movie);
  const std::vector<Track> listed = TracksOfPlaylist(MasterPlaylist(*movie));
  CheckNames(*movie, listed);
  const std::vector<SoundOf> sounds(movie->audio_choices.size(), movie);
  const auto manifest = DashManifest(*movie, sounds);
  Require(manifest.ok() && IsUtf8(*manifest));
  Require(TracksOfManifest(*manifest) == listed);
  return 0;
}
