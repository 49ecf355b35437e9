# Which tests belong to the quick tier, which `make test` runs (label quick); `make test-full` runs all of them.
# tests/README.md says why. tests/seeded_faults.py shows what the quick tier finds.
#
# What does not depend on the MPI library is tested on one: MPICH 5, which needs no root, reaches memory of one node
# directly, and pretends nodes with TCP between them. Each of the others runs a dozen programs for what differs:
# how functions are found and wrapped, handles, statuses, errors, callbacks, progress, start and end.

set(HOB_QUICK_MPI mpich5)

# The library of the standard ABI is MPICH 5 with other handles; a build of Hob for it takes a minute and a half.
set(hob_full_only_mpis abi5)

# Regular expressions of names behind KIND.MPI.
set(hob_quick_everywhere
    "rma_(corners|near|requests|types|end_abort|f08|f77|hob_module)" "callbacks" "callbacks_finalize" "symbols\\.auto"
    "p2p_(order|requests|comms|spawn)\\.always" "p2p_extensions\\.always" "overlap_computing\\.auto_overlap_message"
    "ghost_(rma_1|sums_2|abort|f08)" "pvars" "prices")
set(hob_quick_on_intel "rma_(corners|requests)" "p2p_requests")

# On HOB_QUICK_MPI, what stays for the full tier: what runs no line of Hob; what repeats a test of the quick tier
# under one more setting, network or number of ranks; settings that are no longer advised; what takes long.
set(hob_full_only_mpi
    ".*\\.plain(_.*)?"
    "ghost_(many_windows|rma_three|rma_operations|rma_random|sums_(rank|random|operations)|fence_three_nodes)"
    "ghost_network_(rma|fence|sums|asserts|failures)" "ghost_(own_numbers_created|memory_mapped)"
    "p2p_deadline_threads\\.auto" "p2p_deadline\\.auto" "p2p_(flood|counts)_report" "p2p_patterns\\.auto"
    "overlap_computing\\..*_(attributes|errors|types)(_multiple)?"
    "rma_(sessions|validate_many|validate_native|locks_native|corners_native|traps_native|limits|share_user)"
    "rma_(polling|traps|corners)_share" "rma_(traps|corners|acquires|polling|validate)_tcp"
    "rma_traps_messages" "p2p_flood\\..*" "p2p_notice\\..*" "heat" "late_calls_threads")

# Unit tests run under the address sanitizer in the quick tier, but for these: compiling the glue for it takes as long
# as all else, and these take minutes where they are not optimized.
set(hob_quick_unit glue prices cache_test cache_oracle_test match_property_test replay_test)

# Of the command line: what has no compiler, no browser and no package manager to wait for.
set(hob_quick_tools includes includes_self_test comments_self_test wrappers advise claims cli exec page run verify)

set(hob_full_only_real "mpi4py")

# Random programs on HOB_QUICK_MPI: a network, threads, ghosts and a mechanism each, once.
set(hob_full_only_fuzz
    ".*\\.plain(_.*)?"
    "rma_(settings|ahead_read_only|validate_(threads|tcp|callbacks|ghosts_threads|ghosts_aliases)|batch_(messages|callbacks))"
    "rma_(read_only_threads|phases_tcp|recall_(tcp|threads|callbacks|ghosts|share)|fork|fork_ghosts|messages|four|match|ghosts_(network|network_callbacks|four|node|long))"
    "rma_(share_read_only|share_threads|callbacks_ghosts|aliases_(tcp|share|ghosts)|bursts|spawn|spawn_bare|long)"
    "p2p_(spawn_bare|fuzz\\.auto_three|fuzz\\.always_three)" "p2p_fuzz\\.auto_overlap_computing_threads")

# Tests of a quarter of a minute and more begin first, so that none of them runs alone at the end.
set(hob_long_ones "real\\.mpich5\\.mpi4py_rma" "mpi\\.mpich5\\.(rma_share|startup|prices_threads)"
    "fuzz\\.mpich5\\.rma_(threads|aliases)" "apps\\..*" "unit\\.match_property_test" "tools\\.(advise|run|cli|verify|exec)")

