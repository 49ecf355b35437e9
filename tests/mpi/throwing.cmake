# Exceptions through Hob's frames. Other libraries than MPICH 5 do not promise to survive them.
hob_mpi_program(throwing_handler SOURCES throwing_handler.cpp MPIS mpich5)
if("mpich5" IN_LIST HOB_MPIS)
  hob_compare_test(mpi.mpich5.throwing_handler mpich5 LABELS mpi SETTINGS default,auto,match COMMAND throwing_handler)
endif()
