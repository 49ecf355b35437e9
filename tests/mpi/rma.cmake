# One-sided programs: plainly and with Hob under several settings, on every MPI library.

foreach(program recall recall_traps acquires address_limit ahead aliases batch device device_ghosts incoming lock_threads locks near polling progress requests request_threads traps corners limits end memory share strange_memory types validate windows)
  hob_mpi_program(rma_${program} SOURCES rma_${program}.c)
endforeach()

hob_mpi_program(rma_mixed_threads SOURCES rma_mixed_threads.c MPIS mpich5)
hob_mpi_program(rma_direct_threads SOURCES rma_direct_threads.c MPIS mpich5)
hob_mpi_program(rma_edges SOURCES rma_edges.c MPIS mpich5)
hob_mpi_program(rma_stored_pages SOURCES rma_stored_pages.c MPIS mpich5)

# MPI 4: large counts, and sessions.
set(with_large)
set(with_sessions)
foreach(mpi IN LISTS HOB_MPIS)
  if(mpi MATCHES "^(mpich4|mpich5|abi5)$")
    list(APPEND with_large ${mpi})
  endif()
  if(mpi MATCHES "^(mpich4|mpich5|abi5|openmpi5)$")
    list(APPEND with_sessions ${mpi})
  endif()
endforeach()
if(with_large)
  hob_mpi_program(rma_large SOURCES rma_large.c MPIS ${with_large})
endif()
if(with_sessions)
  hob_mpi_program(rma_sessions SOURCES rma_sessions.c MPIS ${with_sessions})
endif()

# A stand-in for the runtime of an accelerator, preloaded behind Hob.
hob_mpi_program(libstand_in_accelerator.so SOURCES stand_in_accelerator.c FLAGS -shared -fPIC)

# Fortran by each of its three interfaces, where the MPI library has a Fortran compiler.
hob_mpi_program(rma_f77 SOURCES rma_f77.f)
hob_mpi_program(rma_use_mpi SOURCES rma_use_mpi.f90)
hob_mpi_program(rma_f08 SOURCES rma_f08.f90)
hob_mpi_program(rma_hob_module SOURCES rma_hob_module.f90)

find_package(Python3 REQUIRED COMPONENTS Interpreter)

# hob_compare_test(NAME MPI LABELS RANKS SETTINGS [REMOTE] [TIMEOUT] COMMAND program args...): the
# same output plainly and under every setting of tests/run_compare.py. REMOTE plain-nodes: two nodes, plainly too.
function(hob_compare_test name mpi)
  cmake_parse_arguments(arg "" "RANKS;SETTINGS;REMOTE;TIMEOUT" "LABELS;COMMAND" ${ARGN})
  if(NOT arg_RANKS)
    set(arg_RANKS 2)
  endif()
  if(NOT arg_REMOTE)
    set(arg_REMOTE no)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  if(arg_REMOTE STREQUAL "plain-nodes")
    set(arg_REMOTE nodes --plain-nodes)
  endif()
  list(POP_FRONT arg_COMMAND program)
  set(programs ${mpi})
  if(HOB_MPI_${mpi}_PROGRAMS)
    set(programs ${HOB_MPI_${mpi}_PROGRAMS})
  endif()
  set(processes ${arg_RANKS})
  if(arg_SETTINGS MATCHES "ghosts")
    math(EXPR processes "${processes} + 1")
  endif()
  hob_mpi_test(${name} ${mpi} LABELS ${arg_LABELS} TIMEOUT 600 RANKS ${processes}
    COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tests/run_compare.py" --mpi ${mpi}
            --exec "${HOB_MPI_${mpi}_EXEC}" --lib "${PROJECT_BINARY_DIR}/lib/libhob_${HOB_MPI_${mpi}_FAMILY}.so"
            --ranks ${arg_RANKS} --remote ${arg_REMOTE} --settings ${arg_SETTINGS} --timeout ${arg_TIMEOUT}
            -- "${PROJECT_BINARY_DIR}/bin/${programs}/${program}" ${arg_COMMAND})
endfunction()

