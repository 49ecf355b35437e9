# Performance variables: the library's own as without Hob, and Hob's counters.
hob_mpi_program(pvars SOURCES pvars.c)
foreach(mpi IN LISTS HOB_MPIS)
  hob_compare_test(mpi.${mpi}.pvars ${mpi} LABELS mpi SETTINGS default,auto COMMAND pvars)
endforeach()
