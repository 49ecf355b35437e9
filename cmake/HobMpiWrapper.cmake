# What an MPI compiler wrapper says of its MPI library, for -DHOB_MPICC=/path/mpicc (clusters, Spack).

# hob_describe_mpi(MPICC): sets HOB_MPI_<FAMILY>_* and adds <FAMILY> to HOB_MPIS, in the caller.
macro(hob_describe_mpi mpicc)
  find_program(hob_mpicc NAMES "${mpicc}" NO_CACHE REQUIRED)
  set(hob_probe "${PROJECT_BINARY_DIR}/hob-mpi-probe.c")
  file(WRITE "${hob_probe}" "#include <mpi.h>
#if defined(MPI_ABI)
hob_family abi
#elif defined(OMPI_MAJOR_VERSION)
hob_family openmpi
hob_openmpi OMPI_MAJOR_VERSION
#elif defined(MPICH_VERSION) || defined(MPICH_NAME) || defined(I_MPI_VERSION)
hob_family mpich
#endif
")
  execute_process(COMMAND "${hob_mpicc}" -E "${hob_probe}" OUTPUT_VARIABLE hob_text RESULT_VARIABLE hob_status)
  if(NOT hob_status EQUAL 0 OR NOT hob_text MATCHES "hob_family ([a-z]+)")
    message(FATAL_ERROR "${hob_mpicc}: not an MPICH, Open MPI or MPI-5 standard ABI compiler wrapper")
  endif()
  set(hob_family "${CMAKE_MATCH_1}")
  # Hob serves these programs, but builds on calls of MPI 4 (sessions, MPI_Isendrecv) that their header lacks.
  if(hob_text MATCHES "hob_openmpi ([0-9]+)" AND CMAKE_MATCH_1 LESS 5)
    message(FATAL_ERROR "${hob_mpicc} belongs to Open MPI ${CMAKE_MATCH_1}: name the mpicc of Open MPI 5, or carry a wheel "
                        "(docs/cluster.md). Both serve programs of Open MPI ${CMAKE_MATCH_1}, too.")
  endif()
  if(NOT hob_text MATCHES "# [0-9]+ \"([^\"]*)/(mpi|mpi_abi)\\.h\"")
    message(FATAL_ERROR "${hob_mpicc}: cannot tell where its mpi.h is")
  endif()
  list(APPEND HOB_MPIS "${hob_family}")
  set(HOB_MPI_${hob_family}_FAMILY "${hob_family}")
  set(HOB_MPI_${hob_family}_INCLUDE "${CMAKE_MATCH_1}")
  set(HOB_MPI_${hob_family}_CC "${hob_mpicc}")
  get_filename_component(hob_directory "${hob_mpicc}" DIRECTORY)
  foreach(hob_what CXX:mpicxx FC:mpifort EXEC:mpiexec)
    string(REPLACE ":" ";" hob_what "${hob_what}")
    list(GET hob_what 0 hob_key)
    list(GET hob_what 1 hob_name)
    unset(hob_found)
    find_program(hob_found NAMES "${hob_name}" HINTS "${hob_directory}" NO_CACHE)
    if(NOT hob_found)
      set(hob_found "")
    endif()
    set(HOB_MPI_${hob_family}_${hob_key} "${hob_found}")
  endforeach()
  unset(hob_mpicc)
endmacro()