# With Hob alone: plainly, MPICH 5 gets old values now and then.
hob_mpi_program(rma_put_flush SOURCES rma_put_flush.c)
foreach(mpi mpich5 abi5)
  if(mpi IN_LIST HOB_MPIS)
    set(preload "${PROJECT_BINARY_DIR}/lib/libhob_${HOB_MPI_${mpi}_FAMILY}.so")
    hob_mpi_test(mpi.${mpi}.rma_put_flush ${mpi} LABELS mpi TIMEOUT 120
      COMMAND ${HOB_MPI_${mpi}_EXEC} -n 3 -genv LD_PRELOAD ${preload} -genv MPIR_CVAR_NOLOCAL 1
              -genv MPIR_CVAR_CH4_NETMOD ofi -genv FI_PROVIDER tcp -genv FI_TCP_MAX_SAVED 1000000
              "${PROJECT_BINARY_DIR}/bin/${mpi}/rma_put_flush")
    set_tests_properties(mpi.${mpi}.rma_put_flush PROPERTIES
      PASS_REGULAR_EXPRESSION "PASS.*Short puts waited" FAIL_REGULAR_EXPRESSION "FAIL")
  endif()
endforeach()

if("mpich5" IN_LIST HOB_MPIS)
  hob_compare_test(mpi.mpich5.rma_batch_messages mpich5 REMOTE messages RANKS 3 LABELS mpi
    SETTINGS default,batch-auto,batch-16,batch-off COMMAND rma_batch)
  hob_compare_test(mpi.mpich5.rma_batch_few mpich5 REMOTE tcp RANKS 3 LABELS mpi
    SETTINGS batch-4096,batch-off,batch-auto COMMAND rma_batch few)
endif()

