# Programs with ghosts, on every MPI library: one node, and two (for MPICH 5 as the library itself
# pretends them, with TCP between; elsewhere as Hob does).

foreach(program failures memory network world rma windows crash threads sums fence asserts recall spawn attributes)
  hob_mpi_program(ghost_${program} SOURCES ghost_${program}.c)
endforeach()
# MPI 4: large counts, sessions.
set(mpi4 mpich4 mpich5 abi5)
foreach(mpi mpich4 mpich5 abi5)
  if(NOT mpi IN_LIST HOB_MPIS)
    list(REMOVE_ITEM mpi4 ${mpi})
  endif()
endforeach()
if(mpi4)
  hob_mpi_program(ghost_large SOURCES ghost_large.c MPIS ${mpi4})
  hob_mpi_program(ghost_sessions SOURCES ghost_sessions.c MPIS ${mpi4})
endif()

find_package(Python3 REQUIRED COMPONENTS Interpreter)

# hob_ghost_test(NAME program MPI RANKS n GHOSTS n NODES n [BINDING b] [EXPECT pass|end|gone|refuse] [STATUS 3,4] [SAYS text] [NOTED text] [NEVER text]
# [REDIRECTED yes|no] [COUNTS name=number,name>number,name<number,...] [ENV "name=value name=value"] [RUNS n] [FILE_LIMIT bytes] [INSIDE words] [LONG] [ARGS...]): RANKS users in all, GHOSTS per node. A program whose name has no
# prefix here is ghost_*.
function(hob_ghost_test name program mpi)
  cmake_parse_arguments(arg "LONG" "RANKS;GHOSTS;NODES;BINDING;EXPECT;STATUS;SAYS;NOTED;NEVER;REDIRECTED;COUNTS;LAUNCHER;INSIDE;ENV;RUNS;FILE_LIMIT" "ARGS" ${ARGN})
  if(NOT arg_BINDING)
    set(arg_BINDING rank)
  endif()
  if(NOT arg_EXPECT)
    set(arg_EXPECT pass)
  endif()
  if(NOT arg_SAYS)
    set(arg_SAYS "No Errors")
  endif()
  if(NOT arg_REDIRECTED)
    set(arg_REDIRECTED any)
  endif()
  if(NOT arg_RUNS)
    set(arg_RUNS 1)
  endif()
  if(NOT arg_FILE_LIMIT)
    set(arg_FILE_LIMIT 0)
  endif()
  if(NOT program MATCHES "_")
    set(program ghost_${program})
  endif()
  set(limit LABELS mpi TIMEOUT 180)
  if(arg_LONG)
    set(limit LABELS mpi long TIMEOUT 600)
  endif()
  math(EXPR processes "${arg_RANKS} + ${arg_GHOSTS} * ${arg_NODES}")
  hob_mpi_test(mpi.${mpi}.ghost_${name} ${mpi} ${limit} RANKS ${processes}
    COMMAND "${Python3_EXECUTABLE}" -B "${CMAKE_CURRENT_SOURCE_DIR}/ghost_run.py" --mpi ${mpi}
            --exec "${HOB_MPI_${mpi}_EXEC}" --family ${HOB_MPI_${mpi}_FAMILY} --library "${PROJECT_BINARY_DIR}/lib"
            --ranks ${arg_RANKS} --ghosts ${arg_GHOSTS} --nodes ${arg_NODES} --binding ${arg_BINDING}
            --expect ${arg_EXPECT} --says "${arg_SAYS}" --redirected ${arg_REDIRECTED}
            "--status=${arg_STATUS}" "--never=${arg_NEVER}" "--noted=${arg_NOTED}" "--counts=${arg_COUNTS}" "--launcher=${arg_LAUNCHER}"
            "--inside=${arg_INSIDE}"
            "--env=${arg_ENV}" --runs ${arg_RUNS} --file-limit ${arg_FILE_LIMIT}
            -- "${PROJECT_BINARY_DIR}/bin/${mpi}/${program}" ${arg_ARGS})
  if(arg_INSIDE)
    set_tests_properties(mpi.${mpi}.ghost_${name} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endfunction()

cmake_host_system_information(RESULT HOB_CORES QUERY NUMBER_OF_LOGICAL_CORES)
foreach(mpi IN LISTS HOB_MPIS)
  hob_ghost_test(world_1 world ${mpi} RANKS 3 GHOSTS 1 NODES 1 ARGS 3)
  hob_ghost_test(world_2 world ${mpi} RANKS 2 GHOSTS 1 NODES 2 ARGS 2)
  hob_ghost_test(rma_1 rma ${mpi} RANKS 3 GHOSTS 1 NODES 1)
  # Two nodes that are one machine, each with hardware threads enough, and too few for both.
  if(HOB_CORES GREATER_EQUAL 2 AND HOB_CORES LESS_EQUAL 8)
    math(EXPR crowd "${HOB_CORES} / 2 * 2")
    hob_ghost_test(one_machine world ${mpi} RANKS ${crowd} GHOSTS 1 NODES 2 ARGS ${crowd}
      NOTED "processes of a machine have")
  endif()
  # Few: libraries that spin without yielding take scheduler ticks where cores are short.
  hob_ghost_test(rma_2 rma ${mpi} RANKS 2 GHOSTS 1 NODES 2 REDIRECTED yes)
  hob_ghost_test(memory_1 memory ${mpi} RANKS 3 GHOSTS 1 NODES 1 REDIRECTED no)
  # Nobody asks the kernel for memory that the node has mapped.
  hob_ghost_test(memory_mapped memory ${mpi} RANKS 3 GHOSTS 1 NODES 1 COUNTS through_kernel=0,redirected=0 ARGS alloc)
  hob_ghost_test(memory_2 memory ${mpi} RANKS 2 GHOSTS 1 NODES 2 REDIRECTED yes)
  hob_ghost_test(sums_1 sums ${mpi} RANKS 3 GHOSTS 1 NODES 1 REDIRECTED no)
  hob_ghost_test(sums_2 sums ${mpi} RANKS 2 GHOSTS 1 NODES 2 REDIRECTED yes)
  hob_ghost_test(fence_1 fence ${mpi} RANKS 3 GHOSTS 1 NODES 1)
  hob_ghost_test(fence_2 fence ${mpi} RANKS 2 GHOSTS 1 NODES 2 REDIRECTED yes)
  # What 20 rounds with one accumulate each take of both ranks: requests to ghosts (one more settles the last
  # unlock), fences that complete operations, fences that wait for the others, post and complete messages.
  foreach(row IN ITEMS
      "fence messages=20,fences=80,fence_completions=80,fence_synchronisations=80"
      "noprecede messages=20,fences=80,fence_completions=40,fence_synchronisations=40"
      "nostore messages=20,fences=80,fence_completions=40,fence_synchronisations=40"
      "late redirected=40,fences=80,fence_completions=40,fence_synchronisations=40"
      "idle messages=0,fences=40,fence_completions=0,fence_synchronisations=0"
      "pscw messages=20,tokens=40"
      "pscw_nocheck messages=20,tokens=20"
      "lock messages=41"
      "lock_nocheck messages=20")
    string(REPLACE " " ";" row "${row}")
    list(POP_FRONT row what)
    hob_ghost_test(asserts_${what} asserts ${mpi} RANKS 2 GHOSTS 1 NODES 2 COUNTS ${row} ARGS ${what})
  endforeach()
  hob_ghost_test(asserts_one_node asserts ${mpi} RANKS 3 GHOSTS 1 NODES 1 COUNTS redirected=0,fence_synchronisations=60
    ARGS late)
  # Open MPI 5 does not delete them in MPI_Finalize by itself.
  if(mpi STREQUAL "openmpi5")
    hob_ghost_test(attributes attributes ${mpi} RANKS 2 GHOSTS 1 NODES 2 ARGS 1)
  else()
    hob_ghost_test(attributes attributes ${mpi} RANKS 2 GHOSTS 1 NODES 2 ARGS 2)
  endif()
  hob_ghost_test(threads threads ${mpi} RANKS 2 GHOSTS 1 NODES 2 REDIRECTED yes)
  if(HOB_MPI_${mpi}_FC)
    foreach(language f77 use_mpi f08)
      hob_ghost_test(${language} rma_${language} ${mpi} RANKS 2 GHOSTS 1 NODES 2 REDIRECTED yes SAYS "wrong values: 0")
    endforeach()
  endif()
  if(mpi IN_LIST mpi4)
    hob_ghost_test(large large ${mpi} RANKS 2 GHOSTS 1 NODES 2 REDIRECTED yes)
    hob_ghost_test(sessions sessions ${mpi} RANKS 2 GHOSTS 1 NODES 2 REDIRECTED yes ARGS 2 2)
    hob_ghost_test(session_beside sessions ${mpi} RANKS 2 GHOSTS 1 NODES 2 REDIRECTED yes ARGS 2 both)
    if(mpi MATCHES "mpich5|abi5")  # the others crash there by themselves
      # Two processes in all: without Hob, three of MPICH 5 never meet in one of 15 to 50 runs.
      hob_ghost_test(session_after_finalize sessions ${mpi} RANKS 1 GHOSTS 1 NODES 1 ARGS 1 after)
    endif()
  endif()
  hob_ghost_test(windows windows ${mpi} RANKS 2 GHOSTS 1 NODES 2 ARGS 100)
  # With what ghost_crash.c says, or by a signal, of which MPICH's launcher gives the number. It also gives that of
  # the signal with which it ended the other processes, if it comes to that first.
  set(ends abort:3 exit:4,9 segv:11 ghost:9)
  set(fatal 2,9)
  if(mpi MATCHES "openmpi")
    set(ends abort:3 exit:4 segv:139 ghost:137)
    set(fatal 2)
  endif()
  foreach(end IN LISTS ends)
    string(REPLACE ":" ";" end ${end})
    list(GET end 0 how)
    list(GET end 1 status)
    hob_ghost_test(${how} crash ${mpi} RANKS 2 GHOSTS 1 NODES 1 EXPECT end STATUS ${status} ARGS ${how})
  endforeach()
  # The MPI library has said what is wrong.
  hob_ghost_test(fatal crash ${mpi} RANKS 2 GHOSTS 1 NODES 1 EXPECT end STATUS ${fatal} NEVER "without MPI_Finalize" ARGS fatal)
  # A launcher may have nothing against it: Hob says what happened.
  foreach(how leave away)
    hob_ghost_test(${how} crash ${mpi} RANKS 2 GHOSTS 1 NODES 1 EXPECT gone SAYS "left without MPI_Finalize" ARGS ${how})
  endforeach()
  hob_ghost_test(vanish crash ${mpi} RANKS 2 GHOSTS 1 NODES 1 EXPECT gone SAYS witness:hob,launcher ARGS vanish)
  if(mpi MATCHES "mpich")
    # A launcher that does not care.
    hob_ghost_test(vanish_unseen crash ${mpi} RANKS 2 GHOSTS 1 NODES 1 EXPECT gone
      SAYS "ended without MPI_Finalize" LAUNCHER "-disable-auto-cleanup" ARGS vanish)
    # Who sees it first, Hob, the launcher (which ends the job although told not to) or the library's
    # network, is a race.
    hob_ghost_test(killed_unseen crash ${mpi} RANKS 2 GHOSTS 1 NODES 2 EXPECT gone
      SAYS witness:hob,launcher,library LAUNCHER "-disable-auto-cleanup" ARGS ghost)
  endif()
  # ulimit -f: the shared memory is no file then. (Files of Open MPI 5 itself take 16 MiB.)
  hob_ghost_test(file_limit rma ${mpi} RANKS 3 GHOSTS 1 NODES 1 FILE_LIMIT 20971520)
  hob_ghost_test(too_few world ${mpi} RANKS 0 GHOSTS 2 NODES 1 EXPECT refuse ARGS 0)
endforeach()
if("mpich4" IN_LIST HOB_MPIS)
  # Over TCP its MPI_Finalize ends in less than half of the runs by itself, where four ranks used one-sided
  # operations, and as seldom with ghosts.
  hob_ghost_test(finalize_tcp sums mpich4 RANKS 4 GHOSTS 0 NODES 1 RUNS 3 ENV "UCX_TLS=tcp,self")
  hob_ghost_test(finalize_tcp_2 rma mpich4 RANKS 2 GHOSTS 1 NODES 2 RUNS 3 ENV "UCX_TLS=tcp,self")
endif()
# Of six processes some close connections that others have closed already.
if("mpich5" IN_LIST HOB_MPIS)
  hob_ghost_test(finalize_ucx sums mpich5 RANKS 6 GHOSTS 0 NODES 1 RUNS 3
    ENV "MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ucx UCX_TLS=tcp,self")
  # Requests come before the ghost has posted its receives.
  hob_ghost_test(start_ucx sums mpich5 RANKS 2 GHOSTS 1 NODES 2 RUNS 10 REDIRECTED yes ENV "MPIR_CVAR_CH4_NETMOD=ucx")
endif()
# The library duplicates the launch's world for them, ghosts included.
if("openmpi5" IN_LIST HOB_MPIS)
  hob_ghost_test(partitioned p2p_extensions openmpi5 RANKS 2 GHOSTS 1 NODES 1 SAYS "checks, 0 failures"
    ARGS partitioned_late messages_before_partitioned)
endif()
foreach(binding segment random operations bytes)
  hob_ghost_test(rma_${binding} rma mpich5 RANKS 2 GHOSTS 2 NODES 2 BINDING ${binding})
endforeach()
set(direct_network "MPIR_CVAR_CH4_NETMOD=ucx UCX_TLS=cma,sysv,self")
# To a target that stays outside MPI: natively over a network that moves data without it (here: UCX by the kernel's
# process_vm_readv), by ghosts over one that does not, nor over one that does but for its flushes.
foreach(mpi mpich5 abi5)
  if(mpi IN_LIST HOB_MPIS)
    hob_ghost_test(network_moves network ${mpi} RANKS 2 GHOSTS 1 NODES 2 COUNTS network_moves=2,native>0,redirected>0
      ENV "${direct_network}")
    foreach(transports tcp,self tcp,cma,self)
      string(REPLACE "," "_" word ${transports})
      hob_ghost_test(network_${word} network ${mpi} RANKS 2 GHOSTS 1 NODES 2 COUNTS network_moves=0,native=0
        ENV "MPIR_CVAR_CH4_NETMOD=ucx UCX_TLS=${transports}")
    endforeach()
  endif()
endforeach()
hob_ghost_test(recall recall mpich5 RANKS 2 GHOSTS 1 NODES 2 COUNTS redirected>10,redirected<2000
  ENV "HOB_READAHEAD=off")
hob_ghost_test(network_libfabric network mpich5 RANKS 2 GHOSTS 1 NODES 2 COUNTS network_moves=0,native=0)
hob_ghost_test(network_off network mpich5 RANKS 2 GHOSTS 1 NODES 2 COUNTS network_moves=0,native=0
  ENV "${direct_network} HOB_GHOST_NATIVE=off")
if("openmpi5" IN_LIST HOB_MPIS)
  hob_ghost_test(network_unasked network openmpi5 RANKS 2 GHOSTS 1 NODES 2 COUNTS network_moves=0,native=0)
endif()
# With everything else that a program does.
foreach(program rma fence sums memory asserts failures)
  hob_ghost_test(network_${program} ${program} mpich5 RANKS 4 GHOSTS 1 NODES 2 COUNTS network_moves=4
    ENV "${direct_network}")
endforeach()
hob_ghost_test(failures failures mpich5 RANKS 2 GHOSTS 1 NODES 2 REDIRECTED yes)
hob_ghost_test(failures_cached failures mpich5 RANKS 2 GHOSTS 1 NODES 2 REDIRECTED yes ENV "HOB_CACHE_BYPASS=off")
hob_ghost_test(spawn spawn mpich5 RANKS 2 GHOSTS 1 NODES 1 ARGS 2)
foreach(binding rank segment random operations bytes)
  hob_ghost_test(sums_${binding} sums mpich5 RANKS 4 GHOSTS 2 NODES 2 BINDING ${binding} REDIRECTED yes)
endforeach()
# Who sees what behind a fence: neighbours, ghosts of each segment, third processes.
hob_ghost_test(fence_four fence mpich5 RANKS 4 GHOSTS 1 NODES 2 REDIRECTED yes)
hob_ghost_test(fence_segments fence mpich5 RANKS 4 GHOSTS 2 NODES 2 BINDING segment REDIRECTED yes)
hob_ghost_test(fence_three_nodes fence mpich5 RANKS 3 GHOSTS 1 NODES 3 REDIRECTED yes)
hob_ghost_test(rma_four_ranks rma mpich5 RANKS 4 GHOSTS 1 NODES 2)
hob_ghost_test(rma_three rma mpich5 RANKS 2 GHOSTS 3 NODES 2 BINDING segment)
hob_ghost_test(many_windows windows mpich5 RANKS 2 GHOSTS 1 NODES 2 ARGS 1500 LONG)

# Each rank in a container of its own that numbers its processes anew, all at the same addresses: shared memory is
# passed, and no process reads another one's memory that it takes for the one that was meant.
set(own_numbers "setarch -R unshare --pid --fork --mount-proc")
hob_ghost_test(own_numbers sums mpich5 RANKS 4 GHOSTS 1 NODES 2 REDIRECTED yes INSIDE "${own_numbers}")
hob_ghost_test(own_numbers_created memory mpich5 RANKS 4 GHOSTS 1 NODES 2 INSIDE "${own_numbers}")

# Two real nodes, of network namespaces.
foreach(mpi IN LISTS HOB_MPIS)
  if(NOT mpi MATCHES "mpich5|abi5")
    continue()
  endif()
  set(bin "${PROJECT_BINARY_DIR}/bin/${mpi}")
  hob_mpi_test(mpi.${mpi}.ghost_namespaces ${mpi} TIMEOUT 300
    COMMAND "${Python3_EXECUTABLE}" -B "${CMAKE_CURRENT_SOURCE_DIR}/ghost_netns.py" --exec "${HOB_MPI_${mpi}_EXEC}"
            --library "${PROJECT_BINARY_DIR}/lib/libhob_${HOB_MPI_${mpi}_FAMILY}.so" --users 2 --ghosts 1
            -- "${bin}/ghost_world" 4 -- "${bin}/ghost_windows" 100 -- "${bin}/ghost_sums" -- "${bin}/ghost_fence")
endforeach()
