# The warning set of the project, as an interface target that only our own targets link.
# GOPMILL_WERROR turns warnings into errors; the CI and developer presets set it.
add_library(gopmill_warnings INTERFACE)
target_compile_options(
  gopmill_warnings
  INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
            -Wnon-virtual-dtor -Woverloaded-virtual -Wnull-dereference -Wimplicit-fallthrough
            -Wswitch-enum $<$<BOOL:${GOPMILL_WERROR}>:-Werror>)
# clang checks the lock annotations of base/thread_safety.h.
target_compile_options(
  gopmill_warnings
  INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety;-Werror=thread-safety>)
# In a unity build each file is a header of the compiler's own, and a type of its anonymous namespace
# looks as if it were in one.
target_compile_options(
  gopmill_warnings
  INTERFACE $<$<AND:$<BOOL:${CMAKE_UNITY_BUILD}>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)
