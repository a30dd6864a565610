# gopmill_library(NAME PUBLIC_DEPS ... PRIVATE_DEPS ...) makes the static library of the folder it is
# called in: all *.cc of that folder, its *.h as a verified header set (each header must compile on its
# own: target all_verify_interface_header_sets).
function(gopmill_library name)
  cmake_parse_arguments(ARG "" "" "PUBLIC_DEPS;PRIVATE_DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  add_library(gopmill_${name} STATIC ${sources})
  add_library(gopmill::${name} ALIAS gopmill_${name})
  target_sources(gopmill_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES
                                        ${headers})
  target_include_directories(gopmill_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(
    gopmill_${name}
    PUBLIC ${ARG_PUBLIC_DEPS}
    PRIVATE gopmill_warnings ${ARG_PRIVATE_DEPS})
  set_target_properties(gopmill_${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
endfunction()
