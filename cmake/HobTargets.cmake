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

# ccache finds what a file depends on in what the compiler lists of it, and does not run the preprocessor first, which
# takes a fifth of a first build. It takes files with a precompiled header only if told that what it cannot see there does not matter; and it
# knows a file again in another clone if told where this one begins.
find_program(HOB_CCACHE ccache)
if(HOB_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER "${HOB_CCACHE}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros;CCACHE_BASEDIR=${PROJECT_SOURCE_DIR};CCACHE_NOHASHDIR=true;CCACHE_DEPEND=true;${HOB_CCACHE}")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
endif()

add_compile_options(-Wall -Wextra -Wshadow)
if(HOB_WARNINGS_ARE_ERRORS)
  add_compile_options(-Werror)
endif()

# Of the C++ library, which is linked in, only what is used: the rest would ask for a newer C library than
# clusters have (arc4random, glibc 2.36, for std::random_device, which nothing here uses: scripts/check-glibc).
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

# scripts/lint-cpp configures without, since it wants the command of each file.
option(HOB_UNITY_BUILD "Compile several sources of the glue at once" ON)

# What most files include of the C++ library, read once for many of them: parsing it takes most of a small
# file's time. Files still include what they use; clang-tidy, which does without, sees to it.
set(hob_common_headers <algorithm> <array> <atomic> <bit> <cstddef> <cstdint> <cstdio> <cstdlib> <cstring> <map>
    <memory> <mutex> <numeric> <optional> <random> <span> <string> <string_view> <thread> <unordered_map> <utility>
    <vector>)
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/empty.cpp" CONTENT "")
add_library(hob_pure_headers OBJECT "${PROJECT_BINARY_DIR}/empty.cpp")
target_precompile_headers(hob_pure_headers PRIVATE ${hob_common_headers})

# hob_pure_library(NAME SOURCES... [LIBS...]): a part of Hob that knows no MPI. The directory
# above src/ is the include root, so that headers are named by part: "cache/cache.hpp".
function(hob_pure_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${name} PUBLIC ${arg_LIBS})
  target_precompile_headers(${name} REUSE_FROM hob_pure_headers)
endfunction()

if(HOB_BUILD_TESTS)
  # A program, since its code is compiled for one (-fPIE).
  add_executable(hob_test_headers EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/empty.cpp")
  target_link_libraries(hob_test_headers PRIVATE GTest::gtest_main)
  target_precompile_headers(hob_test_headers PRIVATE ${hob_common_headers} <gtest/gtest.h>)
endif()

# All unit tests and nothing else; those that `make test` runs under the address sanitizer; those of parts that have
# threads: what the sanitizer presets build.
add_custom_target(unit-tests)
add_custom_target(unit-tests-sanitized)
add_custom_target(unit-tests-with-threads)

# hob_unit_test(NAME [THREADS] SOURCES... LIBS... [ARGS...]): a GoogleTest binary, one CTest entry, label "unit".
# THREADS: it has several threads, so that `make test` runs it under the thread sanitizer, not the address one.
function(hob_unit_test name)
  cmake_parse_arguments(arg "THREADS" "TIMEOUT" "SOURCES;LIBS;ARGS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} GTest::gtest_main)
  target_precompile_headers(${name} REUSE_FROM hob_test_headers)
  add_dependencies(unit-tests ${name})
  if(arg_THREADS)
    add_dependencies(unit-tests-with-threads ${name})
    set(labels unit threads)
  else()
    set(labels unit)
  endif()
  add_test(NAME unit.${name} COMMAND ${name} --gtest_brief=1 ${arg_ARGS})
  set_tests_properties(unit.${name} PROPERTIES LABELS "${labels}" TIMEOUT ${arg_TIMEOUT})
  hob_test_needs(unit.${name} ${name})
  hob_add_to_tier(unit.${name})
  hob_tier(unit.${name} tier)
  if(tier STREQUAL "full" AND NOT arg_THREADS)
    add_dependencies(unit-tests-sanitized ${name})
  endif()
endfunction()