# hob_matches(TEXT RESULT patterns...): whether one of them is the whole of it. (CMake has room for few groups in one.)
function(hob_matches text result)
  set(${result} NO PARENT_SCOPE)
  foreach(pattern IN LISTS ARGN)
    if(text MATCHES "^(${pattern})$")
      set(${result} YES PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# hob_tier(NAME RESULT): quick or full.
function(hob_tier name result)
  set(quick NO)
  if(name MATCHES "^unit\\.(.*)$")
    hob_matches("${CMAKE_MATCH_1}" quick ${hob_quick_unit})
  elseif(name MATCHES "^tools\\.(.*)$")
    hob_matches("${CMAKE_MATCH_1}" quick ${hob_quick_tools})
  elseif(name MATCHES "^(mpi|fuzz|apps|real)\\.([a-z]+[0-9]?)\\.?(.*)$")
    set(kind "${CMAKE_MATCH_1}")
    set(mpi "${CMAKE_MATCH_2}")
    set(rest "${CMAKE_MATCH_3}")
    if(mpi STREQUAL HOB_QUICK_MPI)
      hob_matches("${rest}" left_out ${hob_full_only_${kind}})
      if(NOT left_out)
        set(quick YES)
      endif()
    elseif(kind STREQUAL "mpi" AND NOT mpi IN_LIST hob_full_only_mpis)
      if(mpi STREQUAL "intel")
        hob_matches("${rest}" quick ${hob_quick_on_intel})
      else()
        hob_matches("${rest}" quick ${hob_quick_everywhere})
      endif()
    endif()
  endif()
  if(quick)
    set(${result} quick PARENT_SCOPE)
  else()
    set(${result} full PARENT_SCOPE)
  endif()
endfunction()

# What a tier builds: the quick one the target quick-tests. Which targets a test needs stands in test-targets.json of
# the build directory, for tests/seeded_faults.py.
add_custom_target(quick-tests)
add_custom_target(quick-unit-tests)

# hob_test_needs(NAME targets...): what a test's command does not name.
function(hob_test_needs name)
  set_property(GLOBAL APPEND PROPERTY "HOB_TEST_NEEDS_${name}" ${ARGN})
endfunction()

# hob_add_to_tier(NAME words of its command...): finds the tier of a test, and in its command the programs and
# libraries that are to be built for it.
function(hob_add_to_tier name)
  hob_tier(${name} tier)
  if(tier STREQUAL "quick")
    set_property(TEST ${name} APPEND PROPERTY LABELS quick)
    set_property(GLOBAL APPEND PROPERTY HOB_QUICK_TESTS ${name})
  endif()
  hob_matches(${name} long ${hob_long_ones})
  if(long)
    set_property(TEST ${name} PROPERTY COST 30)
  endif()
  set_property(GLOBAL APPEND PROPERTY HOB_TESTS ${name})
  string(REGEX MATCHALL "${PROJECT_BINARY_DIR}/bin/[a-z0-9]+/[A-Za-z0-9_.-]+" programs "${ARGN}")
  foreach(program IN LISTS programs)
    string(REGEX MATCH "([a-z0-9]+)/([A-Za-z0-9_.-]+)$" found "${program}")
    hob_test_needs(${name} "mpi-program-${CMAKE_MATCH_1}-${CMAKE_MATCH_2}")
  endforeach()
  if(name MATCHES "^(mpi|fuzz|apps|real)\\.([a-z]+[0-9]?)")
    hob_test_needs(${name} "hob_${HOB_MPI_${CMAKE_MATCH_2}_FAMILY}")
  endif()
endfunction()

# When all targets and tests are known.
function(hob_finish_tiers)
  get_property(tests GLOBAL PROPERTY HOB_TESTS)
  get_property(quick GLOBAL PROPERTY HOB_QUICK_TESTS)
  set(json "{")
  set(comma "")
  foreach(test IN LISTS tests)
    get_property(needed GLOBAL PROPERTY "HOB_TEST_NEEDS_${test}")
    list(REMOVE_DUPLICATES needed)
    foreach(target IN LISTS needed)
      if(NOT TARGET ${target})
        message(FATAL_ERROR "test ${test} needs ${target}, which is no target")
      endif()
    endforeach()
    if(test IN_LIST quick AND needed)
      add_dependencies(quick-tests ${needed})
      if(test MATCHES "^unit")
        add_dependencies(quick-unit-tests ${needed})
      endif()
    endif()
    list(TRANSFORM needed REPLACE "(.+)" "\"\\1\"")
    list(JOIN needed ", " needed)
    string(APPEND json "${comma}\n\"${test}\": [${needed}]")
    set(comma ",")
  endforeach()
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/test-targets.json" CONTENT "${json}\n}\n")
endfunction()
cmake_language(DEFER DIRECTORY "${PROJECT_SOURCE_DIR}" CALL hob_finish_tiers)
