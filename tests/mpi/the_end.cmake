# Calls of MPI in destructors and exit handlers, the last of which ends MPI.

hob_mpi_program(late_calls SOURCES late_calls.cpp MPIS mpich5 FLAGS -DMPICH_SKIP_MPICXX -pthread)

if("mpich5" IN_LIST HOB_MPIS)
  hob_compare_test(mpi.mpich5.late_calls mpich5 REMOTE nodes LABELS mpi
    SETTINGS default,overlap,overlap-auto,overlap-watch,batch-16,match-always COMMAND late_calls)
  hob_compare_test(mpi.mpich5.late_calls_threads mpich5 REMOTE nodes LABELS mpi
    SETTINGS default,overlap COMMAND late_calls multiple)
  # What is left to the overlap thread when main returns.
  hob_compare_test(mpi.mpich5.late_calls_unmade mpich5 REMOTE nodes LABELS mpi
    SETTINGS overlap,overlap-starts COMMAND late_calls unmade)
  hob_ghost_test(late_calls late_calls mpich5 RANKS 2 GHOSTS 1 NODES 2 REDIRECTED yes)
  # Where the handler that ends MPI was registered before MPI began, the launcher may end the job at the first
  # rank that has, plainly, too.
  foreach(how early session)
    hob_ghost_test(late_${how} late_calls mpich5 RANKS 2 GHOSTS 1 NODES 1 EXPECT gone SAYS "No Errors"
      NEVER "without MPI_Finalize" ARGS ${how})
  endforeach()
endif()
