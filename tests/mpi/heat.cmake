# The heater in programs: what it touches stays right, and the report tells of it.

# MPICH 4 declares arrays in a way that gcc takes MPI_STATUSES_IGNORE for one of no size.
hob_mpi_program(heat SOURCES heat.c FLAGS -I${PROJECT_SOURCE_DIR}/include)
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(mpi IN LISTS HOB_MPIS)
  hob_mpi_test(mpi.${mpi}.heat ${mpi}
    COMMAND "${Python3_EXECUTABLE}" -B "${CMAKE_CURRENT_LIST_DIR}/heat_check.py"
            --lib "${PROJECT_BINARY_DIR}/lib/libhob_${HOB_MPI_${mpi}_FAMILY}.so" "--exec=${HOB_MPI_${mpi}_EXEC}"
            --family ${HOB_MPI_${mpi}_FAMILY} --program "${PROJECT_BINARY_DIR}/bin/${mpi}/heat")
endforeach()
