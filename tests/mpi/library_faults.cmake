# Whether the faults that src/mpi/workarounds/ is for are still in these libraries. No line of Hob runs.
hob_mpi_program(library_faults SOURCES library_faults.c)

function(hob_fault_test fault mpi ranks)
  cmake_parse_arguments(arg "" "ENV;RUNS" "" ${ARGN})
  if(NOT mpi IN_LIST HOB_MPIS)
    return()
  endif()
  set(runs 5)
  if(arg_RUNS)
    set(runs ${arg_RUNS})
  endif()
  set(options)
  if(mpi MATCHES "openmpi")
    set(options --option=--oversubscribe)
  endif()
  hob_mpi_test(mpi.${mpi}.fault_${fault}.plain ${mpi} LABELS mpi TIMEOUT 300 RANKS ${ranks}
    COMMAND "${Python3_EXECUTABLE}" -B "${CMAKE_CURRENT_SOURCE_DIR}/library_faults.py" --exec "${HOB_MPI_${mpi}_EXEC}"
            --ranks ${ranks} "--env=${arg_ENV}" --runs ${runs} ${options} "${PROJECT_BINARY_DIR}/bin/${mpi}/library_faults" ${fault})
endfunction()

hob_fault_test(finalize_ucx mpich4 4 ENV "UCX_TLS=tcp,self")
foreach(mpi mpich5 abi5)
  hob_fault_test(long_replies ${mpi} 2
    ENV "MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp MPIR_CVAR_CH4_OFI_ENABLE_RMA=0")
  hob_fault_test(put_flush ${mpi} 3 RUNS 20
    ENV "MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp")
  hob_fault_test(any_source ${mpi} 3 ENV "MPIR_CVAR_NUM_CLIQUES=2 MPIR_CVAR_CH4_NETMOD=ucx UCX_TLS=tcp,self")
  hob_fault_test(post_start ${mpi} 3
    ENV "MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp MPIR_CVAR_CH4_PROGRESS_THROTTLE=1 MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT=1")
  hob_fault_test(sessions ${mpi} 2)
endforeach()
hob_fault_test(partitioned openmpi5 3)
hob_fault_test(announcement openmpi5 2)
