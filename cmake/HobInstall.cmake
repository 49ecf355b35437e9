# What `cmake --install` puts where, besides the libraries (lib/hob) and programs (bin) that each
# directory installs itself.

# Everything of it that is compiled: `make install` and `make wheel` build this and no tests.
add_custom_target(shipped DEPENDS hob-exec hob-replay)
foreach(family IN ITEMS mpich openmpi abi)
  if(TARGET hob_${family})
    add_dependencies(shipped hob_${family})
  endif()
endforeach()

install(DIRECTORY include/hob DESTINATION include)
install(PROGRAMS hob DESTINATION bin)
install(DIRECTORY tools/hob DESTINATION share/hob/python
        PATTERN "__pycache__" EXCLUDE PATTERN "*.pyc" EXCLUDE)
# What `hob demo` compiles.
install(DIRECTORY apps/lcc apps/common DESTINATION share/hob/apps)
install(FILES bench/polite.c DESTINATION share/hob/bench)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION share/doc/hob)
install(DIRECTORY docs DESTINATION share/doc/hob)

# find_package(hob): the header's directory, and the libraries for those who link instead of preload.
include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/hobConfig.cmake.in "${PROJECT_BINARY_DIR}/hobConfig.cmake"
                              INSTALL_DESTINATION lib/cmake/hob)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/hobConfigVersion.cmake" COMPATIBILITY SameMajorVersion)
install(FILES "${PROJECT_BINARY_DIR}/hobConfig.cmake" "${PROJECT_BINARY_DIR}/hobConfigVersion.cmake"
        DESTINATION lib/cmake/hob)

# pkg-config: one file a family, since a program links the one that fits its MPI library.
foreach(family IN ITEMS mpich openmpi abi)
  if(TARGET hob_${family})
    configure_file(cmake/hob.pc.in "${PROJECT_BINARY_DIR}/hob-${family}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/hob-${family}.pc" DESTINATION lib/pkgconfig)
  endif()
endforeach()

# Manual pages and completion, made from the commands' own parsers. Without Python there are none.
install(CODE "
  set(hob \"${CMAKE_COMMAND}\" -E env \"_HOB_BIN=${PROJECT_BINARY_DIR}/bin\" python3 -I -B \"${PROJECT_SOURCE_DIR}/tools/hob/__main__.py\")
  set(to \"${PROJECT_BINARY_DIR}/manual\")
  file(MAKE_DIRECTORY \"\${to}/completion\")
  execute_process(COMMAND \${hob} man \"\${to}/man1\" OUTPUT_QUIET RESULT_VARIABLE failed)
  foreach(shell IN ITEMS bash zsh fish)
    execute_process(COMMAND \${hob} completion \${shell} OUTPUT_FILE \"\${to}/completion/\${shell}\" ERROR_QUIET)
  endforeach()
  if(failed)
    message(STATUS \"No manual pages: `hob man` did not run here\")
  endif()")
set(manual "${PROJECT_BINARY_DIR}/manual")
install(DIRECTORY "${manual}/man1" DESTINATION share/man OPTIONAL)
install(FILES "${manual}/completion/bash" DESTINATION share/bash-completion/completions RENAME hob OPTIONAL)
install(FILES "${manual}/completion/zsh" DESTINATION share/zsh/site-functions RENAME _hob OPTIONAL)
install(FILES "${manual}/completion/fish" DESTINATION share/fish/vendor_completions.d RENAME hob.fish OPTIONAL)

# For Lmod and for Environment Modules; each reads the file of its own.
configure_file(packaging/modules/hob.lua.in "${PROJECT_BINARY_DIR}/hob.lua" @ONLY)
configure_file(packaging/modules/hob.tcl.in "${PROJECT_BINARY_DIR}/hob.tcl" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/hob.lua" DESTINATION share/modulefiles/hob RENAME ${PROJECT_VERSION}.lua)
install(FILES "${PROJECT_BINARY_DIR}/hob.tcl" DESTINATION share/modulefiles/hob RENAME ${PROJECT_VERSION})

# `cpack -G DEB` or `-G RPM` in the build directory. Hob brings no MPI and wants none: it finds the program's.
set(CPACK_PACKAGE_NAME hob-mpi)
set(CPACK_PACKAGE_VENDOR "The Hob project")
set(CPACK_PACKAGE_CONTACT "The Hob project <nobody@localhost>")
# The one place that knows where Hob is to be had.
file(READ "${PROJECT_SOURCE_DIR}/packaging/address" hob_address)
string(STRIP "${hob_address}" hob_address)
if(NOT hob_address STREQUAL "none")
  set(CPACK_PACKAGE_HOMEPAGE_URL "${hob_address}")
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Makes unmodified MPI programs faster")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "python3 (>= 3.9)")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "python3-matplotlib")
set(CPACK_RPM_PACKAGE_LICENSE BSD-3-Clause)
# SLES 15 and RHEL 8 have an older python3, and a newer one beside it, which hob then starts.
set(CPACK_RPM_PACKAGE_REQUIRES "(python3 >= 3.9 or python39 or python3.11 or python311 or python3.12 or python312)")
set(CPACK_RPM_PACKAGE_AUTOREQ ON)
include(CPack)
