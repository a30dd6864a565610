// SPDX-License-Identifier: Apache-2.0
#include "server/segments/presentation_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/xml_text.h"
#include "server/stream/track_names.h"
#include "server/stream/track_roles.h"

namespace gopmill {
namespace {

const char* YesOrNo(bool yes) { return yes ? "YES" : "NO"; }

std::string RangeAttribute(const PicturesRow& pictures) {
  return pictures.range.hls.empty() ? "" : ",VIDEO-RANGE=" + pictures.range.hls;
}

// Whether a player that looks for the track's language takes this one.
bool FoundByLanguage(const std::vector<SoundRow>& sounds, const SoundRow& sound) {
  const auto same = [&](const SoundRow& other) {
    return other.language == sound.language &&
           SoundCharacteristics(other.roles) == SoundCharacteristics(sound.roles);
  };
  const bool has_chosen = std::ranges::any_of(
      sounds, [&](const SoundRow& other) { return other.chosen && same(other); });
  return has_chosen ? sound.chosen : &*std::ranges::find_if(sounds, same) == &sound;
}

// Whether a player takes it unasked where its settings fit (RFC 8216 section 4.3.4.1.1): the first
// of a language that tells sounds too, for who has asked the system for such text.
bool FoundBySettings(const std::vector<SubtitleRendition>& texts, const SubtitleRendition& text) {
  if (text.is_default || text.forced) return true;
  const std::string wanted = TextCharacteristics(text.roles);
  if (wanted.empty()) return false;
  const auto first = std::ranges::find_if(texts, [&](const SubtitleRendition& other) {
    return !other.forced && other.language == text.language &&
           TextCharacteristics(other.roles) == wanted;
  });
  return &*first == &text;
}

std::string CaptionAccessibility(CaptionsState captions) {
  if (captions != CaptionsState::kCarried) return {};
  return "      <Accessibility schemeIdUri=\"urn:scte:dash:cc:cea-608:2015\" value=\"CC1\"/>\n";
}

}  // namespace

std::string PicturesMedia(const PicturesRow& pictures, const LoudestSound& sound,
                          std::string_view groups, std::string_view query) {
  const bool heard = !sound.codecs.empty();
  return fmt::format(
      "#EXT-X-STREAM-INF:BANDWIDTH={},AVERAGE-BANDWIDTH={},CODECS=\"{}{}{}\",RESOLUTION={}x{},"
      "FRAME-RATE={:.3f}{}{}{}\n{}.m3u8{}\n",
      pictures.peak_bps + sound.peak_bps, pictures.average_bps + sound.average_bps, pictures.codecs,
      heard ? "," : "", sound.codecs, pictures.width, pictures.height, pictures.fps.ToDouble(),
      RangeAttribute(pictures), heard ? ",AUDIO=\"sound\"" : "", groups, pictures.name, query);
}

std::string SoundMedia(const std::vector<SoundRow>& sounds) {
  std::string lines;
  for (const SoundRow& sound : sounds) {
    lines += fmt::format(
        "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"sound\",NAME=\"{}\"{},DEFAULT={},AUTOSELECT={},"
        "CHANNELS=\"{}\"{},URI=\"{}\"\n",
        sound.name, LanguageAttribute(sound.language), YesOrNo(sound.chosen),
        YesOrNo(FoundByLanguage(sounds, sound)), sound.channels, SoundCharacteristics(sound.roles),
        sound.uri);
  }
  return lines;
}

std::string SubtitleMedia(const std::vector<SubtitleRendition>& texts, std::string_view query) {
  std::string lines;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const SubtitleRendition& text = texts[i];
    lines += fmt::format(
        "#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"text\",NAME=\"{}\"{},DEFAULT={},AUTOSELECT={},"
        "FORCED={}{},URI=\"s{}.m3u8{}\"\n",
        text.name, LanguageAttribute(text.language), YesOrNo(text.is_default),
        YesOrNo(FoundBySettings(texts, text)), YesOrNo(text.forced),
        TextCharacteristics(text.roles), i, query);
  }
  return lines;
}

std::string CaptionMedia(CaptionsState captions) {
  if (captions != CaptionsState::kCarried) return {};
  return "#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID=\"cc\",NAME=\"CC1\",AUTOSELECT=YES,"
         "INSTREAM-ID=\"CC1\"\n";
}

