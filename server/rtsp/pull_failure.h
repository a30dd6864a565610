// SPDX-License-Identifier: Apache-2.0
//
// Why a peer cannot be fetched from, in words for who has set it up.
//
// Thread-safety: safe (pure functions). Texts of a peer are cut, and without control characters.
#pragma once

#include <gst/gst.h>

#include <string>

#include "server/rtsp/pull_sources.h"

namespace gopmill {

struct PullFailure {
  std::string text;      // without secrets: for logs, /v1/live and readers
  bool refused = false;  // who we are: to be asked seldom, as cameras lock accounts
};

// `message` is an error of rtspsrc, or of what takes its streams apart.
PullFailure FailureOf(GstMessage& message, const PullSource& source);

// Whether it is that the peer cannot be connected to, of which it does not say why.
bool CannotConnect(GstMessage& message);

}  // namespace gopmill
