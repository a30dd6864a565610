// SPDX-License-Identifier: Apache-2.0
#include "server/http/request_parser.h"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <cctype>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/words.h"

namespace gopmill {
namespace {

namespace http = boost::beast::http;
using BeastParser = http::request_parser<http::buffer_body>;

// "0", CRLF, CRLF: no message has fewer from the beginning of a chunk on. Beast (1.74) fails an
// assertion when it is called again before all of it is there.
constexpr std::size_t kLastChunkBytes = 5;

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

HttpRequest CopyHead(const BeastParser& parser) {
  const auto& message = parser.get();
  HttpRequest request;
  request.method = View(message.method_string());
  request.target = View(message.target());
  request.http11 = message.version() == 11;
  request.keep_alive = message.keep_alive();
  request.has_body = parser.chunked() || parser.content_length().value_or(0) > 0;
  for (const auto& field : message) {
    request.fields.emplace_back(LowerAscii(View(field.name_string())), View(field.value()));
  }
  return request;
}

// What the parser library lets through and a strict server must not. Returns the problem, if any.
std::optional<Problem> CheckHead(const HttpRequest& request, const HttpLimits& limits) {
  if (request.target.size() > limits.max_target_bytes) {
    return ProtocolProblem(414, "The request target has more than " +
                                    std::to_string(limits.max_target_bytes) + " bytes.");
  }
  const auto count = [&request](std::string_view name) {
    return std::ranges::count(request.fields, name,
                              [](const auto& field) { return std::string_view(field.first); });
  };
  if (count("host") > 1 || (request.http11 && count("host") == 0)) {
    return ProtocolProblem(400, "An HTTP/1.1 request has exactly one Host field.");
  }
  const auto codings = count("transfer-encoding");
  if (codings > 0 && !request.http11) {
    return ProtocolProblem(400, "HTTP/1.0 has no Transfer-Encoding.");
  }
  if (codings > 1 ||
      (codings == 1 && LowerAscii(request.Field("transfer-encoding")) != "chunked")) {
    return ProtocolProblem(501, "The only transfer coding understood here is 'chunked'.");
  }
  const std::string expect = LowerAscii(request.Field("expect"));
  if (!expect.empty() && expect != "100-continue") {
    return ProtocolProblem(417, "The only expectation understood here is '100-continue'.");
  }
  return std::nullopt;
}

}  // namespace

class RequestParser::Impl {
 public:
  Impl(const HttpLimits& limits, JudgeBody judge_body)
      : limits_(limits), judge_body_(std::move(judge_body)) {
    Reset();
  }

  void Reset() {
    parser_.emplace();
    parser_->eager(false);
    parser_->header_limit(static_cast<std::uint32_t>(limits_.max_header_bytes));
    parser_->body_limit(UINT64_MAX);  // counted here: the limit depends on the request
    state_ = State::kHead;
    keeps_body_ = waits_in_body_ = false;
    body_.clear();
    head_bytes_ = 0;
    request_ = {};
  }

  std::size_t Feed(std::span<const std::uint8_t> bytes) {
    std::size_t used = SkipEmptyLines(bytes);
    const bool maybe_empty_line =
        state_ == State::kHead && head_bytes_ == 0 && bytes.size() == used + 1;
    if (maybe_empty_line && bytes[used] == '\r') return used;
    while (state_ == State::kHead || state_ == State::kBody) {
      const std::size_t step = Step(bytes.subspan(used));
      used += step;
      if (step == 0 || std::exchange(pause_, false)) break;
    }
    return used;
  }

  State state() const { return state_; }
  bool mid_message() const {
    return state_ == State::kBody || (state_ == State::kHead && head_bytes_ > 0);
  }
  const HttpRequest& request() const { return request_; }
  const Problem& problem() const { return problem_; }
  bool keeps_body() const { return keeps_body_; }
  std::string TakeBody() { return std::exchange(body_, {}); }

 private:
  // A server should ignore empty lines before a request line (RFC 9112 section 2.2).
  std::size_t SkipEmptyLines(std::span<const std::uint8_t> bytes) const {
    std::size_t used = 0;
    if (state_ != State::kHead || head_bytes_ > 0) return used;
    while (used + 1 < bytes.size() && bytes[used] == '\r' && bytes[used + 1] == '\n') used += 2;
    return used;
  }

  // One turn of the parser; 0 means that it needs more, is done, or has failed.
  std::size_t Step(std::span<const std::uint8_t> bytes) {
    if (bytes.empty() || (waits_in_body_ && bytes.size() < kLastChunkBytes)) return 0;
    waits_in_body_ = false;
    if (TooLong(bytes)) return 0;
    std::array<char, 16 * 1024> piece;
    parser_->get().body() = {piece.data(), piece.size(), true};
    boost::beast::error_code error;
    const std::size_t used = parser_->put({bytes.data(), bytes.size()}, error);
    if (state_ == State::kHead) head_bytes_ += used;
    if (keeps_body_) body_.append(piece.data(), piece.size() - parser_->get().body().size);
    if (error == http::error::need_buffer) error = {};
    if (error == http::error::need_more) {
      error = {};
      waits_in_body_ = state_ == State::kBody;
      const std::size_t waiting = bytes.size() - used;
      if (TooLong(bytes.subspan(used))) return used;
      if (state_ == State::kBody && waiting > limits_.max_header_bytes) {
        Fail(ProtocolProblem(431, "A chunk header or trailer section is too large."));
      }
    }
    if (error) {
      Fail(ProblemFor(error, bytes));
      return used;
    }
    Advance();
    return used;
  }

