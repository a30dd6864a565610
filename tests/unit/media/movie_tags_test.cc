// SPDX-License-Identifier: Apache-2.0
#include "media/movie_tags.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace gopmill {
namespace {

struct FreeContext {
  void operator()(AVFormatContext* context) const noexcept { avformat_free_context(context); }
};
using Context = std::unique_ptr<AVFormatContext, FreeContext>;

struct Raw {
  std::int64_t start, end;
  const char* title;
};

// A source whose chapters are in milliseconds.
Context SourceOf(const std::vector<Raw>& chapters) {
  Context context(avformat_alloc_context());
  context->chapters = static_cast<AVChapter**>(av_calloc(chapters.size() + 1, sizeof(AVChapter*)));
  for (const Raw& raw : chapters) {
    auto* chapter = static_cast<AVChapter*>(av_mallocz(sizeof(AVChapter)));
    chapter->time_base = {1, 1000};
    chapter->start = raw.start;
    chapter->end = raw.end;
    if (raw.title != nullptr) av_dict_set(&chapter->metadata, "title", raw.title, 0);
    context->chapters[context->nb_chapters++] = chapter;
  }
  return context;
}

std::string Shown(const MovieTags& tags) {
  std::string text;
  for (const Chapter& chapter : tags.chapters) {
    text += std::to_string(chapter.start_us / 1000) + "-" + std::to_string(chapter.end_us / 1000) +
            ":" + chapter.title + " ";
  }
  return text;
}

TEST(MovieTags, KeepsWhatAViewerWantsAndLeavesTheRest) {
  Context source = SourceOf({});
  av_dict_set(&source->metadata, "TITLE", "Metropolis\r\n\x01", 0);
  av_dict_set(&source->metadata, "comment", "two\nlines\xFF", 0);
  av_dict_set(&source->metadata, "location", "+52.1+13.4/", 0);
  av_dict_set(&source->metadata, "encoder", "x", 0);
  av_dict_set(&source->metadata, "artist", "\x02", 0);
  const MovieTags tags = ReadTags(*source, 0);
  EXPECT_EQ(tags.Text("title"), "Metropolis\n");
  EXPECT_EQ(tags.Text("comment"), "two\nlines");
  EXPECT_EQ(tags.texts.size(), 2U);
}

TEST(MovieTags, CutsLongTexts) {
  Context source = SourceOf({});
  av_dict_set(&source->metadata, "title", std::string(100'000, 'a').c_str(), 0);
  EXPECT_EQ(ReadTags(*source, 0).Text("title").size(), kMaxTagBytes);
}

TEST(Chapters, CountFromTheSourcesZero) {
  EXPECT_EQ(Shown(ReadTags(*SourceOf({{500, 2000, "a"}, {2000, 4000, nullptr}}), 500'000)),
            "0-1500:a 1500-3500: ");
}

TEST(Chapters, AreBroughtIntoOrderWithoutOverlap) {
  EXPECT_EQ(Shown(ReadTags(*SourceOf({{3000, 9000, "c"}, {0, 5000, "a"}, {2000, 2500, "b"}}), 0)),
            "0-2000:a 2000-2500:b 3000-9000:c ");
  // Of those that begin together the shortest stays.
  EXPECT_EQ(Shown(ReadTags(*SourceOf({{0, 9000, "all"}, {0, 4000, "a"}, {4000, 9000, "b"}}), 0)),
            "0-4000:a 4000-9000:b ");
}

TEST(Chapters, WithoutAnEndGoOnToTheNext) {
  constexpr std::int64_t kNone = AV_NOPTS_VALUE;
  EXPECT_EQ(Shown(ReadTags(*SourceOf({{0, 0, "a"}, {2000, kNone, "b"}, {5000, 4000, "c"}}), 0)),
            "0-2000:a 2000-5000:b 5000-6000:c ");
}

TEST(Chapters, OfAbsurdTimesAreLeftOut) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(Shown(ReadTags(*SourceOf({{kHuge - 1, kHuge, "far"}, {AV_NOPTS_VALUE, 5, "none"}}), 0)),
            "");
  Context source = SourceOf({{0, 1000, "a"}});
  source->chapters[0]->time_base = {0, 0};
  EXPECT_EQ(Shown(ReadTags(*source, 0)), "");
}

TEST(Chapters, AreNotMoreThanTheLimit) {
  std::vector<Raw> many;
  for (std::int64_t i = 0; i < 3000; ++i) many.push_back({i, i + 1, "x"});
  EXPECT_EQ(ReadTags(*SourceOf(many), 0).chapters.size(), kMaxChapters);
}

TEST(Chapters, AreCutWithTheMovie) {
  const MovieTags tags =
      ReadTags(*SourceOf({{0, 3000, "a"}, {3000, 6000, "b"}, {6000, 9000, "c"}}), 0);
  EXPECT_EQ(Shown(TagsWithin(tags, {4'000'000, 7'000'000})), "0-2000:b 2000-3000:c ");
  EXPECT_EQ(Shown(TagsWithin(tags, {.start_us = 3'000'000})), "0-3000:b 3000-6000:c ");
  EXPECT_EQ(Shown(TagsWithin(tags, {9'000'000, 10'000'000})), "");
}

TEST(Chapters, GoIntoFilesOnly) {
  const MovieTags tags{.texts = {{"title", "T"}}, .chapters = {{0, 1000, "a"}, {1000, 2000, ""}}};
  const auto chapters = [&](Container container, bool streamed) {
    const Context output(avformat_alloc_context());
    EXPECT_TRUE(AddTags(*output, container, streamed, tags).ok());
    EXPECT_NE(av_dict_get(output->metadata, "title", nullptr, 0), nullptr);
    return output->nb_chapters;
  };
  EXPECT_EQ(chapters(Container::kMp4, false), 2U);
  EXPECT_EQ(chapters(Container::kMp4, true), 0U);
  EXPECT_EQ(chapters(Container::kMkv, true), 2U);
  EXPECT_EQ(chapters(Container::kTs, false), 0U);
}

}  // namespace
}  // namespace gopmill
