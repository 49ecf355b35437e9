# What `cmake --install` puts where, besides the libraries (lib/hob) and programs (bin) that each
# directory installs itself.

install(DIRECTORY include/hob DESTINATION include)
install(PROGRAMS hob DESTINATION bin)
install(DIRECTORY tools/hob DESTINATION share/hob/python
        PATTERN "__pycache__" EXCLUDE PATTERN "*.pyc" EXCLUDE)
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