foreach(mpi IN LISTS HOB_MPIS)
  # What is no acquire is checked on top of what is one, where a copy surely outlives the row.
  hob_compare_test(mpi.${mpi}.rma_acquires ${mpi} LABELS mpi SETTINGS auto,strict COMMAND rma_acquires)
  hob_compare_test(mpi.${mpi}.rma_polling ${mpi} LABELS mpi SETTINGS default,auto,tiny,ahead-1K COMMAND rma_polling)
  hob_compare_test(mpi.${mpi}.rma_ahead ${mpi} RANKS 3 LABELS mpi
    SETTINGS ahead-counted,ahead-256,ahead-old,ahead-tiny,ahead-verify,ahead-strict,ahead-1M,default COMMAND rma_ahead)
  hob_compare_test(mpi.${mpi}.rma_traps ${mpi} LABELS mpi SETTINGS default,auto,strict,tiny,paper-tiny,ahead-1K COMMAND rma_traps)
  hob_compare_test(mpi.${mpi}.rma_corners ${mpi} LABELS mpi SETTINGS default,auto,strict,tiny COMMAND rma_corners)
  # Open MPI's accumulates lose data by themselves.
  set(batched)
  if(mpi MATCHES "^openmpi")
    set(batched moves)
  endif()
  hob_compare_test(mpi.${mpi}.rma_batch ${mpi} LABELS mpi SETTINGS default,batch-2,batch-4096
    COMMAND rma_batch ${batched})
  hob_compare_test(mpi.${mpi}.rma_aliases ${mpi} LABELS mpi SETTINGS default,auto,counted COMMAND rma_aliases)
  hob_mpi_test(mpi.${mpi}.rma_device ${mpi} TIMEOUT 300
    COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tests/run_compare.py" --mpi ${mpi}
            --exec "${HOB_MPI_${mpi}_EXEC}"
            --lib "${PROJECT_BINARY_DIR}/lib/libhob_${HOB_MPI_${mpi}_FAMILY}.so:${PROJECT_BINARY_DIR}/bin/${mpi}/libstand_in_accelerator.so"
            --ranks 2 --settings cuda,hip,level-zero -- "${PROJECT_BINARY_DIR}/bin/${mpi}/rma_device")
  # One node, where ranks reach memory themselves, and two (which MPICH 5 can pretend), where ghosts do.
  set(nodes_or_not no)
  if(mpi STREQUAL "mpich5")
    list(APPEND nodes_or_not nodes)
  endif()
  foreach(remote IN LISTS nodes_or_not)
    set(name mpi.${mpi}.rma_device_ghosts_${remote})
    hob_mpi_test(${name} ${mpi} TIMEOUT 300
      COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tests/run_compare.py" --mpi ${mpi}
              --exec "${HOB_MPI_${mpi}_EXEC}" --remote ${remote}
              --lib "${PROJECT_BINARY_DIR}/lib/libhob_${HOB_MPI_${mpi}_FAMILY}.so:${PROJECT_BINARY_DIR}/bin/${mpi}/libstand_in_accelerator.so"
              --ranks 2 --settings ghosts1-rank,ghosts1-rank-cache -- "${PROJECT_BINARY_DIR}/bin/${mpi}/rma_device_ghosts")
    set_tests_properties(${name} PROPERTIES ENVIRONMENT STAND_IN=cuda)
  endforeach()
  hob_compare_test(mpi.${mpi}.rma_locks ${mpi} LABELS mpi SETTINGS counted,default,auto,strict,tiny COMMAND rma_locks)
  if(mpi STREQUAL "mpich5")
    hob_compare_test(mpi.${mpi}.rma_lock_threads ${mpi} LABELS mpi SETTINGS auto,always,user COMMAND rma_lock_threads)
    hob_compare_test(mpi.${mpi}.rma_mixed_threads ${mpi} LABELS mpi REMOTE nodes SETTINGS auto,always COMMAND rma_mixed_threads 20)
    hob_compare_test(mpi.${mpi}.rma_direct_threads ${mpi} LABELS mpi SETTINGS default,auto COMMAND rma_direct_threads)
  endif()
  hob_compare_test(mpi.${mpi}.rma_requests ${mpi} LABELS mpi SETTINGS counted,default,auto,strict,tiny COMMAND rma_requests)
  hob_compare_test(mpi.${mpi}.rma_request_threads ${mpi} LABELS mpi SETTINGS default,auto,tiny,ahead-1K
    COMMAND rma_request_threads)
  # Three ranks of MPICH 4 or Open MPI, which spin, take minutes on two cores.
  set(three 2)
  if(mpi MATCHES "^(mpich5|abi5)$")
    set(three 3)
  endif()
  hob_compare_test(mpi.${mpi}.rma_validate ${mpi} RANKS ${three} LABELS mpi
    SETTINGS validate-counted,validate,validate-ahead,auto COMMAND rma_validate)
  # With so many windows that members tell each other of more than 512 targets.
  if(mpi STREQUAL "mpich5")
    hob_compare_test(mpi.${mpi}.rma_validate_many ${mpi} RANKS 2 LABELS mpi SETTINGS validate-counted
      COMMAND rma_validate many)
  endif()
  hob_compare_test(mpi.${mpi}.rma_incoming ${mpi} RANKS ${three} LABELS mpi
    SETTINGS promised-counted,promised COMMAND rma_incoming)
  hob_compare_test(mpi.${mpi}.rma_types ${mpi} LABELS mpi SETTINGS default,auto,counted COMMAND rma_types)
  hob_compare_test(mpi.${mpi}.rma_windows ${mpi} LABELS mpi SETTINGS default,auto COMMAND rma_windows)
  hob_compare_test(mpi.${mpi}.rma_limits ${mpi} LABELS mpi SETTINGS auto,tiny,paper COMMAND rma_limits)
  if(mpi IN_LIST with_large)
    hob_compare_test(mpi.${mpi}.rma_large ${mpi} LABELS mpi SETTINGS default,auto,strict,tiny,paper COMMAND rma_large)
  endif()
  if(mpi IN_LIST with_sessions)
    # MPICH 4 and Open MPI 5 crash in a second session. In MPICH 5 over UCX, one in some 200 does not get its
    # communicator, without Hob too.
    set(sessions)
    set(remote no)
    if(mpi MATCHES "^(mpich5|abi5)$")
      set(sessions two)
      set(remote tcp)
    endif()
    hob_compare_test(mpi.${mpi}.rma_sessions ${mpi} LABELS mpi REMOTE ${remote} SETTINGS default,auto,strict,tiny
      COMMAND rma_sessions ${sessions})
  endif()
  if(HOB_MPI_${mpi}_FC)
    foreach(program f77 use_mpi f08)
      hob_compare_test(mpi.${mpi}.rma_${program} ${mpi} LABELS mpi SETTINGS default,auto,strict COMMAND rma_${program})
    endforeach()
    hob_compare_test(mpi.${mpi}.rma_hob_module ${mpi} LABELS mpi SETTINGS auto COMMAND rma_hob_module)
  endif()
  foreach(row "abort 5" "exit 4" "error 6")  # rma_end.c; 6: MPI_ERR_RANK
    string(REPLACE " " ";" row "${row}")
    list(GET row 0 how)
    list(GET row 1 status)
    hob_mpi_test(mpi.${mpi}.rma_end_${how} ${mpi} TIMEOUT 120
      COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tests/run_compare.py" --mpi ${mpi}
              --exec "${HOB_MPI_${mpi}_EXEC}" --lib "${PROJECT_BINARY_DIR}/lib/libhob_${HOB_MPI_${mpi}_FAMILY}.so"
              --settings auto --timeout 40 --status ${status} -- "${PROJECT_BINARY_DIR}/bin/${mpi}/rma_end" ${how})
  endforeach()
