// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/http/raw_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <utility>

#include "base/status.h"

namespace gopmill {

std::string RawResponse::Field(const std::string& name) const {
  const auto found = fields.find(name);
  return found == fields.end() ? std::string() : found->second;
}

RawClient::RawClient(int port, int receive_bytes, int socket)
    : fd_(socket >= 0 ? socket : ::socket(AF_INET, SOCK_STREAM, 0)) {
  const timeval patience{.tv_sec = 10, .tv_usec = 0};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (receive_bytes > 0) {
    setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof receive_bytes);
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  GOPMILL_CHECK(connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
}

RawClient::~RawClient() { Leave(); }

RawClient::RawClient(RawClient&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), buffer_(std::move(other.buffer_)) {}

bool RawClient::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

void RawClient::SendWhatGoes(std::string_view bytes) {
  constexpr int kTries = 20;  // the server reads meanwhile
  for (int i = 0; i < kTries && !bytes.empty(); ++i) {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    if (sent < 0) usleep(10'000);
  }
}

bool RawClient::Get(std::string_view path, std::string_view fields, std::string_view method) {
  std::string request(method);
  request.append(" ").append(path).append(" HTTP/1.1\r\nHost: test\r\n");
  return Send(request.append(fields).append("\r\n"));
}

bool RawClient::Fill() {
  std::array<char, 65536> block{};
  const ssize_t count = recv(fd_, block.data(), block.size(), 0);
  if (count <= 0) return false;
  buffer_.append(block.data(), static_cast<std::size_t>(count));
  return true;
}

bool RawClient::FillUpTo(std::size_t size) {
  while (buffer_.size() < size) {
    if (!Fill()) return false;
  }
  return true;
}

std::optional<std::string> RawClient::Line() {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n")) == std::string::npos) {
    if (!Fill()) return std::nullopt;
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return line;
}

bool RawClient::ReadFields(std::multimap<std::string, std::string>& fields) {
  while (true) {
    const auto line = Line();
    if (!line) return false;
    if (line->empty()) return true;
    const std::size_t colon = line->find(": ");
    if (colon == std::string::npos) return false;
    std::string name = line->substr(0, colon);
    std::ranges::transform(name, name.begin(),
                           [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    fields.emplace(std::move(name), line->substr(colon + 2));
  }
}

std::optional<RawResponse> RawClient::ReceiveHead() {
  RawResponse response;
  const auto line = Line();
  if (!line || line->size() < 12) return std::nullopt;
  if (!line->starts_with("HTTP/1.1 ") && !line->starts_with("RTSP/1.0 ")) return std::nullopt;
  response.status = std::stoi(line->substr(9, 3));
  if (!ReadFields(response.fields)) return std::nullopt;
  return response;
}

void RawClient::ReadChunks(RawResponse& response) {
  while (true) {
    const auto line = Line();
    if (!line) return;
    const std::size_t size = std::stoul(*line, nullptr, 16);
    if (size == 0) {
      response.complete = ReadFields(response.trailers);
      return;
    }
    if (!FillUpTo(size + 2)) return;
    response.body.append(buffer_, 0, size);
    buffer_.erase(0, size + 2);
  }
}

void RawClient::ReadBody(RawResponse& response) {
  if (response.status == 204 || response.status == 304 || response.status == 100) {
    response.complete = true;
  } else if (response.Field("transfer-encoding") == "chunked") {
    ReadChunks(response);
  } else if (!response.Field("content-length").empty()) {
    const std::size_t size = std::stoul(response.Field("content-length"));
    response.complete = FillUpTo(size);
    response.body = buffer_.substr(0, size);
    buffer_.erase(0, size);
  } else {
    while (Fill()) {
    }
    response.complete = errno != ECONNRESET;
    response.body = std::exchange(buffer_, {});
  }
}

std::optional<RawResponse> RawClient::Receive(Body body) {
  errno = 0;
  auto response = ReceiveHead();
  if (!response) return std::nullopt;
  if (body == Body::kExpected) {
    ReadBody(*response);
  } else {
    response->complete = true;
  }
  return response;
}

bool RawClient::Skip(std::size_t bytes) {
  if (!FillUpTo(bytes)) return false;
  buffer_.erase(0, bytes);
  return true;
}

bool RawClient::AwaitClosed() {
  errno = 0;
  while (Fill()) {
  }
  return errno != EAGAIN;
}

void RawClient::HalfClose() { shutdown(fd_, SHUT_WR); }

void RawClient::Leave() {
  if (fd_ >= 0) close(std::exchange(fd_, -1));
}

void RawClient::Reset() {
  const linger reset{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  Leave();
}

std::optional<RawResponse> Fetch(int port, std::string_view path, std::string_view fields,
                                 std::string_view method) {
  RawClient client(port);
  if (!client.Get(path, fields, method)) return std::nullopt;
  return client.Receive(method == "HEAD" ? RawClient::Body::kNone : RawClient::Body::kExpected);
}

}  // namespace gopmill
