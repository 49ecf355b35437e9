# Third-party libraries and the MPI libraries to build for. `scripts/setup` puts what the system
# lacks under HOB_DEPS and writes HOB_DEPS/mpis.cmake; docs/developers/dependencies.md gives the reasons.

set(HOB_DEPS "$ENV{HOB_DEPS}" CACHE PATH "Where scripts/setup put what the system lacks")
if(NOT HOB_DEPS)
  set(HOB_DEPS "${PROJECT_SOURCE_DIR}/.deps" CACHE PATH "" FORCE)
endif()
list(PREPEND CMAKE_PREFIX_PATH "${HOB_DEPS}/usr")

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 OLD)  # CMake's own way to find Boost also finds headers without a BoostConfig.cmake
endif()
find_package(Boost REQUIRED)
if(HOB_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()

# hwloc is opened while Hob runs, where it is there: the build needs its header alone.
# Debian has the part of it that depends on the machine in a directory of its own.
find_path(HOB_HWLOC_INCLUDE hwloc.h REQUIRED DOC "Directory of hwloc.h")
find_path(HOB_HWLOC_MACHINE_INCLUDE hwloc/autogen/config.h REQUIRED DOC "Directory of hwloc/autogen/config.h")
add_library(hob_hwloc INTERFACE IMPORTED)
target_include_directories(hob_hwloc INTERFACE "${HOB_HWLOC_INCLUDE}" "${HOB_HWLOC_MACHINE_INCLUDE}")
# What was unpacked below HOB_DEPS is on nobody's search path: programs in the build directory find it there.
file(GLOB hob_unpacked LIST_DIRECTORIES false
     "${HOB_DEPS}/usr/lib/*/libhwloc.so.15" "${HOB_DEPS}/usr/lib/libhwloc.so.15")
foreach(library IN LISTS hob_unpacked)
  get_filename_component(directory "${library}" DIRECTORY)
  list(APPEND CMAKE_BUILD_RPATH "${directory}")
endforeach()

# HOB_MPIS lists the MPI libraries at hand: mpich4 mpich5 openmpi4 openmpi5 abi5. For each NAME:
#   HOB_MPI_<NAME>_FAMILY   mpich | openmpi | abi: which build of Hob serves it
#   HOB_MPI_<NAME>_CC/_CXX/_FC/_EXEC   compiler wrappers and launcher (FC empty where there is none)
#   HOB_MPI_<NAME>_INCLUDE  directory of mpi.h (mpi_abi.h for abi)
# They come from scripts/setup, or from the wrappers that the user names: -DHOB_MPICC=/path/mpicc.
if(HOB_MPICC)
  include(HobMpiWrapper)
  set(HOB_MPIS)
  foreach(wrapper IN LISTS HOB_MPICC)
    hob_describe_mpi("${wrapper}")
  endforeach()
else()
  include("${HOB_DEPS}/mpis.cmake" OPTIONAL RESULT_VARIABLE hob_mpis)
  if(NOT hob_mpis)
    message(FATAL_ERROR "${HOB_DEPS}/mpis.cmake is missing: run scripts/setup first (or `make`), "
                        "or name the MPI to build for: -DHOB_MPICC=/path/to/mpicc")
  endif()
endif()
