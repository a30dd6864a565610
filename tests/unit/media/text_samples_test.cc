// SPDX-License-Identifier: Apache-2.0
#include "media/text_samples.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace gopmill {
namespace {

std::string Big(std::size_t value, std::size_t length) {
  std::string bytes;
  for (std::size_t i = length; i > 0; --i) {
    bytes += static_cast<char>(value >> (8 * (i - 1)) & 0xFFU);
  }
  return bytes;
}

std::string Plain(const std::string& text) { return Big(text.size(), 2) + text; }

std::string Style(std::size_t from, std::size_t to) {
  return Big(from, 2) + Big(to, 2) + std::string("\0\1\2\x12\xFF\xFF\xFF\xFF", 8);
}

std::string Styled(const std::string& text, const std::vector<std::string>& styles) {
  std::string entries;
  for (const std::string& style : styles) entries += style;
  return Plain(text) + Big(10 + entries.size(), 4) + "styl" + Big(styles.size(), 2) + entries;
}

// "0-2:a|b" in seconds.
std::string Shown(const std::vector<SubtitleCue>& cues) {
  std::string text;
  for (const SubtitleCue& cue : cues) {
    std::string words = cue.text.substr(2);
    for (char& c : words) c = c == '\n' ? '|' : c;
    text += std::to_string(cue.start_us / 1'000'000) + "-" +
            std::to_string(cue.end_us / 1'000'000) + ":" + words + " ";
  }
  return text;
}

SubtitleCue Cue(int start, int end, const std::string& text) {
  return {start * 1'000'000LL, end * 1'000'000LL, Plain(text)};
}

TEST(JoinSamples, PutsTheSecondBelowTheFirst) {
  EXPECT_EQ(JoinSamples(Plain("one"), Plain("two")), Plain("one\ntwo"));
}

TEST(JoinSamples, KeepsStylesOfTheirCharacters) {
  // Three characters of four bytes.
  const std::string first = Styled(
      "\xC3\xBC"
      "ab",
      {Style(0, 1)});
  const std::string second = Styled("cd", {Style(1, 2)});
  EXPECT_EQ(JoinSamples(first, second), Styled("\xC3\xBC"
                                               "ab\ncd",
                                               {Style(0, 1), Style(5, 6)}));
  EXPECT_EQ(JoinSamples(Plain("xy"), second), Styled("xy\ncd", {Style(4, 5)}));
}

TEST(JoinSamples, LeavesOtherBoxesOut) {
  const std::string box = Big(12, 4) + "hlit" + Big(0, 2) + Big(1, 2);
  EXPECT_EQ(JoinSamples(Plain("a") + box, Styled("b", {Style(0, 1)})),
            Styled("a\nb", {Style(2, 3)}));
}

TEST(JoinSamples, TakesTheFirstAloneWhereItCannot) {
  const std::string large = Plain(std::string(40'000, 'x'));
  EXPECT_EQ(JoinSamples(large, large), large);
  EXPECT_EQ(JoinSamples(Plain("a"), ""), Plain("a"));
  EXPECT_EQ(JoinSamples(Plain("a"), std::string("\xFF\xFFx", 3)), Plain("a"));
  // Boxes that say more than there is.
  EXPECT_EQ(JoinSamples(Plain("a") + Big(4'000'000'000, 4) + "styl" + Big(9, 2), Plain("b")),
            Plain("a\nb"));
  EXPECT_EQ(JoinSamples(Plain("a") + Big(10, 4) + "styl" + Big(60'000, 2), Plain("b")),
            Plain("a\nb"));
}

TEST(WithoutOverlap, LeavesWhatDoesNotOverlap) {
  EXPECT_EQ(Shown(WithoutOverlap({Cue(0, 1, "a"), Cue(1, 2, "b"), Cue(5, 6, "c")})),
            "0-1:a 1-2:b 5-6:c ");
}

TEST(WithoutOverlap, ShowsTogetherWhatIsSeenTogether) {
  EXPECT_EQ(Shown(WithoutOverlap({Cue(1, 4, "a"), Cue(2, 3, "b"), Cue(5, 6, "c")})),
            "1-2:a 2-3:a|b 3-4:a 5-6:c ");
  EXPECT_EQ(Shown(WithoutOverlap({Cue(1, 3, "a"), Cue(1, 3, "b")})), "1-3:a|b ");
}

TEST(WithoutOverlap, DoesNotRepeatAText) {
  EXPECT_EQ(Shown(WithoutOverlap({Cue(1, 3, "a"), Cue(1, 3, "a"), Cue(2, 5, "a")})), "1-5:a ");
}

TEST(WithoutOverlap, LetsTheOldestGoWhereThereAreTooMany) {
  std::vector<SubtitleCue> cues;
  for (int i = 0; i < 12; ++i)
    cues.push_back(Cue(i, 100, std::string(1, static_cast<char>('a' + i))));
  const std::vector<SubtitleCue> flat = WithoutOverlap(cues);
  EXPECT_EQ(flat.back().text.substr(2), "e\nf\ng\nh\ni\nj\nk\nl");
  EXPECT_EQ(flat.back().end_us, 100'000'000);
}

TEST(WithoutOverlap, HasBoundedSize) {
  std::vector<SubtitleCue> cues;
  for (int i = 0; i < 20'000; ++i) {
    cues.push_back(
        Cue(i, i + 9, std::string(800, static_cast<char>('a' + i % 26)) + std::to_string(i)));
  }
  std::size_t bytes = 0;
  for (const SubtitleCue& cue : WithoutOverlap(cues)) bytes += cue.text.size();
  EXPECT_LT(bytes, 3 * kMaxCueBytes);
}

}  // namespace
}  // namespace gopmill
