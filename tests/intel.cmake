# Intel MPI shares MPICH's ABI: programs compiled for MPICH 5 run on it as they are, behind the same build of Hob.
# What Intel MPI by itself gets wrong is left out: messages longer than their receive, and over TCP
# post-start-complete-wait, which hangs now and then (2 plain runs of 7).

set(HOB_MPI_intel_PROGRAMS mpich5)
set(without isendrecv_status,isendrecv_types,partitioned_mixed,truncate,truncate_late,truncate_persistent)

foreach(program rma_acquires rma_requests rma_locks rma_windows rma_types rma_corners rma_ahead rma_near)
  hob_compare_test(mpi.intel.${program} intel LABELS mpi SETTINGS default,tiny COMMAND ${program})
endforeach()
get_filename_component(intel "${HOB_MPI_intel_EXEC}" DIRECTORY)
set(run "${HOB_MPI_intel_EXEC}" -genv LD_LIBRARY_PATH "${intel}/../lib" -genv LD_PRELOAD
        "$<TARGET_FILE:hob_mpich>")
foreach(program p2p_requests p2p_order p2p_probe)
  hob_mpi_test(mpi.intel.${program} intel LABELS mpi
    COMMAND ${run} -genv HOB_MATCH always -n 2 "${PROJECT_BINARY_DIR}/bin/mpich5/${program}")
endforeach()
# The thread of Hob's while the program computes.
foreach(what message allreduce user_op exit)
  hob_mpi_test(mpi.intel.overlap_computing.${what} intel LABELS mpi
    COMMAND ${run} -genv HOB_OVERLAP on -n 2
            "${PROJECT_BINARY_DIR}/bin/mpich5/overlap_computing" ${what})
endforeach()
hob_compare_test(fuzz.intel.rma intel LABELS fuzz SETTINGS default,auto,tiny,strict
  COMMAND rma_fuzz --seed 11 --programs 40 --without nocheck)
hob_compare_test(fuzz.intel.rma_tcp intel REMOTE tcp LABELS fuzz SETTINGS default,auto,tiny,strict
  COMMAND rma_fuzz --seed 12 --programs 40 --without nocheck,pscw)
hob_compare_test(fuzz.intel.rma_ghosts intel RANKS 3 LABELS fuzz SETTINGS ghosts1-rank,ghosts2-segment-cache
  COMMAND rma_fuzz --seed 23 --programs 30 --without nocheck,pscw)
hob_compare_test(fuzz.intel.p2p intel LABELS fuzz SETTINGS default,match
  COMMAND p2p_fuzz --seed 13 --programs 20 --without ${without})
