# Point-to-point programs on every MPI library: plainly, with Hob as it is by default, and with every
# receive taken over.

foreach(program order probe modes requests arrays comms flood counts notice patterns yields long_streams)
  hob_mpi_program(p2p_${program} SOURCES p2p_${program}.c)
endforeach()
hob_mpi_program(libcounted_probes.so SOURCES counted_probes.c FLAGS -shared -fPIC)
set(open_mpis ${HOB_MPIS})
list(FILTER open_mpis INCLUDE REGEX openmpi)
if(open_mpis)
  hob_mpi_program(p2p_many_comms SOURCES p2p_many_comms.c MPIS ${open_mpis})
  hob_mpi_program(p2p_spawn SOURCES p2p_spawn.c MPIS ${open_mpis})
endif()
list(APPEND with_partitions ${HOB_MPIS})
list(FILTER with_partitions INCLUDE REGEX "^(mpich|openmpi5)")
if(with_partitions)
  hob_mpi_program(p2p_extensions SOURCES p2p_extensions.c MPIS ${with_partitions})
endif()
hob_mpi_program(symbols SOURCES symbols.c FLAGS -ldl)
hob_mpi_program(p2p_fuzz
  SOURCES ../fuzz/p2p_fuzz.cpp ../fuzz/ending.cpp ../fuzz/p2p_plan.cpp ../fuzz/p2p_player.cpp ../fuzz/p2p_pending.cpp ../fuzz/p2p_exchanges.cpp
          ../fuzz/p2p_computing.cpp ../fuzz/spawned.cpp
  FLAGS -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX)

# gcc takes MPI_UNWEIGHTED, in Open MPI (int*)2, for an array.
hob_mpi_program(p2p_deadline SOURCES p2p_deadline.c FLAGS -Wno-stringop-overread)
hob_mpi_program(p2p_deadline_threads SOURCES p2p_deadline.c FLAGS -DMANY_THREADS -Wno-stringop-overread)

# hob_p2p_test(suffix program MPI RANKS n MATCH plain|auto|always [LABEL label] [BEHIND library]
#              [SETTINGS NAME=value...] ARGS...)
# BEHIND: preloaded behind Hob.
function(hob_p2p_test name program mpi)
  cmake_parse_arguments(arg "" "RANKS;MATCH;LABEL;BEHIND" "ARGS;SETTINGS" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL mpi)
  endif()
  set(launch "${HOB_MPI_${mpi}_EXEC}" -n ${arg_RANKS})
  set(settings OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1)
  if(HOB_MPI_${mpi}_FAMILY STREQUAL "openmpi")
    list(APPEND launch --oversubscribe)
    # What is spawned is reached by any interface, also by that of another test's nodes, which is about to go.
    list(APPEND settings OMPI_MCA_btl_tcp_if_include=lo)
  endif()
  if(NOT arg_MATCH STREQUAL "plain")
    set(preloaded "${PROJECT_BINARY_DIR}/lib/libhob_${HOB_MPI_${mpi}_FAMILY}.so")
    if(arg_BEHIND)
      string(APPEND preloaded ":${PROJECT_BINARY_DIR}/bin/${mpi}/${arg_BEHIND}")
    endif()
    list(APPEND launch env "LD_PRELOAD=${preloaded}" HOB_MATCH=${arg_MATCH} HOB_REPORT=silent)
    # Every message is to be drawn, but where a test asks for what is usual.
    if(NOT arg_SETTINGS MATCHES "HOB_MATCH_REPOST")
      list(APPEND launch HOB_MATCH_REPOST=0)
    endif()
  endif()
  if(arg_SETTINGS)
    set(launch "${CMAKE_COMMAND}" -E env ${arg_SETTINGS} ${launch})
  endif()
  set(drawn)
  if(arg_LABEL STREQUAL "fuzz")
    set(drawn "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tests/drawn.py" --)
  endif()
  hob_mpi_test(${arg_LABEL}.${mpi}.${program}.${arg_MATCH}${name} ${mpi} LABELS ${arg_LABEL} RANKS ${arg_RANKS}
    COMMAND ${drawn} "${CMAKE_COMMAND}" -E env ${settings} ${launch}
            "${PROJECT_BINARY_DIR}/bin/${mpi}/${program}" ${arg_ARGS})
endfunction()

