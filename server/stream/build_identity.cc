// SPDX-License-Identifier: Apache-2.0
#include "server/stream/build_identity.h"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "media/digest.h"

namespace gopmill {
namespace {

// The build id among the notes of one segment, empty if there is none.
std::string_view FindBuildId(std::string_view notes) {
  const auto padded = [](std::size_t size) { return (size + 3) & ~std::size_t{3}; };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, notes.data(), sizeof note);
    const std::size_t name = padded(note.n_namesz), content = padded(note.n_descsz);
    if (sizeof note + name + content > notes.size()) return {};
    if (note.n_type == NT_GNU_BUILD_ID) return notes.substr(sizeof note + name, note.n_descsz);
    notes.remove_prefix(sizeof note + name + content);
  }
  return {};
}

int Collect(dl_phdr_info* object, std::size_t /*size*/, void* list) noexcept {
  // The kernel's own object changes with the kernel and encodes nothing.
  if (std::string_view(object->dlpi_name).starts_with("linux-vdso")) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = object->dlpi_phdr[i];
    if (header.p_type != PT_NOTE) continue;
    const auto* begin = reinterpret_cast<const char*>(object->dlpi_addr + header.p_vaddr);
    const std::string_view id = FindBuildId({begin, header.p_memsz});
    if (!id.empty()) static_cast<std::vector<std::string>*>(list)->emplace_back(id);
  }
  return 0;
}

}  // namespace

const std::string& BuildIdentity() {
  static const std::string kIdentity = [] {
    std::vector<std::string> ids;
    dl_iterate_phdr(&Collect, &ids);
    std::ranges::sort(ids);
    std::string all;
    for (const std::string& id : ids) all += id;
    return Sha256Hex(all);
  }();
  return kIdentity;
}

std::string BuildVersion() { return GOPMILL_VERSION; }

}  // namespace gopmill
