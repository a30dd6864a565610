// SPDX-License-Identifier: Apache-2.0
#include "server/cli/usage_hints.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <numeric>
#include <vector>

#include "base/words.h"

namespace gopmill::cli {
namespace {

struct ForeignName {
  std::string_view theirs, ours;
};

// What ffmpeg and others call it, or what one would guess.
constexpr std::array kForeignNames = std::to_array<ForeignName>({
    {"-s", "--size"},
    {"--scale", "--size"},
    {"--resolution", "--size"},
    {"--dimensions", "--size"},
    {"-r", "--fps"},
    {"--rate", "--fps"},
    {"--framerate", "--fps"},
    {"--frame-rate", "--fps"},
    {"-b", "--bitrate"},
    {"-b:v", "--bitrate"},
    {"--bit-rate", "--bitrate"},
    {"--video-bitrate", "--bitrate"},
    {"-b:a", "--abitrate"},
    {"--audio-bitrate", "--abitrate"},
    {"-c", "--vcodec"},
    {"-c:v", "--vcodec"},
    {"-codec", "--vcodec"},
    {"--codec", "--vcodec"},
    {"--video-codec", "--vcodec"},
    {"-c:a", "--acodec"},
    {"--audio-codec", "--acodec"},
    {"-an", "--acodec none"},
    {"--no-audio", "--acodec none"},
    {"-ac", "--channels"},
    {"-ss", "--start"},
    {"-t", "--duration"},
    {"-f", "--container"},
    {"--format", "--container"},
    {"-y", "--force"},
    {"--overwrite", "--force"},
    {"-q", "--quiet"},
    {"-i", "IN"},
    {"--in", "IN"},
    {"--input", "IN"},
    {"-o", "OUT"},
    {"--out", "OUT"},
    {"--output", "OUT"},
    {"-j", "--workers"},
    {"--threads", "--workers"},
    {"-p", "--http-port"},
    {"--port", "--http-port"},
    {"--bind", "--http-address"},
    {"--host", "--http-address"},
    {"--listen", "--http-address"},
    {"--address", "--http-address"},
    {"--dir", "--library"},
    {"--movies", "--library"},
    {"--policy", "--scheduler"},
});

// Letters to put in, take out or exchange.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t before = row[0];  // of the row above, one to the left
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t same = before + (a[i - 1] == b[j - 1] ? 0 : 1);
      before = row[j];
      row[j] = std::min({same, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string Listed(std::span<const std::string> names, std::string_view between) {
  std::string text;
  for (const std::string& name : names) {
    if (!text.empty()) text += between;
    text += name;
  }
  return text;
}

bool Contains(std::span<const std::string> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// What `name` is called here, if the command has such a thing.
std::optional<std::string> OurName(std::string_view name, std::span<const std::string> options,
                                   std::span<const std::string> positional) {
  for (const ForeignName& each : kForeignNames) {
    const std::string_view ours = each.ours.substr(0, each.ours.find(' '));
    if (each.theirs == name && (Contains(options, ours) || Contains(positional, ours))) {
      return std::string(each.ours);
    }
  }
  // "-crf", as ffmpeg has it.
  const std::string doubled = "-" + std::string(name);
  if (Contains(options, doubled)) return doubled;
  return std::nullopt;
}

std::string NoSuchOption(std::string_view arg, std::span<const std::string> options,
                         std::span<const std::string> positional) {
  const std::string_view name = arg.substr(0, arg.find('='));
  std::string text = "There is no option " + std::string(name);
  if (const auto ours = OurName(name, options, positional)) {
    const bool plain = Contains(positional, *ours);
    return text + "; here it is " + *ours + (plain ? ", without the name of an option." : ".");
  }
  const auto near = NearestName(name, options);
  return text + (near ? "; did you mean " + *near + "?" : ".");
}

}  // namespace

bool IsOption(std::string_view arg) { return arg.size() > 1 && arg.front() == '-'; }

std::optional<std::string> NearestName(std::string_view given, std::span<const std::string> known) {
  // Longer names would be no help, but work.
  constexpr std::size_t kMaxNameBytes = 64;
  if (given.size() > kMaxNameBytes) return std::nullopt;
  const std::size_t dashes = std::min(given.find_first_not_of('-'), given.size());
  std::size_t best = (given.size() - dashes) / 3;  // more letters would make it another word
  std::optional<std::string> nearest;
  for (const std::string& name : known) {
    const std::size_t distance = EditDistance(given, name);
    if (distance > best || (nearest && distance == best)) continue;
    best = distance;
    nearest = name;
  }
  return nearest;
}

std::string NoSuchCommand(std::string_view given, std::span<const std::string> commands) {
  const std::string all = "The commands are " + Listed(commands, ", ") + ".";
  if (given.empty()) return "A command is needed. " + all;
  if (IsOption(given)) {
    return "There is no option " + std::string(given) + " without a command. " + all;
  }
  const auto near = NearestName(given, commands);
  const std::string meant = near ? "; did you mean " + *near + "? " : ". ";
  return "There is no command '" + std::string(given) + "'" + meant + all;
}

std::string NotTaken(std::span<const std::string> left_over, std::span<const std::string> options,
                     std::span<const std::string> positional) {
  std::vector<std::string> wrong;
  for (const std::string& arg : left_over) {
    if (IsOption(arg)) wrong.push_back(NoSuchOption(arg, options, positional));
  }
  if (!wrong.empty()) return Listed(wrong, "\n");
  const std::string taken = positional.empty()
                                ? "all is given by options here"
                                : "without an option there is only " + Listed(positional, " and ");
  return "'" + Listed(left_over, "' and '") + "' " + (left_over.size() == 1 ? "is" : "are") +
         " not expected: " + taken + ".";
}

std::optional<std::string> UrlHint(std::string_view command, std::string_view input) {
  const std::size_t colon = input.find("://");
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const std::string scheme = LowerAscii(input.substr(0, colon));
  const bool named = std::ranges::all_of(scheme, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.';
  });
  if (!named) return std::nullopt;
  const std::string text = "URLs are not read";
  if (scheme == "rtsp") return text + "; for a camera: gopmill serve --source NAME=URL";
  if (scheme == "file") return text + "; the path without file:// is";
  if (scheme != "http" && scheme != "https") return text;
  if (command == "package") return text + "; fetch it to a file first";
  return text + "; instead: curl -fL URL | gopmill " + std::string(command) + " -" +
         (command == "transcode" ? " OUT" : "");
}

Error WithFullDisk(const Error& error, const std::string& path) {
  const bool named = error.message.find(path) != std::string::npos;
  const int native = -error.native;  // memory can run out, too
  const bool full = native == ENOSPC || native == EDQUOT || native == EFBIG;
  if (!full || named || path == "-") return error;
  return error.With(path);
}

}  // namespace gopmill::cli
