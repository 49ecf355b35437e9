# Programs that use MPI are compiled by each MPI library's own wrapper, as a user would compile them,
# once for every MPI in HOB_MPIS, into bin/<mpi>/<name> of the build directory.

add_custom_target(mpi-programs ALL)

# Those that measure, as a user would optimize them; tests/CMakeLists.txt has less, which compiles faster.
set(HOB_MPI_PROGRAM_OPTIONS -O2 -g1)

# hob_mpi_program(NAME SOURCES... [MPIS...] [FLAGS...]): language by the first source's suffix.
# MPIS defaults to all, and those that are not at hand are left out; so is an MPI without a Fortran
# compiler for Fortran sources.
function(hob_mpi_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;MPIS;FLAGS" ${ARGN})
  set(mpis ${HOB_MPIS})
  if(DEFINED arg_MPIS)
    set(mpis)
    foreach(mpi IN LISTS arg_MPIS)
      if(mpi IN_LIST HOB_MPIS)
        list(APPEND mpis ${mpi})
      endif()
    endforeach()
  endif()
  list(GET arg_SOURCES 0 first)
  list(TRANSFORM arg_SOURCES PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  set(targets)
  foreach(mpi IN LISTS mpis)
    if(first MATCHES "\\.c$")
      set(compile "${HOB_MPI_${mpi}_CC}" -std=c11 -D_GNU_SOURCE -Wall -Wextra)
      if(HOB_MPI_${mpi}_FAMILY STREQUAL "mpich")
        # MPICH 4 declares arrays of statuses in a way that gcc takes MPI_STATUSES_IGNORE, (MPI_Status*)1,
        # for one of no size. These two warnings alone; they stay on with the other libraries.
        list(APPEND compile -Wno-stringop-overflow -Wno-stringop-overread)
      endif()
    elseif(first MATCHES "\\.(f|f90|F90|f08)$")
      set(compile "${HOB_MPI_${mpi}_FC}" -Wall -Wextra -cpp  # or gfortran refuses -MMD
          -Wno-unused-parameter  # the constants of the library's mpif.h
          -J "${PROJECT_BINARY_DIR}/bin/${mpi}")  # where modules go
      if(NOT HOB_MPI_${mpi}_FC)
        continue()
      endif()
    else()
      set(compile "${HOB_MPI_${mpi}_CXX}" -std=c++20 -Wall -Wextra)
    endif()
    set(out "${PROJECT_BINARY_DIR}/bin/${mpi}/${name}")
    add_custom_command(OUTPUT "${out}"
      COMMAND "${CMAKE_COMMAND}" -E make_directory "${PROJECT_BINARY_DIR}/bin/${mpi}"
      COMMAND ${HOB_CCACHE_FOR_MPI} ${compile} ${HOB_MPI_PROGRAM_OPTIONS} -MMD -MF "${out}.d" ${arg_FLAGS}
              "-I${PROJECT_SOURCE_DIR}/include" "-I${PROJECT_SOURCE_DIR}/src" ${arg_SOURCES} -o "${out}" -lm -lpthread
      DEPENDS ${arg_SOURCES} DEPFILE "${out}.d"
      COMMENT "${mpi}: ${name}" VERBATIM)
    add_custom_target(mpi-program-${mpi}-${name} DEPENDS "${out}")
    list(APPEND targets mpi-program-${mpi}-${name})
  endforeach()
  add_custom_target(mpi-program-${name} DEPENDS ${targets})
  add_dependencies(mpi-programs mpi-program-${name})
endfunction()