endforeach()

# What is left to the library since its memory is shared: the tests of gets with the bypass on.
foreach(mpi mpich5 mpich4 openmpi5 openmpi4)
  if(mpi IN_LIST HOB_MPIS)
    hob_compare_test(mpi.${mpi}.rma_near ${mpi} RANKS 2 LABELS mpi SETTINGS default COMMAND rma_near)
  endif()
endforeach()

# Without a bypass and without polling in the way, every call that is no acquire keeps the copy.
if("mpich5" IN_LIST HOB_MPIS)
  hob_mpi_test(mpi.mpich5.rma_not_acquires mpich5 TIMEOUT 120
    COMMAND "${HOB_MPI_mpich5_EXEC}" -n 2 -genv LD_PRELOAD "${PROJECT_BINARY_DIR}/lib/libhob_mpich.so"
            -genv HOB_CACHE_BYPASS off -genv HOB_POLL_MS 1000000 -genv HOB_REPORT silent
            "${PROJECT_BINARY_DIR}/bin/mpich5/rma_acquires" --expect-kept)
  foreach(program acquires polling traps corners)
    hob_compare_test(mpi.mpich5.rma_${program}_tcp mpich5 REMOTE tcp RANKS 2 LABELS mpi SETTINGS default,auto COMMAND rma_${program})
  endforeach()
  hob_compare_test(mpi.mpich5.rma_near_nodes mpich5 REMOTE nodes RANKS 4 LABELS mpi SETTINGS default COMMAND rma_near)
  # Memory of MPI_Win_allocate is the heap's here, and has other data on its pages.
  hob_compare_test(mpi.mpich5.rma_validate_tcp mpich5 REMOTE tcp RANKS 2 LABELS mpi
    SETTINGS default,auto,validate-counted COMMAND rma_validate)
  hob_compare_test(mpi.mpich5.rma_edges mpich5 REMOTE tcp RANKS 2 LABELS mpi
    SETTINGS validate-counted,validate-ahead,default COMMAND rma_edges)
  hob_compare_test(mpi.mpich5.rma_stored_pages mpich5 REMOTE tcp RANKS 2 LABELS mpi
    SETTINGS default COMMAND rma_stored_pages)
  # What is fetched ahead, where not all of a window's memory can be read or is there.
  hob_compare_test(mpi.mpich5.rma_strange_memory mpich5 REMOTE nodes RANKS 2 LABELS mpi
    SETTINGS default,ahead-1M,ghosts1-rank-ahead COMMAND rma_strange_memory)
  hob_compare_test(mpi.mpich5.rma_address_limit mpich5 REMOTE nodes RANKS 2 LABELS mpi
    SETTINGS default,ghosts1-rank-cache COMMAND rma_address_limit)
  # Phases that read the same places again: from other nodes, with ghosts, and where ranks of a node share.
  hob_compare_test(mpi.mpich5.rma_recall mpich5 REMOTE nodes RANKS 3 LABELS mpi
    SETTINGS recall,recall-tiny,recall-ahead,recall-verify,recall-old,recall-batch,recall-validate,recall-share
    COMMAND rma_recall)
  hob_compare_test(mpi.mpich5.rma_recall_traps mpich5 REMOTE nodes RANKS 3 LABELS mpi
    SETTINGS recall,recall-tiny,recall-ahead,recall-old,recall-validate COMMAND rma_recall_traps)
  hob_compare_test(mpi.mpich5.rma_recall_ghosts mpich5 REMOTE nodes RANKS 3 LABELS mpi
    SETTINGS ghosts1-rank-recall,ghosts2-segment-recall COMMAND rma_recall)
  # Through ghosts: what is fetched ahead, and requests whose gets Hob carries out.
  hob_compare_test(mpi.mpich5.rma_ahead_ghosts mpich5 REMOTE nodes RANKS 2 LABELS mpi
    SETTINGS ghosts1-rank-counted,ghosts1-rank-ahead COMMAND rma_ahead)
  # What outlives barriers, too: targets with neighbours that write to them directly, and through ghosts.
  hob_compare_test(mpi.mpich5.rma_validate_ghosts mpich5 REMOTE nodes RANKS 4 LABELS mpi
    SETTINGS ghosts1-rank-validate-counted,ghosts2-segment-validate-counted,ghosts1-rank-validate-ahead,ghosts1-rank-cache
    COMMAND rma_validate)
  # The same where puts and gets go natively.
  hob_compare_test(mpi.mpich5.rma_validate_native mpich5 REMOTE direct RANKS 4 LABELS mpi
    SETTINGS ghosts1-rank-validate-counted,ghosts2-segment-validate-counted COMMAND rma_validate)
  foreach(program locks corners traps)
    hob_compare_test(mpi.mpich5.rma_${program}_native mpich5 REMOTE direct RANKS 2 LABELS mpi
      SETTINGS ghosts1-rank COMMAND rma_${program})
  endforeach()
  hob_compare_test(mpi.mpich5.rma_memory mpich5 RANKS 2 LABELS mpi SETTINGS validate-counted COMMAND rma_memory)
  hob_compare_test(mpi.mpich5.rma_incoming_ghosts mpich5 REMOTE nodes RANKS 3 LABELS mpi
    SETTINGS ghosts1-rank-promised-counted COMMAND rma_incoming)
  hob_compare_test(mpi.mpich5.rma_requests_ghosts mpich5 REMOTE nodes RANKS 2 LABELS mpi
    SETTINGS ghosts1-rank-cache COMMAND rma_requests)
  # Nothing is fetched again, so that no get of rank 0's own advances anything.
  hob_compare_test(mpi.mpich5.rma_progress_tcp mpich5 REMOTE tcp RANKS 2 LABELS mpi SETTINGS counted,auto COMMAND rma_progress)
