# Programs with ghosts, on every MPI library: one node, and two (for MPICH 5 as the library itself
# pretends them, with TCP between; elsewhere as Hob does).

foreach(program world rma windows crash)
  hob_mpi_program(ghost_${program} SOURCES ghost_${program}.c)
endforeach()

find_package(Python3 REQUIRED COMPONENTS Interpreter)

# hob_ghost_test(NAME program MPI RANKS n GHOSTS n NODES n [BINDING b] [EXPECT pass|end|refuse] [LONG]
# [ARGS...]): RANKS users in all, GHOSTS per node.
function(hob_ghost_test name program mpi)
  cmake_parse_arguments(arg "LONG" "RANKS;GHOSTS;NODES;BINDING;EXPECT" "ARGS" ${ARGN})
  if(NOT arg_BINDING)
    set(arg_BINDING rank)
  endif()
  if(NOT arg_EXPECT)
    set(arg_EXPECT pass)
  endif()
  add_test(NAME mpi.${mpi}.ghost_${name}
    COMMAND "${Python3_EXECUTABLE}" -B "${CMAKE_CURRENT_SOURCE_DIR}/ghost_run.py" --mpi ${mpi}
            --exec "${HOB_MPI_${mpi}_EXEC}" --family ${HOB_MPI_${mpi}_FAMILY} --library "${PROJECT_BINARY_DIR}/lib"
            --ranks ${arg_RANKS} --ghosts ${arg_GHOSTS} --nodes ${arg_NODES} --binding ${arg_BINDING}
            --expect ${arg_EXPECT} -- "${PROJECT_BINARY_DIR}/bin/${mpi}/ghost_${program}" ${arg_ARGS})
  set_tests_properties(mpi.${mpi}.ghost_${name} PROPERTIES LABELS mpi TIMEOUT 180 PROCESSORS 2)
  if(arg_LONG)
    set_tests_properties(mpi.${mpi}.ghost_${name} PROPERTIES LABELS "mpi;long" TIMEOUT 600)
  endif()
endfunction()

foreach(mpi IN LISTS HOB_MPIS)
  hob_ghost_test(world_1 world ${mpi} RANKS 3 GHOSTS 1 NODES 1 ARGS 3)
  hob_ghost_test(world_2 world ${mpi} RANKS 2 GHOSTS 1 NODES 2 ARGS 2)
  hob_ghost_test(rma_1 rma ${mpi} RANKS 3 GHOSTS 1 NODES 1)
  # Few: libraries that spin without yielding take scheduler ticks where cores are short.
  hob_ghost_test(rma_2 rma ${mpi} RANKS 2 GHOSTS 1 NODES 2)
  hob_ghost_test(windows windows ${mpi} RANKS 2 GHOSTS 1 NODES 2 ARGS 100)
  foreach(how abort exit segv ghost)
    hob_ghost_test(${how} crash ${mpi} RANKS 2 GHOSTS 1 NODES 1 EXPECT end ARGS ${how})
  endforeach()
  hob_ghost_test(too_few world ${mpi} RANKS 0 GHOSTS 2 NODES 1 EXPECT refuse ARGS 0)
endforeach()
foreach(binding segment random operations bytes)
  hob_ghost_test(rma_${binding} rma mpich5 RANKS 2 GHOSTS 2 NODES 2 BINDING ${binding})
endforeach()
hob_ghost_test(rma_four_ranks rma mpich5 RANKS 4 GHOSTS 1 NODES 2)
hob_ghost_test(rma_three rma mpich5 RANKS 2 GHOSTS 3 NODES 2 BINDING segment)
hob_ghost_test(many_windows windows mpich5 RANKS 2 GHOSTS 1 NODES 2 ARGS 1500 LONG)
