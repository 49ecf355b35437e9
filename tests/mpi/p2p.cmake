# Point-to-point programs on every MPI library: plainly, with Hob as it is by default, and with every
# receive taken over.

foreach(program order probe modes requests comms deadline)
  hob_mpi_program(p2p_${program} SOURCES p2p_${program}.c FLAGS -Wno-stringop-overflow -Wno-stringop-overread)
endforeach()
hob_mpi_program(p2p_fuzz SOURCES ../fuzz/p2p_fuzz.cpp FLAGS -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)

# hob_p2p_test(program MPI RANKS n MATCH plain|auto|always [LABEL label] ARGS...)
function(hob_p2p_test name program mpi)
  cmake_parse_arguments(arg "" "RANKS;MATCH;LABEL" "ARGS" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL mpi)
  endif()
  set(launch "${HOB_MPI_${mpi}_EXEC}" -n ${arg_RANKS})
  if(HOB_MPI_${mpi}_FAMILY STREQUAL "openmpi")
    list(APPEND launch --oversubscribe)
  endif()
  if(NOT arg_MATCH STREQUAL "plain")
    list(APPEND launch env "LD_PRELOAD=${PROJECT_BINARY_DIR}/lib/libhob_${HOB_MPI_${mpi}_FAMILY}.so"
         HOB_MATCH=${arg_MATCH} HOB_REPORT=silent)
  endif()
  add_test(NAME ${arg_LABEL}.${mpi}.${program}.${arg_MATCH}${name}
    COMMAND "${CMAKE_COMMAND}" -E env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ${launch}
            "${PROJECT_BINARY_DIR}/bin/${mpi}/${program}" ${arg_ARGS})
  set_tests_properties(${arg_LABEL}.${mpi}.${program}.${arg_MATCH}${name} PROPERTIES
    LABELS ${arg_LABEL} TIMEOUT 240 PROCESSORS 2)
endfunction()

foreach(mpi IN LISTS HOB_MPIS)
  foreach(match plain auto always)
    foreach(program order probe modes requests comms)
      hob_p2p_test("" p2p_${program} ${mpi} RANKS 2 MATCH ${match})
    endforeach()
    # MPICH 5 does not advance shared memory in MPI_Intercomm_create. With every receive taken over,
    # win_start_complete and win_test_loop miss their deadline: known, docs/takeover.md.
    if(NOT match STREQUAL "always")
      hob_p2p_test("" p2p_deadline ${mpi} RANKS 2 MATCH ${match} ARGS -intercomm_create)
    endif()
    hob_p2p_test("" p2p_fuzz ${mpi} RANKS 2 MATCH ${match} LABEL fuzz ARGS --programs 10)
    hob_p2p_test("_three" p2p_fuzz ${mpi} RANKS 3 MATCH ${match} LABEL fuzz ARGS --programs 3 --seed 500)
    hob_p2p_test("_threads" p2p_fuzz ${mpi} RANKS 2 MATCH ${match} LABEL fuzz ARGS --programs 3 --seed 900 --threads 3)
  endforeach()
endforeach()
