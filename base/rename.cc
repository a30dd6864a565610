// SPDX-License-Identifier: Apache-2.0
#include "base/rename.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace gopmill {

int RenameToNew(int from_folder, const char* from, int to_folder, const char* to) {
  if (renameat2(from_folder, from, to_folder, to, RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  if (linkat(from_folder, from, to_folder, to, 0) == 0) {
    unlinkat(from_folder, from, 0);  // whole under its final name, whatever comes of this
    return 0;
  }
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return errno;
  struct stat there {};
  if (fstatat(to_folder, to, &there, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
  return renameat(from_folder, from, to_folder, to) == 0 ? 0 : errno;
}

}  // namespace gopmill
