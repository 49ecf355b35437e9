# What Hob costs where there is nothing to gain, in instructions (tests/prices/README.md). They depend on how
# it is compiled: only of builds as they are for users.
hob_mpi_program(prices SOURCES prices.c MPIS mpich5 openmpi5)

# hob_prices_test(NAME mpi [arguments of the program...])
function(hob_prices_test name mpi)
  hob_mpi_test(mpi.${mpi}.${name} ${mpi} TIMEOUT 400
    COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tests/prices/prices.py" --mpi ${mpi}
            --exec "${HOB_MPI_${mpi}_EXEC}" --lib "${PROJECT_BINARY_DIR}/lib/libhob_${HOB_MPI_${mpi}_FAMILY}.so"
            --counter $<TARGET_FILE:step_counter> --program "${PROJECT_BINARY_DIR}/bin/${mpi}/prices" ${ARGN})
  hob_test_needs(mpi.${mpi}.${name} step_counter)
endfunction()

if(CMAKE_BUILD_TYPE STREQUAL "RelWithDebInfo" AND NOT HOB_SANITIZE)
  if("mpich5" IN_LIST HOB_MPIS)
    hob_prices_test(prices mpich5)
    hob_prices_test(prices_threads mpich5 threads)
    hob_prices_test(prices_hits mpich5 hits)
    hob_prices_test(prices_threads_cached mpich5 threads cached)
  endif()
  if("openmpi5" IN_LIST HOB_MPIS)
    hob_prices_test(prices openmpi5)
  endif()
endif()
