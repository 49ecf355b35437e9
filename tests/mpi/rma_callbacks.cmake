# The program's own functions that the MPI library calls: attribute callbacks, error handlers,
# generalized requests; what they do there, and exceptions that they throw.

hob_mpi_program(callbacks SOURCES callbacks.c)
# As throwing.cmake: other libraries do not promise to survive an exception.
hob_mpi_program(callbacks_throw SOURCES callbacks_throw.cpp MPIS mpich5)
hob_mpi_program(callbacks_leave SOURCES callbacks_leave.c MPIS mpich5)
hob_mpi_program(callbacks_finalize SOURCES callbacks_finalize.c)

foreach(mpi IN LISTS HOB_MPIS)
  hob_compare_test(mpi.${mpi}.callbacks ${mpi} LABELS mpi SETTINGS default,auto,strict COMMAND callbacks)
  hob_compare_test(mpi.${mpi}.callbacks_finalize ${mpi} LABELS mpi SETTINGS default,auto,match COMMAND callbacks_finalize)
endforeach()
if("mpich5" IN_LIST HOB_MPIS)
  hob_compare_test(mpi.mpich5.callbacks_throw mpich5 LABELS mpi SETTINGS default,auto,match COMMAND callbacks_throw)
  hob_compare_test(mpi.mpich5.callbacks_leave mpich5 LABELS mpi REMOTE nodes SETTINGS default,match COMMAND callbacks_leave)
endif()
