// SPDX-License-Identifier: Apache-2.0
//
// Who is at the other end of a connection, for the log.
//
// Thread-safety: safe.
#pragma once

#include <string>

namespace gopmill {

// "127.0.0.1:5000" or "[::1]:5000"; "an unknown peer" of what is no connected socket of IP.
std::string PeerName(int fd);

}  // namespace gopmill
