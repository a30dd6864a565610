// SPDX-License-Identifier: Apache-2.0
#include "scheduler/topology_xml.h"

#include <expat.h>

#include <array>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace gopmill {
namespace {

struct FreeParser {
  void operator()(XML_Parser parser) const noexcept { XML_ParserFree(parser); }
};
using Parser = std::unique_ptr<std::remove_pointer_t<XML_Parser>, FreeParser>;

// The parser of the element that was found first; stops at one that is no topology.
void OnElement(void* user, const XML_Char* name, const XML_Char** /*attributes*/) noexcept {
  const auto parser = static_cast<XML_Parser>(user);
  if (std::string_view(name) == "topology") {
    XML_SetStartElementHandler(parser, nullptr);
  } else {
    XML_StopParser(parser, XML_FALSE);
  }
}

Error Malformed(XML_Parser parser) {
  const XML_Error code = XML_GetErrorCode(parser);
  const std::string what =
      code == XML_ERROR_ABORTED ? "the outermost element is not <topology>" : XML_ErrorString(code);
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
  XML_UseParserAsHandlerArg(parser.get());
  XML_SetStartElementHandler(parser.get(), OnElement);
  std::array<char, 65536> buffer;
  for (bool last = false; !last;) {
    in.read(buffer.data(), buffer.size());
    last = in.gcount() < static_cast<std::streamsize>(buffer.size());
    const int bytes = static_cast<int>(in.gcount());
    if (XML_Parse(parser.get(), buffer.data(), bytes, last ? 1 : 0) != XML_STATUS_OK) {
      return Malformed(parser.get());
    }
  }
  return OkStatus();
}

}  // namespace gopmill
