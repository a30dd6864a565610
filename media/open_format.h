// SPDX-License-Identifier: Apache-2.0
//
// Opening and probing a container through our own I/O: with allow-lists of containers and codecs
// and no protocols, and errors in words.
//
// Thread-safety: compatible.
#pragma once

#include <stop_token>

#include "base/status.h"
#include "media/av_ptr.h"
#include "media/fd_io.h"

namespace gopmill {

struct OpenedFormat {
  av::InputFormat format;
  double index_begin = 0;  // MendIndexedLengths
};

// From where `io` is, which is the beginning. Both are borrowed for as long as the format exists.
// `live`: its pictures are waited for. Fails with kUnsupported (not a media file that we read),
// kCorrupt, kIo, kCancelled, or kDeadlineExceeded (a pipe that brings too little).
Result<OpenedFormat> OpenFormat(FdIo& io, const std::stop_token& stop, bool live);

// Why such a source is not read on.
Error RefusalError(FdIo::Refusal refusal);

// Of a source at which FFmpeg failed an assertion of its own (base/contained.h).
Error LeftBehindError();

}  // namespace gopmill
