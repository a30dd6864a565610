// SPDX-License-Identifier: Apache-2.0
//
// Addresses as settings may give them: numbers, so that nobody has to be asked what a name means.
//
// Thread-safety: safe (pure functions).
#pragma once

#include <arpa/inet.h>

#include <string>
#include <string_view>

#include "base/status.h"

namespace gopmill {

// kInvalidArgument naming `setting` unless it is an IPv4 or IPv6 literal.
inline Status CheckIpAddress(const std::string& setting, const std::string& address) {
  in6_addr unused{};
  if (inet_pton(AF_INET, address.c_str(), &unused) == 1 ||
      inet_pton(AF_INET6, address.c_str(), &unused) == 1) {
    return OkStatus();
  }
  return InvalidArgument(setting, "'" + address + "' is not an IP address.",
                         "an IPv4 or IPv6 literal");
}

// "rtmp://[::1]:1935": an IPv6 literal is in brackets there (RFC 3986 section 3.2.2).
inline std::string UrlOf(std::string_view scheme, const std::string& address, int port) {
  const bool ipv6 = address.find(':') != std::string::npos;
  return std::string(scheme) + "://" + (ipv6 ? "[" + address + "]" : address) + ":" +
         std::to_string(port);
}

// Of an IPv4 or IPv6 literal: whether only this machine reaches it.
inline bool IsLoopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1";
}

}  // namespace gopmill
