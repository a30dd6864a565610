// SPDX-License-Identifier: Apache-2.0
//
// A file that is written under a temporary name beside its own and gets that when it is whole.
//
// Guarantee: the final name only ever holds a whole file; an error, Ctrl-C or a full disk leaves
// nothing under either. Only what this object has made is ever removed, whoever else writes to the
// same folder. Symbolic links are followed, as by any program that opens a file to write to it:
// what they lead to is replaced, not they. A file that is replaced hands on its permissions.
// Thread-safety: compatible; temporary() may be read at any time.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "base/status.h"

namespace gopmill {

class OutputFile {
 public:
  // `path` as the user gave it; it may be relative. Touches nothing.
  // kInvalidArgument "output": a folder, a device or pipe, a name that exists (without `force`), or
  // whose links lead nowhere.
  static Result<OutputFile> Choose(const std::string& path, bool force);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  // Claims the temporary name, so that a folder that cannot be written to is found out at once.
  // `source_fd`: what is read must not be what is replaced. Errors of the system.
  Status Create(int source_fd);
  // The temporary file is complete, and on the disk when this returns. Without `force` an output
  // that appeared meanwhile is kept, and so is what was made: the error tells under which name.
  Status Publish();

  [[nodiscard]] const std::string& temporary() const { return temporary_; }

 private:
  OutputFile(std::string given, std::string final_path, bool force);
  [[nodiscard]] Status Name();
  [[nodiscard]] Status SyncFolder() const;

  // Of what is replaced.
  struct Rights {
    uid_t owner = 0;
    gid_t group = 0;
    mode_t mode = 0;
  };
  static void HandOn(const Rights& rights, int fd);

  std::string given_, final_, temporary_;
  bool force_ = false;
  bool made_ = false;  // and is to be removed
  std::optional<Rights> rights_;
};

// Where what is written to `path` would be: links are followed, also one whose end does not exist
// yet. Absolute. kInvalidArgument "output": links that go round.
Result<std::string> WrittenPath(const std::string& path);

}  // namespace gopmill
