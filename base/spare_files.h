// SPDX-License-Identifier: Apache-2.0
//
// Whether the process may open more files. Thread-safety: safe; others may take them meanwhile.
#pragma once

namespace gopmill {

// Whether so many more descriptors can be had now: opens them and closes them again. For libraries
// that end the process where they get none.
bool HasFiles(int count);

}  // namespace gopmill