# Random programs, without what a library gets wrong by itself:
#   MPICH      MPI_Isendrecv has an empty status (what Hob carries out has the right one), and its datatype
#              must not be freed before it is complete; completed with others, a partitioned receive now and
#              then counts as failed
#   MPICH 5    a message that came before its receive is truncated in silence, and some that come after one
#              that is persistent; over libfabric's tcp provider a truncated message breaks the connection
#   Open MPI 4 with threads: MPI_ERR_TRUNCATE is lost now and then, and so are completions beside it
set(fuzz_mpich4 isendrecv_status,isendrecv_types,partitioned_mixed)
set(fuzz_mpich5 ${fuzz_mpich4},truncate_late,truncate_persistent)
set(fuzz_abi5 ${fuzz_mpich5})
set(fuzz_threads_openmpi4 truncate)
set(fuzz_tcp_mpich5 ${fuzz_mpich5},truncate)
set(fuzz_tcp_abi5 ${fuzz_tcp_mpich5})
foreach(mpi IN LISTS HOB_MPIS)
  foreach(kind fuzz fuzz_threads fuzz_tcp)
    if(NOT DEFINED ${kind}_${mpi})
      set(${kind}_${mpi} ${fuzz_${mpi}})
    endif()
  endforeach()
  foreach(kind fuzz fuzz_threads fuzz_tcp)
    if(${kind}_${mpi})
      set(${kind}_${mpi} --without ${${kind}_${mpi}})
    endif()
  endforeach()
endforeach()

# In MPICH 5, messages that were drawn keep a communicator alive, and its callbacks are not called.
set(comms_mpich5 -received_by_callback)
set(comms_abi5 ${comms_mpich5})
# The library of the standard ABI looks into arrays before it looks whether there are any.
set(requests_abi5 -null_pointers)
foreach(mpi IN LISTS HOB_MPIS)
  foreach(match plain auto always)
    foreach(program order probe modes patterns)
      hob_p2p_test("" p2p_${program} ${mpi} RANKS 2 MATCH ${match})
    endforeach()
    hob_p2p_test("" p2p_requests ${mpi} RANKS 2 MATCH ${match} ARGS ${requests_${mpi}})
    hob_p2p_test("" p2p_arrays ${mpi} RANKS 2 MATCH ${match})
    hob_p2p_test("" p2p_comms ${mpi} RANKS 2 MATCH ${match} ARGS ${comms_${mpi}})
    # Open MPI 4 has neither.
    if(NOT mpi STREQUAL "openmpi4" AND NOT mpi MATCHES "^abi")
      hob_p2p_test("" p2p_extensions ${mpi} RANKS 2 MATCH ${match})
    endif()
    hob_p2p_test("" symbols ${mpi} RANKS 1 MATCH ${match})
    hob_p2p_test("" p2p_fuzz ${mpi} RANKS 2 MATCH ${match} LABEL fuzz ARGS --programs 10 ${fuzz_${mpi}})
    hob_p2p_test("_three" p2p_fuzz ${mpi} RANKS 3 MATCH ${match} LABEL fuzz ARGS --programs 3 --seed 500 ${fuzz_${mpi}})
    # Open MPI 5 by itself now and then does not end with three threads.
    if(NOT (mpi STREQUAL "openmpi5" AND match STREQUAL "plain"))
      hob_p2p_test("_threads" p2p_fuzz ${mpi} RANKS 2 MATCH ${match} LABEL fuzz
        ARGS --programs 3 --seed 900 --threads 3 ${fuzz_threads_${mpi}})
    endif()
  endforeach()
endforeach()

# What the libraries themselves cannot do: MPICH 5 does not advance shared memory in
# MPI_Intercomm_create and now and then fails to connect to what it spawned, MPICH 4 over UCX has no
# MPI_Comm_spawn, Open MPI advances nothing between the
# halves of a split collective read.
set(without_mpich5 -intercomm_create -comm_spawn)
set(without_abi5 ${without_mpich5})
set(without_mpich4 -comm_spawn)
set(without_openmpi4 -file_split_read_all -file_split_read_at_all -file_split_read_ordered)
set(without_openmpi5 ${without_openmpi4})
foreach(mpi IN LISTS HOB_MPIS)
  foreach(match plain auto always)
    hob_p2p_test("" p2p_deadline ${mpi} RANKS 2 MATCH ${match} ARGS ${without_${mpi}})
    hob_p2p_test("" p2p_deadline_threads ${mpi} RANKS 2 MATCH ${match} ARGS ${without_${mpi}})
  endforeach()
  hob_p2p_test("_hand_over" p2p_deadline ${mpi} RANKS 2 MATCH always
    SETTINGS HOB_MATCH_PROGRESS=hand-over ARGS ${without_${mpi}})
  if(mpi MATCHES "mpich5|abi5")
    hob_p2p_test("_tcp" p2p_deadline ${mpi} RANKS 2 MATCH always SETTINGS ${tcp}
      ARGS ${without_${mpi}} -win_allocate_shared)
    hob_p2p_test("_tcp" p2p_deadline_threads ${mpi} RANKS 2 MATCH always SETTINGS ${tcp}
      ARGS ${without_${mpi}} -win_allocate_shared)
  endif()