  void Advance() {
    if (state_ == State::kHead && parser_->is_header_done()) {
      request_ = CopyHead(*parser_);
      state_ = State::kBody;
      if (auto problem = CheckHead(request_, limits_)) return Fail(*std::move(problem));
      keeps_body_ = KeepsBody();
      pause_ = keeps_body_;
      if (!keeps_body_) LimitBody();
    }
    if (state_ == State::kBody && parser_->is_done()) state_ = State::kDone;
  }

  // Fails if what waits in `rest` shows that the head, or a line of the chunked framing or a
  // trailer section, is over its limit.
  bool TooLong(std::span<const std::uint8_t> rest) {
    const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
    // " HTTP/1.1" and a method fit into this much beside the target.
    constexpr std::size_t kLineOverhead = 64;
    const std::size_t max_line = limits_.max_target_bytes + kLineOverhead;
    const bool in_request_line = state_ == State::kHead && head_bytes_ == 0;
    if (in_request_line && text.size() > max_line && text.find('\n') > max_line) {
      Fail(ProtocolProblem(414, "The request line is too long."));
      return true;
    }
    if (state_ != State::kHead || head_bytes_ + text.size() <= limits_.max_header_bytes) {
      return false;
    }
    const std::size_t end = std::min(text.find("\r\n\r\n"), text.size());
    if (head_bytes_ + end <= limits_.max_header_bytes) return false;
    Fail(ProtocolProblem(431, "The request header has more than " +
                                  std::to_string(limits_.max_header_bytes) + " bytes."));
    return true;
  }

  Problem ProblemFor(const boost::beast::error_code& error,
                     std::span<const std::uint8_t> bytes) const {
    if (error == http::error::header_limit) {
      return ProtocolProblem(431, "The request header is too large.");
    }
    if (error == http::error::body_limit) return TooLargeBody();
    const auto end = std::ranges::find(bytes, '\n');
    const bool bare = end != bytes.end() && (end == bytes.begin() || *std::prev(end) != '\r');
    if (state_ == State::kHead && head_bytes_ == 0 && bare) {
      return ProtocolProblem(400, "Lines of a request end with CR LF, not with LF alone.");
    }
    if (error == http::error::bad_version) {
      return ProtocolProblem(505, "The HTTP version is not understood.");
    }
    return ProtocolProblem(400, "The request cannot be parsed: " + error.message() + ".");
  }

  bool KeepsBody() const {
    if (!request_.has_body || !judge_body_) return false;
    const BodyUse use = judge_body_(request_);
    return use == BodyUse::kTaken || (use == BodyUse::kRefused && !IsShort());
  }
  // For sure: what comes in chunks may be of any length.
  bool IsShort() const {
    return parser_->content_length().value_or(UINT64_MAX) <= limits_.max_body_bytes;
  }

  // Nobody wants this body. The limit could not be set before: the header had to be read first.
  void LimitBody() {
    parser_->body_limit(limits_.max_body_bytes);  // of chunks; a length has been taken already
    if (parser_->content_length().value_or(0) > limits_.max_body_bytes) Fail(TooLargeBody());
  }

  Problem TooLargeBody() const {
    return ProtocolProblem(413, "The request body has more than " +
                                    std::to_string(limits_.max_body_bytes) +
                                    " bytes, and nothing here takes it.");
  }

  void Fail(Problem problem) {
    state_ = State::kFailed;
    problem_ = std::move(problem);
  }

  const HttpLimits limits_;
  const JudgeBody judge_body_;
  std::optional<BeastParser> parser_;
  State state_ = State::kHead;
  std::size_t head_bytes_ = 0;  // used so far of the current head
  bool keeps_body_ = false;
  bool waits_in_body_ = false;  // for more of a line of the chunked framing
  bool pause_ = false;          // Feed returns behind this step
  std::string body_;            // wanted, not yet taken
  HttpRequest request_;
  Problem problem_;
};

RequestParser::RequestParser(const HttpLimits& limits, JudgeBody judge_body)
    : impl_(std::make_unique<Impl>(limits, std::move(judge_body))) {}
RequestParser::~RequestParser() = default;
std::size_t RequestParser::Feed(std::span<const std::uint8_t> bytes) { return impl_->Feed(bytes); }
void RequestParser::Reset() { impl_->Reset(); }
RequestParser::State RequestParser::state() const { return impl_->state(); }
bool RequestParser::mid_message() const { return impl_->mid_message(); }
const HttpRequest& RequestParser::request() const { return impl_->request(); }
const Problem& RequestParser::problem() const { return impl_->problem(); }
bool RequestParser::keeps_body() const { return impl_->keeps_body(); }
std::string RequestParser::TakeBody() { return impl_->TakeBody(); }

}  // namespace gopmill
