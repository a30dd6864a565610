// SPDX-License-Identifier: Apache-2.0
//
// A file or folder gets its final name, which nobody may have.
//
// Thread-safety: safe.
#pragma once

namespace gopmill {

// Names relative to open folders, or AT_FDCWD, as renameat(2) takes them. What `to` names already
// is kept: EEXIST. 0, or the errno of what failed; `from` has its name still then.
//
// In one step where the file system can, else by a link, which refuses a name that exists as well.
// Only where there are no links to it either (folders, FAT) is it looked for first.
[[nodiscard]] int RenameToNew(int from_folder, const char* from, int to_folder, const char* to);

}  // namespace gopmill
