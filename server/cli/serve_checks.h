// SPDX-License-Identifier: Apache-2.0
//
// What is wrong with the settings of a server, as far as it can be told before anything listens:
// what each setting by itself allows is seen by the loader, here is what belongs together.
//
// Errors: kInvalidArgument with the setting, and what would be right; never what a secret says. Of
// CheckLibrary those of Library::Open too.
// Thread-safety: safe (CheckLibrary reads the disk, which may take its time).
#pragma once

#include "base/status.h"
#include "config/server_config.h"
#include "server/live/push_listener.h"

namespace gopmill::cli {

// What the settings say of one protocol that streams are brought by; port 0: it is off.
PushOptions PushOptionsOf(PushProtocol protocol, const ServerConfig& config);

// Whether there is a library that can be read.
Status CheckLibrary(const ServerConfig& config);
// All but the library, also of what is turned off.
Status CheckSettings(const ServerConfig& config);

}  // namespace gopmill::cli
