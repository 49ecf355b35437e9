# Programs with several threads on the library itself, built with the thread sanitizer: preset tsan. The MPI
# library is not instrumented, what it reads and writes is not looked at. The sanitizer knows no fences:
# src/mpi/core/memory_fence.hpp.

execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libtsan.so
                OUTPUT_VARIABLE tsan OUTPUT_STRIP_TRAILING_WHITESPACE)
get_filename_component(tsan "${tsan}" REALPATH)

add_custom_target(sanitized-programs DEPENDS hob_mpich mpi-program-mpich5-rma_fuzz mpi-program-mpich5-p2p_fuzz
                  mpi-program-mpich5-ghost_threads mpi-program-mpich5-rma_mixed_threads mpi-program-mpich5-overlap_threads mpi-program-mpich5-overlap_computing mpi-program-mpich5-overlap_start)

# hob_sanitized_test(NAME [GHOSTS] ENVIRONMENT... COMMAND program words...): two ranks; GHOSTS: on two nodes, as the
# library pretends them, with a ghost each.
function(hob_sanitized_test name)
  cmake_parse_arguments(arg "GHOSTS" "" "ENVIRONMENT;COMMAND" ${ARGN})
  set(processes 2)
  if(arg_GHOSTS)
    set(processes 4)
    list(APPEND arg_ENVIRONMENT HOB_GHOSTS=1 MPIR_CVAR_NUM_CLIQUES=2 MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp
         FI_TCP_MAX_SAVED=1000000 MPIR_CVAR_CH4_PROGRESS_THROTTLE=1
         MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT=1)
  endif()
  list(POP_FRONT arg_COMMAND program)
  # UCX's memory hooks take locks when a thread has already left the sanitizer.
  add_test(NAME sanitized.mpich5.${name}
    COMMAND "${HOB_MPI_mpich5_EXEC}" -n ${processes} env "LD_PRELOAD=${tsan} $<TARGET_FILE:hob_mpich>"
            "TSAN_OPTIONS=ignore_noninstrumented_modules=1 history_size=5 suppressions=${CMAKE_CURRENT_SOURCE_DIR}/tsan.supp"
            UCX_MEM_EVENTS=n HOB_REPORT=silent ${arg_ENVIRONMENT}
            "${PROJECT_BINARY_DIR}/bin/mpich5/${program}" ${arg_COMMAND})
  set_tests_properties(sanitized.mpich5.${name} PROPERTIES LABELS sanitized TIMEOUT 120 PROCESSORS 2)
endfunction()

hob_sanitized_test(rma ENVIRONMENT HOB_CACHE_BYPASS=off
  COMMAND rma_fuzz --seed 14 --programs 40 --threads 4 --without nocheck)
hob_sanitized_test(rma_tiny ENVIRONMENT HOB_CACHE_BYPASS=off HOB_CACHE_SIZE=2K HOB_CACHE_INDEX=16
  COMMAND rma_fuzz --seed 15 --programs 40 --threads 4 --without nocheck)
hob_sanitized_test(rma_strict ENVIRONMENT HOB_CACHE_BYPASS=off HOB_CACHE=strict
  COMMAND rma_fuzz --seed 16 --programs 40 --threads 4 --without nocheck)
hob_sanitized_test(rma_mixed ENVIRONMENT HOB_CACHE_BYPASS=off COMMAND rma_mixed_threads 10)
hob_sanitized_test(rma_mixed_always ENVIRONMENT HOB_CACHE_BYPASS=off HOB_CACHE=always COMMAND rma_mixed_threads 10)
hob_sanitized_test(match_always ENVIRONMENT HOB_MATCH=always
  COMMAND p2p_fuzz --seed 5 --programs 10 --threads 3
          --without isendrecv_status,isendrecv_types,partitioned_mixed,truncate_late,truncate_persistent)
hob_sanitized_test(match_auto ENVIRONMENT HOB_MATCH=auto
  COMMAND p2p_fuzz --seed 6 --programs 10 --threads 3
          --without isendrecv_status,isendrecv_types,partitioned_mixed,truncate_late,truncate_persistent)
hob_sanitized_test(overlap ENVIRONMENT HOB_OVERLAP=on COMMAND overlap_computing message)
hob_sanitized_test(overlap_types ENVIRONMENT HOB_OVERLAP=on COMMAND overlap_computing types)
hob_sanitized_test(overlap_start ENVIRONMENT HOB_OVERLAP=on HOB_OVERLAP_STARTS=always COMMAND overlap_start order)
hob_sanitized_test(overlap_threads ENVIRONMENT HOB_OVERLAP=on COMMAND overlap_threads 3 10)
hob_sanitized_test(overlap_fuzz ENVIRONMENT HOB_OVERLAP=on
  COMMAND p2p_fuzz --seed 7 --programs 3 --threads 3 --with computing
          --without isendrecv_status,isendrecv_types,partitioned_mixed,truncate_late,truncate_persistent)
hob_sanitized_test(ghosts GHOSTS COMMAND ghost_threads 10)
hob_sanitized_test(ghosts_rma GHOSTS ENVIRONMENT HOB_CACHE=off
  COMMAND rma_fuzz --seed 18 --programs 10 --threads 4 --without nocheck,create,dynamic,shared)