endif()

# RMA as messages, where MPICH crashes when one rank has to answer two gets that are longer than one message.
foreach(mpi IN LISTS HOB_MPIS)
  if(mpi MATCHES "^(mpich5|abi5)$")
    hob_compare_test(mpi.${mpi}.rma_traps_messages ${mpi} REMOTE messages RANKS 2 LABELS mpi
      SETTINGS auto,ahead-16K COMMAND rma_traps)
  endif()
endforeach()

# Four ranks on two nodes: what one fetched, the other one of its node need not. Open MPI pretends no
# nodes; on MPICH 4, whose ranks spin, four of them on two cores take 5 s now and minutes then, without Hob too.
foreach(mpi IN LISTS HOB_MPIS)
  if(NOT mpi MATCHES "^(mpich5|abi5)$")
    continue()
  endif()
  hob_compare_test(mpi.${mpi}.rma_share ${mpi} REMOTE plain-nodes RANKS 4 LABELS mpi
    SETTINGS share-counted,share,share-tiny,share-verify,ahead-share-counted,ahead-share,ahead-share-tiny,default COMMAND rma_share)
  hob_compare_test(mpi.${mpi}.rma_share_user ${mpi} REMOTE plain-nodes RANKS 4 LABELS mpi
    SETTINGS share-user-counted,share-user COMMAND rma_share user)
  foreach(program polling traps corners)
    hob_compare_test(mpi.${mpi}.rma_${program}_share ${mpi} REMOTE nodes RANKS 4 LABELS mpi SETTINGS share,ahead-share COMMAND rma_${program})
  endforeach()
endforeach()
