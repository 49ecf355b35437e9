# MPI_Init in one thread while another one asks MPI_Initialized; with ghosts, in those, too.
hob_mpi_program(startup_thread SOURCES startup/thread.c MPIS mpich5)
if("mpich5" IN_LIST HOB_MPIS)
  hob_mpi_test(mpi.mpich5.startup_thread mpich5 LABELS mpi TIMEOUT 200
    COMMAND "${Python3_EXECUTABLE}" -B "${CMAKE_CURRENT_SOURCE_DIR}/startup_test.py" "--exec=${HOB_MPI_mpich5_EXEC}"
            --family ${HOB_MPI_mpich5_FAMILY} --build "${PROJECT_BINARY_DIR}" --program "${PROJECT_BINARY_DIR}/bin/mpich5/startup_thread")
endif()
