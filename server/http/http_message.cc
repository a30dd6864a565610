// SPDX-License-Identifier: Apache-2.0
#include "server/http/http_message.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <ctime>

#include "base/words.h"

namespace gopmill {
namespace {

bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower, [](char a, char b) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(a))) == b;
  });
}

// "q=0", "q=0.0", "q=0.000": the client does not want it at all.
bool IsZeroQuality(std::string_view parameter) {
  parameter = Trim(parameter);
  if (parameter.size() < 3 || !EqualsIgnoringCase(parameter.substr(0, 2), "q=")) return false;
  return parameter.substr(2).find_first_not_of("0.") == std::string_view::npos;
}

// One member of a list: "gzip;q=0.5".
bool MemberOffers(std::string_view member, std::string_view token) {
  const std::size_t semicolon = std::min(member.find(';'), member.size());
  if (!EqualsIgnoringCase(Trim(member.substr(0, semicolon)), token)) return false;
  return semicolon == member.size() || !IsZeroQuality(member.substr(semicolon + 1));
}

}  // namespace

std::string_view HttpRequest::Field(std::string_view name) const {
  const auto found = std::ranges::find(
      fields, name, [](const auto& field) { return std::string_view(field.first); });
  return found == fields.end() ? std::string_view() : std::string_view(found->second);
}

std::string HttpRequest::List(std::string_view name) const {
  std::string list;
  for (const auto& [key, value] : fields) {
    if (key != name) continue;
    if (!list.empty()) list += ", ";
    list += value;
  }
  return list;
}

std::string_view ReasonPhrase(int status) {
  switch (status) {
    case 200: return "OK";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 416: return "Range Not Satisfiable";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Unknown";
  }
}

bool OffersToken(std::string_view list, std::string_view token) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (MemberOffers(list.substr(0, comma), token)) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

std::string HttpDate() {
  static constexpr std::array kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr std::array kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
                     kDays[static_cast<std::size_t>(utc.tm_wday)], utc.tm_mday,
                     kMonths[static_cast<std::size_t>(utc.tm_mon)], utc.tm_year + 1900, utc.tm_hour,
                     utc.tm_min, utc.tm_sec);
}

std::string QuotedString(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c >= 0x20 && c < 0x7F ? c : '?';
  }
  return quoted += '"';
}

std::string FormatHead(int status, const HttpFields& fields) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", status, ReasonPhrase(status));
  for (const auto& [name, value] : fields) {
    head.append(name).append(": ").append(value).append("\r\n");
  }
  return head += "\r\n";
}

}  // namespace gopmill
