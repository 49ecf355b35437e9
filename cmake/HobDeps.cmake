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
find_package(Boost REQUIRED)
if(HOB_BUILD_TESTS OR NOT DEFINED HOB_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(HOB_BUILD_BENCH OR NOT DEFINED HOB_BUILD_BENCH)
  find_package(benchmark REQUIRED)
endif()

# HOB_MPIS lists the MPI libraries at hand: mpich4 mpich5 openmpi4 openmpi5 abi5. For each NAME:
#   HOB_MPI_<NAME>_FAMILY   mpich | openmpi | abi: which build of Hob serves it
#   HOB_MPI_<NAME>_CC/_CXX/_FC/_EXEC   compiler wrappers and launcher (FC empty where there is none)
#   HOB_MPI_<NAME>_INCLUDE  directory of mpi.h (mpi_abi.h for abi)
# They come from scripts/setup, or from the wrappers that the user names: -DHOB_MPICC=/path/mpicc.
set(HOB_MPICC "" CACHE STRING "MPI compiler wrappers to build for, instead of what scripts/setup found")
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
