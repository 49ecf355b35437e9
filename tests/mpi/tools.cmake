# Performance variables: the library's own as without Hob, and Hob's counters.
hob_mpi_program(pvars SOURCES pvars.c)
foreach(mpi IN LISTS HOB_MPIS)
  hob_compare_test(mpi.${mpi}.pvars ${mpi} LABELS mpi SETTINGS default,auto COMMAND pvars)
endforeach()

# What a program leaves that does not reach MPI_Finalize.
hob_mpi_program(report_cut_off SOURCES report_cut_off.c)
foreach(mpi IN LISTS HOB_MPIS)
  set(all_calls)
  if(mpi STREQUAL "mpich5")
    set(all_calls --all-calls)  # the wrappers are the same with every library
  endif()
  hob_mpi_test(mpi.${mpi}.report_cut_off ${mpi} LABELS mpi
    COMMAND "${Python3_EXECUTABLE}" -B "${CMAKE_CURRENT_SOURCE_DIR}/report_cut_off.py"
            --lib "${PROJECT_BINARY_DIR}/lib/libhob_${HOB_MPI_${mpi}_FAMILY}.so" "--exec=${HOB_MPI_${mpi}_EXEC}"
            --family ${HOB_MPI_${mpi}_FAMILY} --program "${PROJECT_BINARY_DIR}/bin/${mpi}/report_cut_off"
            ${all_calls})
  if(mpi STREQUAL "mpich5")
    hob_mpi_test(mpi.${mpi}.report_before_the_end_with_ghosts ${mpi} LABELS mpi ghost
      COMMAND "${Python3_EXECUTABLE}" -B "${CMAKE_CURRENT_SOURCE_DIR}/report_cut_off.py" --ghosts
              --lib "${PROJECT_BINARY_DIR}/lib/libhob_${HOB_MPI_${mpi}_FAMILY}.so" "--exec=${HOB_MPI_${mpi}_EXEC}"
              --family ${HOB_MPI_${mpi}_FAMILY} --program "${PROJECT_BINARY_DIR}/bin/${mpi}/report_cut_off")
  endif()
endforeach()
