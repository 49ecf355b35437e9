# Programs with something under way while they compute, on every MPI library: the thread of
# src/mpi/progress/overlap.hpp forced on, and random programs with it.

hob_mpi_program(overlap_computing SOURCES overlap_computing.c)
hob_mpi_program(overlap_batch SOURCES overlap_batch.c)
hob_mpi_program(overlap_peer SOURCES overlap_peer.c)
hob_mpi_program(overlap_threads SOURCES overlap_threads.c FLAGS -pthread)
hob_mpi_program(overlap_events SOURCES overlap_events.c)
hob_mpi_program(overlap_small SOURCES overlap_small.c)
hob_mpi_program(overlap_start SOURCES overlap_start.c)
hob_mpi_program(overlap_pipeline SOURCES overlap_pipeline.c)
# Other libraries do not promise to survive exceptions.
hob_mpi_program(overlap_throws SOURCES overlap_throws.cpp MPIS mpich5 FLAGS -DMPICH_SKIP_MPICXX)

# hob_overlap_test(suffix program MPI LABEL label [MATCH how] [SETTINGS NAME=value...] ARGS...)
function(hob_overlap_test name program mpi)
  cmake_parse_arguments(arg "" "LABEL;MATCH" "ARGS;SETTINGS" ${ARGN})
  if(NOT arg_MATCH)
    set(arg_MATCH auto)
  endif()
  hob_p2p_test(_overlap${name} ${program} ${mpi} RANKS 2 MATCH ${arg_MATCH} LABEL ${arg_LABEL}
    SETTINGS HOB_OVERLAP=on ${arg_SETTINGS} ARGS ${arg_ARGS})
endfunction()

foreach(mpi IN LISTS HOB_MPIS)
  set(what message allreduce user_op exit)
  if(mpi MATCHES "mpich5|openmpi5")
    list(APPEND what persistent errors attributes types fork)
  endif()
  foreach(each IN LISTS what)
    hob_overlap_test(_${each} overlap_computing ${mpi} LABEL mpi ARGS ${each})
  endforeach()
endforeach()
# Receives in Hob's own queue.
foreach(mpi IN LISTS HOB_MPIS)
  foreach(each IN ITEMS message user_op errors attributes types)
    hob_overlap_test(_${each} overlap_computing ${mpi} LABEL mpi MATCH always ARGS ${each})
  endforeach()
  hob_overlap_test(_cancel overlap_events ${mpi} LABEL mpi MATCH always ARGS cancel)
endforeach()
# Threads of the program's in the library at the same time.
foreach(mpi IN LISTS HOB_MPIS)
  foreach(each IN ITEMS message user_op errors attributes types fork)
    hob_overlap_test(_${each}_multiple overlap_computing ${mpi} LABEL mpi ARGS ${each} multiple)
  endforeach()
  hob_overlap_test("" overlap_threads ${mpi} LABEL mpi)
endforeach()
# What may happen to a program while the thread is inside. MPICH 4 advances collective requests of files in a
# wait for them alone; over UCX it has no MPI_Comm_spawn, and does not wait for freed sends in MPI_Finalize.
set(events file signals cancel threads datatype)
set(events_mpich5 file_all freed spawn tasks rests)
set(events_abi5 file_all freed)
set(events_openmpi5 file_all freed spawn rests)
set(events_openmpi4 file_all freed spawn rests)
foreach(mpi IN LISTS HOB_MPIS)
  foreach(each IN LISTS events events_${mpi})
    hob_overlap_test(_${each} overlap_events ${mpi} LABEL mpi ARGS ${each})
  endforeach()
endforeach()
if("mpich5" IN_LIST HOB_MPIS)
  hob_overlap_test(_rests_tcp overlap_events mpich5 LABEL mpi
    SETTINGS ${tcp} ARGS rests)
  hob_overlap_test(_numbers_tcp overlap_events mpich5 LABEL mpi
    SETTINGS ${tcp} ARGS numbers)
endif()
# Starts that the thread makes in the program's place.
foreach(mpi IN LISTS HOB_MPIS)
  foreach(each IN ITEMS order requests objects collect beside arguments handles)
    hob_overlap_test(_${each} overlap_start ${mpi} LABEL mpi
      SETTINGS HOB_OVERLAP_STARTS=always ARGS ${each})
  endforeach()