endforeach()

# Receives that go to the library when the program waits for them, while few are held.
foreach(mpi IN LISTS HOB_MPIS)
  if(mpi MATCHES "openmpi|mpich4")
    foreach(program order probe modes requests)
      hob_p2p_test("_few" p2p_${program} ${mpi} RANKS 2 MATCH always SETTINGS HOB_MATCH_REPOST=64)
    endforeach()
    hob_p2p_test("_few" p2p_comms ${mpi} RANKS 2 MATCH always SETTINGS HOB_MATCH_REPOST=64)
    hob_p2p_test("_few" p2p_deadline ${mpi} RANKS 2 MATCH always SETTINGS HOB_MATCH_REPOST=64
      ARGS ${without_${mpi}})
    foreach(few 2 64)
      hob_p2p_test("_few_${few}" p2p_fuzz ${mpi} RANKS 2 MATCH always LABEL fuzz
        SETTINGS HOB_MATCH_REPOST=${few} ARGS --programs 10 --seed 2500 ${fuzz_${mpi}})
    endforeach()
  endif()
endforeach()

# Over TCP, with ghosts (the third rank of a node), and held receives handed over.
set(tcp_mpich5 ${tcp})
set(tcp_abi5 ${tcp})
set(tcp_mpich4 MPIR_CVAR_NOLOCAL=1 UCX_TLS=tcp,self)
set(tcp_openmpi4 OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp)
set(tcp_openmpi5 ${tcp_openmpi4})
foreach(mpi IN LISTS HOB_MPIS)
  foreach(match auto always)
    hob_p2p_test("_ghosts" p2p_fuzz ${mpi} RANKS 3 MATCH ${match} LABEL fuzz
      SETTINGS HOB_GHOSTS=1 ARGS --programs 5 --seed 1700 ${fuzz_${mpi}})
    # libfabric's tcp provider loses messages beyond 64 unexpected ones of a process.
    hob_p2p_test("_tcp" p2p_fuzz ${mpi} RANKS 2 MATCH ${match} LABEL fuzz
      SETTINGS ${tcp_${mpi}} FI_TCP_MAX_SAVED=1000000 ARGS --programs 5 --seed 1300 ${fuzz_tcp_${mpi}})
  endforeach()
  hob_p2p_test("_hand_over" p2p_fuzz ${mpi} RANKS 2 MATCH always LABEL fuzz
    SETTINGS HOB_MATCH_PROGRESS=hand-over ARGS --programs 5 --seed 2100 ${fuzz_${mpi}})
  hob_p2p_test("_ghosts" p2p_order ${mpi} RANKS 3 MATCH always SETTINGS HOB_GHOSTS=1)
endforeach()

# With ghosts MPI_COMM_WORLD is another communicator, also for calls of threads that the library alone serves.
if("mpich5" IN_LIST HOB_MPIS)
  hob_p2p_test("_threads_ghosts" p2p_fuzz mpich5 RANKS 3 MATCH auto LABEL fuzz
    SETTINGS HOB_GHOSTS=1 HOB_MATCH_THRESHOLD=4 ARGS --programs 2 --seed 1700 --threads 3 ${fuzz_threads_mpich5})
endif()

# Over libfabric's tcp, auto takes over what is deep: here, what is not. With more than 64 unexpected messages of a peer
# these hang plainly, too, unless the provider is to keep more.
foreach(mpi IN ITEMS mpich5 abi5)
  if(mpi IN_LIST HOB_MPIS)
    hob_p2p_test("_tcp_taken" p2p_fuzz ${mpi} RANKS 2 MATCH auto LABEL fuzz
      SETTINGS ${tcp} FI_TCP_MAX_SAVED=1000000 HOB_MATCH_THRESHOLD=4 ARGS --programs 6 --seed 1301 ${fuzz_tcp_${mpi}})
    hob_p2p_test("_tcp_taken" p2p_order ${mpi} RANKS 2 MATCH auto SETTINGS ${tcp} FI_TCP_MAX_SAVED=1000000 HOB_MATCH_THRESHOLD=4)
  endif()
