// SPDX-License-Identifier: Apache-2.0
#include "scheduler/topology_xml.h"

#include <expat.h>

#include <array>
#include <charconv>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace gopmill {
namespace {

// Far above any number that an operating system gives.
constexpr unsigned long kMaxXmlIndex = 1U << 20U;
// hwloc reads an element inside another one by a call of its own. Machines have a dozen levels.
constexpr int kMaxXmlDepth = 64;

struct FreeParser {
  void operator()(XML_Parser parser) const noexcept { XML_ParserFree(parser); }
};
using Parser = std::unique_ptr<std::remove_pointer_t<XML_Parser>, FreeParser>;

// What the handlers know; `fault` once they have stopped the parser.
struct Check {
  XML_Parser parser = nullptr;
  int depth = 0;  // elements that are open
  const char* fault = nullptr;
};

void Stop(Check& check, const char* fault) {
  check.fault = fault;
  XML_StopParser(check.parser, XML_FALSE);
}

bool IsIndex(std::string_view text) {
  unsigned long index = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), index);
  return code == std::errc() && end == text.data() + text.size() && index <= kMaxXmlIndex;
}

// hwloc makes sets of these numbers, as long as the greatest of them: a garbled one fills
// gigabytes.
void CheckObject(Check& check, const XML_Char* name, const XML_Char** attributes) {
  if (std::string_view(name) != "object") return;
  std::string_view type, index;
  for (; attributes[0] != nullptr; attributes += 2) {
    if (std::string_view(attributes[0]) == "type") type = attributes[1];
    if (std::string_view(attributes[0]) == "os_index") index = attributes[1];
  }
  if ((type != "PU" && type != "NUMANode") || IsIndex(index)) return;
  Stop(check, "the os_index of a PU or memory node is not 0 to 1048576");
}

void OnBegin(void* user, const XML_Char* name, const XML_Char** attributes) noexcept {
  auto& check = *static_cast<Check*>(user);
  ++check.depth;
  if (check.depth > kMaxXmlDepth) {
    Stop(check, "more than 64 elements are inside each other");
  } else if (check.depth > 1) {
    CheckObject(check, name, attributes);
  } else if (std::string_view(name) != "topology") {
    Stop(check, "the outermost element is not <topology>");
  }
}

void OnEnd(void* user, const XML_Char* /*name*/) noexcept { --static_cast<Check*>(user)->depth; }

Error Malformed(const Check& check) {
  XML_Parser const parser = check.parser;
  const std::string what =
      check.fault != nullptr ? check.fault : XML_ErrorString(XML_GetErrorCode(parser));
  return Error{.code = Code::kInvalidArgument,
               .message = "The file is not an hwloc topology: line " +
                          std::to_string(XML_GetCurrentLineNumber(parser)) + ", column " +
                          std::to_string(XML_GetCurrentColumnNumber(parser) + 1) + ": " + what +
                          ".",
               .parameter = "topology",
               .accepted = "a file written by lstopo x.xml"};
}

}  // namespace

Status CheckTopologyXml(const std::filesystem::path& file) {
  const Parser parser(XML_ParserCreate(nullptr));
  std::ifstream in(file, std::ios::binary);
  if (parser == nullptr || !in) {
    return Error{.code = Code::kNotFound,
                 .message = "The topology file cannot be read.",
                 .parameter = "topology"};
  }
  Check check{.parser = parser.get()};
  XML_SetUserData(parser.get(), &check);
  XML_SetElementHandler(parser.get(), OnBegin, OnEnd);
  std::array<char, 65536> buffer;
  for (bool last = false; !last;) {
    in.read(buffer.data(), buffer.size());
    last = in.gcount() < static_cast<std::streamsize>(buffer.size());
    const int bytes = static_cast<int>(in.gcount());
    if (XML_Parse(parser.get(), buffer.data(), bytes, last ? 1 : 0) != XML_STATUS_OK) {
      return Malformed(check);
    }
  }
  return OkStatus();
}

}  // namespace gopmill
