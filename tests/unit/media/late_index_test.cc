// SPDX-License-Identifier: Apache-2.0
#include "media/late_index.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

namespace gopmill {
namespace {

// A box with so many bytes behind its header.
std::string Box(const std::string& name, std::uint32_t bytes) {
  std::string box;
  for (int shift = 24; shift >= 0; shift -= 8)
    box += static_cast<char>((bytes + 8) >> shift & 0xff);
  return box + name + std::string(bytes, 'x');
}

std::string LongBox(const std::string& name, std::uint8_t bytes) {
  return std::string("\0\0\0\1", 4) + name + std::string(7, '\0') + static_cast<char>(bytes + 16) +
         std::string(bytes, 'x');
}

std::optional<bool> Of(const std::string& begin) {
  return HasLateIndex({reinterpret_cast<const std::uint8_t*>(begin.data()), begin.size()});
}

TEST(LateIndex, IsWhatComesBehindThePictures) {
  const std::string type = Box("ftyp", 24);
  EXPECT_EQ(Of(type + Box("mdat", 3)), true);
  EXPECT_EQ(Of(type + Box("free", 0) + Box("mdat", 3)), true);
  EXPECT_EQ(Of(Box("wide", 0) + Box("mdat", 3)), true) << "QuickTime, without a type";
  EXPECT_EQ(Of(LongBox("free", 9) + Box("mdat", 3)), true);
  EXPECT_EQ(Of(type + Box("moov", 3) + Box("mdat", 3)), false);
  EXPECT_EQ(Of(type + Box("styp", 3)), false);
  EXPECT_EQ(Of(type + Box("moof", 3)), false);
}

TEST(LateIndex, IsToldAsSoonAsItsNameIsThere) {
  const std::string begin = Box("ftyp", 24) + Box("free", 4) + Box("mdat", 0);
  for (std::size_t size = 0; size < begin.size(); ++size)
    EXPECT_EQ(Of(begin.substr(0, size)), std::nullopt) << size;
  EXPECT_EQ(Of(begin), true);
  EXPECT_EQ(Of(LongBox("free", 9).substr(0, 15)), std::nullopt);
}

// What comes behind it may not come before it is read.
TEST(LateIndex, MayBeWhereverTooMuchComesFirst) {
  const std::string type = Box("ftyp", 24);
  EXPECT_EQ(Of(type + Box("free", 2100).substr(0, 8)), true);
  EXPECT_EQ(Of(type + Box("free", 1000) + Box("uuid", 1001).substr(0, 8)), true);
  EXPECT_EQ(Of(type + Box("free", 1000).substr(0, 8)), std::nullopt);
  EXPECT_EQ(Of(type + Box("free", 1000) + Box("moov", 5)), false);
  EXPECT_EQ(Of(std::string("\0\0\0\1uuid\xff\xff\xff\xff\xff\xff\xff\xff", 16)), true);
}

TEST(LateIndex, NothingElseHasOne) {
  EXPECT_EQ(Of(std::string(8, 'G')), false);
  EXPECT_EQ(Of(std::string(64, '\0')), false);
  EXPECT_EQ(Of(std::string("\0\0\0\7ftyp", 8)), false) << "shorter than its header";
  EXPECT_EQ(Of(std::string("\0\0\0\0free", 8)), false) << "to the end of the file";
}

}  // namespace
}  // namespace gopmill
