# How a job starts, what its processes inherit, and who else is in it.
foreach(program connected half handlers inside nested programs snapshot spawned thread variables)
  hob_mpi_program(startup_${program} SOURCES startup/${program}.c)
endforeach()
# More than a minute each: on one library of each kind of launcher. Elsewhere what a library's memory hooks can
# break.
set(launchers mpich5 openmpi5)
foreach(mpi IN LISTS HOB_MPIS)
  set(others "")
  set(only "")
  if(NOT mpi IN_LIST launchers)
    set(only snapshot)
  endif()
  foreach(other IN LISTS HOB_MPIS)
    if(NOT HOB_MPI_${other}_FAMILY STREQUAL HOB_MPI_${mpi}_FAMILY AND NOT other MATCHES "abi")
      set(others "${PROJECT_BINARY_DIR}/bin/${other}/startup_inside")
    endif()
  endforeach()
  hob_test_needs(mpi.${mpi}.startup hob-exec)
  foreach(program connected half handlers inside nested programs snapshot spawned thread variables)
    hob_test_needs(mpi.${mpi}.startup mpi-program-${mpi}-startup_${program})
  endforeach()
  hob_mpi_test(mpi.${mpi}.startup ${mpi} LABELS mpi TIMEOUT 900
    COMMAND "${Python3_EXECUTABLE}" -B "${CMAKE_CURRENT_SOURCE_DIR}/startup_test.py" --mpi ${mpi}
            "--exec=${HOB_MPI_${mpi}_EXEC}" --cc "${HOB_MPI_${mpi}_CC}" --family ${HOB_MPI_${mpi}_FAMILY}
            --build "${PROJECT_BINARY_DIR}" "--other=${others}" ${only})
endforeach()
