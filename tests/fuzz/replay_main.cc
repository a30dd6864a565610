// SPDX-License-Identifier: Apache-2.0
//
// Runs a fuzz target over files and folders of files, for compilers without libFuzzer:
//   xyz_fuzz_replay CORPUS...
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void Replay(const std::filesystem::path& path) {
  std::vector<std::uint8_t> bytes(std::filesystem::file_size(path));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  for (const std::string& argument : std::vector<std::string>(argv + 1, argv + argc)) {
    if (!std::filesystem::is_directory(argument)) {
      Replay(argument);
      ++count;
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(argument)) {
      Replay(entry.path());
      ++count;
    }
  }
  std::printf("%d inputs\n", count);
  return count > 0 ? 0 : 1;
}
