# SPDX-License-Identifier: Apache-2.0
#
# GOPMILL_SANITIZE=address,undefined | thread and GOPMILL_COVERAGE=ON instrument everything that is
# compiled here. Unlike the warning set these cannot be properties of single targets: an
# uninstrumented library beside an instrumented one gives false reports.
set(GOPMILL_SANITIZE "" CACHE STRING "Sanitizers, comma separated: address,undefined or thread")
option(GOPMILL_COVERAGE "Count executed lines (gcovr reads the counters: target coverage)" OFF)

if(GOPMILL_SANITIZE)
  add_compile_options(-fsanitize=${GOPMILL_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${GOPMILL_SANITIZE})
endif()

# Sanitizer builds are not optimised, because that takes most of the time to compile them; what
# computes for seconds in the tests asks for it.
function(gopmill_optimise_when_sanitized target)
  if(GOPMILL_SANITIZE)
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

if(GOPMILL_COVERAGE)
  add_compile_options(--coverage -fprofile-update=atomic)
  add_link_options(--coverage)
  add_custom_target(
    coverage
    COMMAND
      gcovr --root ${PROJECT_SOURCE_DIR} --object-directory ${PROJECT_BINARY_DIR} --exclude tests/
      --exclude-throw-branches --print-summary --html-details ${PROJECT_BINARY_DIR}/coverage.html
    WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
    COMMENT "Writing coverage.html (run ctest first)"
    VERBATIM)
endif()
