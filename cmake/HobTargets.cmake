# How every target of Hob is compiled, in one place.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O3 -g1")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O3 -g1")

find_program(HOB_CCACHE ccache)
if(HOB_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER "${HOB_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${HOB_CCACHE}")
endif()

add_compile_options(-Wall -Wextra -Wshadow -Werror)

# Of the C++ library, which is linked in, only what is used: the rest would ask for a newer C library than
# clusters have (arc4random, glibc 2.36, for a random device that nobody opens).
add_link_options(-Wl,--gc-sections)

set(HOB_SANITIZE "" CACHE STRING "Sanitizers for the pure parts: address, undefined, thread (comma separated)")
if(HOB_SANITIZE)
  add_compile_options(-fsanitize=${HOB_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${HOB_SANITIZE})
endif()

# fmt for everybody, its functions compiled once.
add_library(hob_fmt STATIC "${CMAKE_CURRENT_LIST_DIR}/fmt_once.cpp")
get_target_property(hob_fmt_include fmt::fmt-header-only INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(hob_fmt SYSTEM PUBLIC "${hob_fmt_include}")

# hob_pure_library(NAME SOURCES... [LIBS...]): a part of Hob that knows no MPI. The directory
# above src/ is the include root, so that headers are named by part: "cache/cache.hpp".
function(hob_pure_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${name} PUBLIC ${arg_LIBS})
endfunction()

# All unit tests and nothing else: what the sanitizer presets build.
add_custom_target(unit-tests)

# hob_unit_test(NAME SOURCES... LIBS... [ARGS...]): a GoogleTest binary, one CTest entry, label "unit".
function(hob_unit_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LIBS;ARGS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} GTest::gtest_main)
  add_dependencies(unit-tests ${name})
  add_test(NAME unit.${name} COMMAND ${name} ${arg_ARGS})
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT ${arg_TIMEOUT})
endfunction()
