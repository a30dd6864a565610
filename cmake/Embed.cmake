# SPDX-License-Identifier: Apache-2.0
#
# gopmill_embed(TARGET FUNCTION FILES...) builds the files into TARGET as a table of Asset
# (base/asset.h) that FUNCTION returns. The same file is the script that writes it at build
# time.
if(CMAKE_SCRIPT_MODE_FILE)
  # cmake -DOUTPUT=... -DFUNCTION=... -DFILES=a|b -P Embed.cmake
  string(REPLACE "|" ";" files "${FILES}")
  set(arrays "")
  set(rows "")
  set(index 0)
  foreach(file ${files})
    file(READ ${file} hex HEX)
    file(SHA256 ${file} hash)
    string(SUBSTRING ${hash} 0 16 tag)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    get_filename_component(name ${file} NAME)
    string(APPEND arrays "constexpr unsigned char kFile${index}[] = {${bytes}};\n")
    string(APPEND rows "    {\"${name}\", View(kFile${index}), \"\\\"${tag}\\\"\"},\n")
    math(EXPR index "${index} + 1")
  endforeach()
  file(
    WRITE ${OUTPUT}
    "// Made by cmake/Embed.cmake.\n"
    "#include \"base/asset.h\"\n\n"
    "#include <cstddef>\n#include <span>\n\n"
    "namespace gopmill {\nnamespace {\n\n"
    "template <std::size_t N>\n"
    "std::string_view View(const unsigned char (&bytes)[N]) {\n"
    "  return {reinterpret_cast<const char*>(bytes), N};\n}\n\n"
    "${arrays}\n}  // namespace\n\n"
    "std::span<const Asset> ${FUNCTION}();\n"
    "std::span<const Asset> ${FUNCTION}() {\n"
    "  static const Asset kAssets[] = {\n${rows}  };\n"
    "  return kAssets;\n}\n\n}  // namespace gopmill\n")
  return()
endif()

set(GOPMILL_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(gopmill_embed target function)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${target}_embedded.cc)
  string(REPLACE ";" "|" joined "${ARGN}")
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DFUNCTION=${function} "-DFILES=${joined}" -P ${GOPMILL_EMBED_SCRIPT}
    DEPENDS ${ARGN} ${GOPMILL_EMBED_SCRIPT}
    COMMENT "Embedding files into ${target}"
    VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()