endforeach()

# MPICH's leaders have messages of their own, and MPICH 5 now and then fails to connect to what it spawned.
foreach(mpi IN LISTS open_mpis)
  foreach(match plain always)
    hob_p2p_test("" p2p_spawn ${mpi} RANKS 1 MATCH ${match})
  endforeach()
  hob_p2p_test("" p2p_many_comms ${mpi} RANKS 2 MATCH plain)
  # A strategy that has no room for so many.
  hob_p2p_test("_lla" p2p_many_comms ${mpi} RANKS 2 MATCH always SETTINGS HOB_MATCH_STRATEGY=lla-8)
endforeach()

# By itself, after a few receives.
foreach(mpi IN LISTS HOB_MPIS)
  hob_p2p_test("" p2p_notice ${mpi} RANKS 2 MATCH auto)
endforeach()

# How often Hob probes for long messages.
foreach(mpi IN LISTS HOB_MPIS)
  hob_p2p_test("" p2p_long_streams ${mpi} RANKS 2 MATCH auto BEHIND libcounted_probes.so)
endforeach()

# What MPICH 5 yields in its waits, and no other library.
foreach(mpi IN LISTS HOB_MPIS)
  if(mpi MATCHES "^(mpich|abi)5$")
    hob_p2p_test("" p2p_yields ${mpi} RANKS 2 MATCH auto ARGS left_out)
    hob_p2p_test("_threads" p2p_yields ${mpi} RANKS 2 MATCH auto ARGS threads)
  endif()
  hob_p2p_test("_library" p2p_yields ${mpi} RANKS 2 MATCH auto SETTINGS HOB_YIELDS=library ARGS made)
endforeach()

# A million unexpected messages; fewer on MPICH, which itself takes minutes for more.
foreach(mpi IN LISTS HOB_MPIS)
  if(mpi MATCHES "openmpi")
    hob_p2p_test("" p2p_flood ${mpi} RANKS 2 MATCH auto ARGS 1000000)
  elseif(mpi STREQUAL "mpich4")
    hob_p2p_test("" p2p_flood ${mpi} RANKS 2 MATCH auto ARGS 100000)
  else()
    # MPICH 5 keeps each in a cell of several kilobytes.
    hob_p2p_test("" p2p_flood ${mpi} RANKS 2 MATCH auto ARGS 40000 8000)
  endif()
  # MPICH has 262,144 requests in all; each message that was drawn takes one.
  hob_p2p_test("" p2p_flood ${mpi} RANKS 2 MATCH always ARGS 300000 8000 1 in-order)
endforeach()
# A million on MPICH too, where they are received in the order in which they came: MPICH 4 takes half
# a second for these, and MPICH 5 five gigabytes.
if("mpich4" IN_LIST HOB_MPIS)
  foreach(match auto always)
    hob_p2p_test("_million" p2p_flood mpich4 RANKS 2 MATCH ${match} ARGS 1000000 1500 1 in-order)
  endforeach()
endif()

find_package(Python3 REQUIRED COMPONENTS Interpreter)
# What the report says of them.
foreach(mpi IN LISTS HOB_MPIS)
  foreach(program counts flood)
    set(name mpi.${mpi}.p2p_${program}_report)
    hob_mpi_test(${name} ${mpi}
      COMMAND "${Python3_EXECUTABLE}" -B "${CMAKE_CURRENT_SOURCE_DIR}/p2p_report_check.py"
              --lib "${PROJECT_BINARY_DIR}/lib/libhob_${HOB_MPI_${mpi}_FAMILY}.so" "--exec=${HOB_MPI_${mpi}_EXEC}"
              --family ${HOB_MPI_${mpi}_FAMILY} --program "${PROJECT_BINARY_DIR}/bin/${mpi}/p2p_${program}")
  endforeach()
endforeach()

add_test(NAME unit.deadline_complete
  COMMAND Python3::Interpreter -B "${CMAKE_CURRENT_SOURCE_DIR}/deadline_complete.py")
set_tests_properties(unit.deadline_complete PROPERTIES LABELS unit)
