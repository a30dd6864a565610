// SPDX-License-Identifier: Apache-2.0
//
// A blocking HTTP client that can be as rude as a test wants: it sends any bytes, reads as little
// as told, and leaves without a word. Every wait ends after ten seconds. Answers may be of RTSP.
//
// Thread-safety: compatible.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace gopmill {

struct RawResponse {
  int status = 0;
  std::multimap<std::string, std::string> fields;    // lower-case names
  std::multimap<std::string, std::string> trailers;  // lower-case names
  std::string body;                                  // without chunk framing
  bool complete = false;  // the length, the last chunk or (HTTP/1.0) the end was reached

  [[nodiscard]] std::string Field(const std::string& name) const;
};

class RawClient {
 public:
  // Connects to 127.0.0.1. A receive buffer of `receive_bytes` makes a slow reader felt soon.
  // `socket`: one that was opened beforehand, which it takes; -1 = its own.
  explicit RawClient(int port, int receive_bytes = 0, int socket = -1);
  ~RawClient();
  RawClient(RawClient&& other) noexcept;
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // False if the server has closed the connection.
  bool Send(std::string_view bytes);
  // As many of the bytes as the way takes at once.
  void SendWhatGoes(std::string_view bytes);
  // "GET /path HTTP/1.1" with Host and `fields` ("Name: value\r\n"...).
  bool Get(std::string_view path, std::string_view fields = {}, std::string_view method = "GET");

  // Reads one response. Empty if there is none.
  enum class Body { kExpected, kNone };  // kNone: the answer to HEAD
  std::optional<RawResponse> Receive(Body body = Body::kExpected);
  // Reads up to the empty line after the header.
  std::optional<RawResponse> ReceiveHead();
  // Reads at least this many bytes of whatever comes; false at the end.
  bool Skip(std::size_t bytes);
  // Waits for the end of the connection; true if it came (also as a reset).
  bool AwaitClosed();
  void HalfClose();
  void Leave();  // closes
  void Reset();  // closes with a reset

 private:
  bool Fill();  // one read into buffer_
  bool FillUpTo(std::size_t size);
  std::optional<std::string> Line();
  bool ReadFields(std::multimap<std::string, std::string>& fields);
  void ReadChunks(RawResponse& response);
  void ReadBody(RawResponse& response);

  int fd_ = -1;
  std::string buffer_;
};

// One request on a connection of its own.
std::optional<RawResponse> Fetch(int port, std::string_view path, std::string_view fields = {},
                                 std::string_view method = "GET");

}  // namespace gopmill
