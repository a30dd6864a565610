// SPDX-License-Identifier: Apache-2.0
//
// Why a peer cannot be connected to. GStreamer's errors do not tell a name that nobody knows from a
// port on which nobody listens, so it is tried once more by GIO, whose errors do.
//
// Thread-safety: safe (pure function).
#pragma once

#include <gio/gio.h>

#include <string>

namespace gopmill {

// Connects to the host and port of `peer`, like "rtsp://host:554", for at most two seconds for each
// address, and closes it again. Returns in words what is wrong; empty if nothing is, or something
// else. Blocks until then or until `cancel` is cancelled.
std::string ConnectFailure(const std::string& peer, GCancellable* cancel);

}  // namespace gopmill