std::string KeyMedia(const PicturesRow& keys, std::string_view query) {
  const std::string average =
      keys.average_bps > 0 ? fmt::format(",AVERAGE-BANDWIDTH={}", keys.average_bps) : "";
  return fmt::format(
      "#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH={}{},CODECS=\"{}\",RESOLUTION={}x{}{},URI=\"{}.m3u8{}"
      "\"\n",
      keys.peak_bps, average, keys.codecs, keys.width, keys.height, RangeAttribute(keys), keys.name,
      query);
}

std::string ThumbnailMedia(const TilesRow& tiles, std::string_view query) {
  return fmt::format(
      "#EXT-X-IMAGE-STREAM-INF:BANDWIDTH={},RESOLUTION={}x{},CODECS=\"jpeg\",URI=\"t0.m3u8{}\"\n",
      tiles.peak_bps, tiles.width, tiles.height, query);
}

std::string SubtitleAttribute(const std::vector<SubtitleRendition>& texts) {
  return texts.empty() ? "" : ",SUBTITLES=\"text\"";
}

std::string CaptionAttribute(CaptionsState captions) {
  if (captions == CaptionsState::kUnknown) return {};
  return captions == CaptionsState::kNone ? ",CLOSED-CAPTIONS=NONE" : ",CLOSED-CAPTIONS=\"cc\"";
}

std::string ManifestBegin() {
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
         "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" "
         "profiles=\"urn:mpeg:dash:profile:isoff-live:2011,urn:mpeg:dash:profile:cmaf:2019\"";
}

std::string PicturesSet(const std::vector<PicturesRow>& renditions, CaptionsState captions,
                        std::string_view segments) {
  std::string text = fmt::format(
      "    <AdaptationSet id=\"0\" contentType=\"video\" mimeType=\"video/mp4\" "
      "segmentAlignment=\"true\" startWithSAP=\"1\">\n{}{}{}",
      renditions.front().range.dash, CaptionAccessibility(captions), segments);
  for (const PicturesRow& pictures : renditions) {
    text += fmt::format(
        "      <Representation id=\"{}\" codecs=\"{}\" bandwidth=\"{}\" width=\"{}\" "
        "height=\"{}\" frameRate=\"{}/{}\"/>\n",
        pictures.name, pictures.codecs, pictures.peak_bps, pictures.width, pictures.height,
        pictures.fps.num, pictures.fps.den);
  }
  return text + "    </AdaptationSet>\n";
}

std::string SoundSet(std::size_t number, const SoundRow& sound, const SoundForm& form,
                     std::string_view segments) {
  return fmt::format(
      "    <AdaptationSet id=\"{}\" contentType=\"audio\" mimeType=\"audio/mp4\"{} "
      "segmentAlignment=\"true\" startWithSAP=\"1\">\n      <Label>{}</Label>\n{}{}"
      "      <Representation id=\"{}\" codecs=\"{}\" bandwidth=\"{}\" "
      "audioSamplingRate=\"{}\">\n        <AudioChannelConfiguration "
      "schemeIdUri=\"urn:mpeg:dash:23003:3:audio_channel_configuration:2011\" "
      "value=\"{}\"/>\n      </Representation>\n    </AdaptationSet>\n",
      number, LangAttribute(sound.language), XmlText(sound.name),
      RoleElements(sound.chosen ? "main" : "alternate", sound.roles), segments, form.id,
      DashCodecs(form.track), form.peak_bps, form.rate, form.track.channels);
}

std::string ThumbnailSet(std::size_t number, const TilesRow& tiles, std::string_view segments) {
  return fmt::format(
      "    <AdaptationSet id=\"{}\" contentType=\"image\" mimeType=\"image/jpeg\">\n{}"
      "      <Representation id=\"t0\" bandwidth=\"{}\" width=\"{}\" height=\"{}\">\n"
      "        <EssentialProperty schemeIdUri=\"http://dashif.org/guidelines/thumbnail_tile\" "
      "value=\"{}x{}\"/>\n      </Representation>\n    </AdaptationSet>\n",
      number, segments, tiles.peak_bps, tiles.width * tiles.columns, tiles.height * tiles.rows,
      tiles.columns, tiles.rows);
}

std::string DashCodecs(const SegmentTrack& track) {
  return track.codecs == "Opus" ? "opus" : track.codecs;
}

}  // namespace gopmill