endforeach()
if("mpich5" IN_LIST HOB_MPIS)
  hob_overlap_test(_order_tcp overlap_start mpich5 LABEL mpi
    SETTINGS ${tcp} HOB_OVERLAP_STARTS=always ARGS order)
  hob_overlap_test(_order_off overlap_start mpich5 LABEL mpi
    SETTINGS HOB_OVERLAP_STARTS=off ARGS order none)
endif()
# One session: MPICH 5 by itself now and then opens a second one with addresses of the first.
set(sessions_openmpi5 2)
set(sessions_mpich5 1)
set(sessions_abi5 1)
foreach(mpi IN ITEMS mpich5 abi5 openmpi5)
  if(mpi IN_LIST HOB_MPIS)
    foreach(level IN ITEMS none MPI_THREAD_SERIALIZED MPI_THREAD_MULTIPLE)
      hob_overlap_test(_sessions_${level} overlap_events ${mpi} LABEL mpi ARGS sessions ${level} ${sessions_${mpi}})
    endforeach()
  endif()
endforeach()
if("mpich5" IN_LIST HOB_MPIS)
  hob_overlap_test("" overlap_throws mpich5 LABEL mpi)
endif()
# A rank whose own waits do not get shorter: its peer's do. (Not with MPICH's library for the ABI of MPI 5,
# which does not tell what is complete: whether the thread moved anything is then known by the time alone.)
if("mpich5" IN_LIST HOB_MPIS)
  hob_overlap_test("" overlap_peer mpich5 LABEL mpi
    SETTINGS HOB_OVERLAP=auto
             ${tcp})
endif()
# Something is under way all the time.
foreach(mpi IN ITEMS mpich5 openmpi5)
  if(mpi IN_LIST HOB_MPIS)
    hob_overlap_test("" overlap_pipeline ${mpi} LABEL mpi SETTINGS HOB_OVERLAP=auto)
  endif()
endforeach()
# What is too small.
set(by_default ${HOB_MPIS})
list(REMOVE_ITEM by_default openmpi4)
foreach(mpi IN LISTS by_default)
  hob_overlap_test("" overlap_small ${mpi} LABEL mpi SETTINGS HOB_OVERLAP=auto)
endforeach()
# Windows that other nodes reach.
foreach(mpi IN ITEMS mpich5 abi5)
  if(mpi IN_LIST HOB_MPIS)
    hob_overlap_test(_exposed overlap_computing ${mpi} LABEL mpi
      SETTINGS ${tcp} ARGS exposed)
    hob_overlap_test(_exposed_windows overlap_computing ${mpi} LABEL mpi
      SETTINGS HOB_OVERLAP=windows ${tcp} ARGS exposed)
  endif()
endforeach()
# Batches.
if("mpich5" IN_LIST HOB_MPIS)
  foreach(each IN ITEMS put accumulate mixed unlock local)
    hob_overlap_test(_${each} overlap_batch mpich5 LABEL mpi
      SETTINGS ${tcp} HOB_BATCH=4096 ARGS ${each})
  endforeach()
endif()
foreach(mpi IN ITEMS mpich5 openmpi5 abi5)
  if(mpi IN_LIST HOB_MPIS)
    hob_overlap_test(_computing_always p2p_fuzz ${mpi} LABEL fuzz MATCH always
      ARGS --programs 4 --seed 1700 --with computing ${fuzz_${mpi}})
    hob_overlap_test("" p2p_fuzz ${mpi} LABEL fuzz ARGS --programs 6 --seed 1300 ${fuzz_${mpi}})
    hob_overlap_test(_computing p2p_fuzz ${mpi} LABEL fuzz
      SETTINGS HOB_OVERLAP_STARTS=always ARGS --programs 6 --seed 1400 --with computing ${fuzz_${mpi}})
    if(NOT mpi MATCHES "openmpi5")  # by itself it now and then does not end with three threads
      hob_overlap_test(_computing_threads p2p_fuzz ${mpi} LABEL fuzz
        ARGS --programs 3 --threads 3 --seed 1500 --with computing ${fuzz_threads_${mpi}})
    endif()
  endif()
endforeach()
if("mpich5" IN_LIST HOB_MPIS)
  hob_overlap_test(_computing_tcp p2p_fuzz mpich5 LABEL fuzz
    SETTINGS ${tcp} FI_TCP_MAX_SAVED=1000000 HOB_OVERLAP_STARTS=always
    ARGS --programs 4 --seed 1600 --with computing ${fuzz_tcp_mpich5})
endif()
