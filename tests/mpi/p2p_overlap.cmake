# Programs with something under way while they compute, on every MPI library: the thread of
# src/mpi/progress/overlap.hpp forced on, and random programs with it.

hob_mpi_program(overlap_computing SOURCES overlap_computing.c)
hob_mpi_program(overlap_peer SOURCES overlap_peer.c)
hob_mpi_program(overlap_threads SOURCES overlap_threads.c FLAGS -pthread)

# hob_overlap_test(suffix program MPI LABEL label [SETTINGS NAME=value...] ARGS...)
function(hob_overlap_test name program mpi)
  cmake_parse_arguments(arg "" "LABEL" "ARGS;SETTINGS" ${ARGN})
  hob_p2p_test(_overlap${name} ${program} ${mpi} RANKS 2 MATCH auto LABEL ${arg_LABEL}
    SETTINGS HOB_OVERLAP=on HOB_PROGRESS_SHARE=1 ${arg_SETTINGS} ARGS ${arg_ARGS})
endfunction()

foreach(mpi IN LISTS HOB_MPIS)
  set(what message allreduce user_op exit)
  if(mpi MATCHES "mpich5|openmpi5")
    list(APPEND what persistent errors attributes types fork)
  endif()
  foreach(each IN LISTS what)
    hob_overlap_test(_${each} overlap_computing ${mpi} LABEL mpi ARGS ${each})
  endforeach()
endforeach()
# Threads of the program's in the library at the same time.
foreach(mpi IN LISTS HOB_MPIS)
  foreach(each IN ITEMS message user_op errors attributes types fork)
    hob_overlap_test(_${each}_multiple overlap_computing ${mpi} LABEL mpi ARGS ${each} multiple)
  endforeach()
  hob_overlap_test("" overlap_threads ${mpi} LABEL mpi)
endforeach()
# A rank whose own waits do not get shorter: its peer's do.
foreach(mpi IN ITEMS mpich5 abi5)
  if(mpi IN_LIST HOB_MPIS)
    hob_overlap_test("" overlap_peer ${mpi} LABEL mpi
      SETTINGS HOB_OVERLAP=auto HOB_PROGRESS_SHARE=0.03
               MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp)
  endif()
endforeach()
# Windows that other nodes reach.
foreach(mpi IN ITEMS mpich5 abi5)
  if(mpi IN_LIST HOB_MPIS)
    hob_overlap_test(_exposed overlap_computing ${mpi} LABEL mpi
      SETTINGS MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp ARGS exposed)
  endif()
endforeach()
foreach(mpi IN ITEMS mpich5 openmpi5)
  if(mpi IN_LIST HOB_MPIS)
    hob_overlap_test("" p2p_fuzz ${mpi} LABEL fuzz ARGS --programs 6 --seed 1300 ${fuzz_${mpi}})
  endif()
endforeach()
