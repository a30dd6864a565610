// SPDX-License-Identifier: Apache-2.0
#include "media/mux_sink.h"

extern "C" {
#include <libavutil/dict.h>
}

#include <algorithm>
#include <cerrno>
#include <exception>
#include <utility>

#include "media/av_error.h"

namespace gopmill {
namespace {

// Large enough that a fragment takes few calls, small against the session's own buffers.
constexpr int kWriteBufferBytes = 64 * 1024;

}  // namespace

Error MuxError(std::string_view doing, int native) {
  if (native == AVERROR(ENOSPC) || native == AVERROR(EDQUOT)) {
    return Error{.code = Code::kResourceExhausted,
                 .message = "No space left for the output.",
                 .native = native};
  }
  return av::AvError(doing, native);
}

Result<std::unique_ptr<MuxSink>> MuxSink::ToCallback(Output output) {
  std::unique_ptr<MuxSink> sink(new MuxSink);
  sink->output_ = std::move(output);
  auto* buffer = static_cast<std::uint8_t*>(av_malloc(kWriteBufferBytes));
  GOPMILL_CHECK(buffer != nullptr);
  sink->context_ = avio_alloc_context(buffer, kWriteBufferBytes, 1, sink.get(), nullptr,
                                      &MuxSink::OnWrite, nullptr);
  GOPMILL_CHECK(sink->context_ != nullptr);
  sink->context_->seekable = 0;
  return sink;
}

Result<std::unique_ptr<MuxSink>> MuxSink::ToFile(const std::string& path) {
  std::unique_ptr<MuxSink> sink(new MuxSink);
  sink->url_ = "file:" + path;
  AVDictionary* options = nullptr;
  av_dict_set(&options, "protocol_whitelist", "file", 0);
  const int result =
      avio_open2(&sink->context_, sink->url_.c_str(), AVIO_FLAG_WRITE, nullptr, &options);
  av_dict_free(&options);
  if (result < 0) return MuxError("The output file cannot be created", result);
  return sink;
}

MuxSink::~MuxSink() {
  if (context_ == nullptr) return;
  if (!url_.empty()) {
    avio_closep(&context_);
    return;
  }
  av_freep(&context_->buffer);
  avio_context_free(&context_);
}

int MuxSink::OnWrite(void* self, av::AvioWriteByte* data, int size) noexcept {
  auto& sink = *static_cast<MuxSink*>(self);
  if (sink.error_) return AVERROR(EIO);
  try {
    const Status status = sink.output_({data, static_cast<std::size_t>(size)});
    if (!status.ok()) sink.error_ = status.error();
  } catch (const std::exception&) {
    sink.error_ = InternalError("The output failed.");
  }
  if (sink.error_) return AVERROR(EIO);
  sink.bytes_ += size;
  return size;
}

void MuxSink::Flush() {
  if (context_ != nullptr) avio_flush(context_);
}

Status MuxSink::Close() {
  if (context_ == nullptr) return OkStatus();
  avio_flush(context_);
  if (error_) return *error_;
  int result = context_->error;
  if (!url_.empty()) {
    bytes_ = std::max<std::int64_t>(bytes(), 0);
    const int closed = avio_closep(&context_);
    if (result >= 0) result = closed;
  }
  if (result < 0) return MuxError("The output cannot be written", result);
  return OkStatus();
}

std::int64_t MuxSink::bytes() const {
  if (url_.empty() || context_ == nullptr) return bytes_;
  return std::max(avio_tell(context_), avio_size(context_));
}

}  // namespace gopmill
