# `cmake --install`: libraries and headers of every room, the command, its data, and the package
# files with which another project says find_package(assay) and links assay::fuzz, assay::oracle ...
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(ASSAY_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/assay)
set(ASSAY_DATA_DIR ${CMAKE_INSTALL_DATADIR}/assay)

function(assay_install_room name)
  set_target_properties(assay_${name} PROPERTIES EXPORT_NAME ${name})
  install(TARGETS assay_${name} EXPORT assayTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/assay/${name}
          FILES_MATCHING PATTERN "*.h" PATTERN testdata EXCLUDE)
endfunction()

install(TARGETS assay_flags EXPORT assayTargets)
if(TARGET assay_toml)
  install(TARGETS assay_toml EXPORT assayTargets)
endif()
install(EXPORT assayTargets NAMESPACE assay:: DESTINATION ${ASSAY_PACKAGE_DIR})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/assayConfig.cmake.in
  ${PROJECT_BINARY_DIR}/assayConfig.cmake INSTALL_DESTINATION ${ASSAY_PACKAGE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/assayConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/assayConfig.cmake ${PROJECT_BINARY_DIR}/assayConfigVersion.cmake
        DESTINATION ${ASSAY_PACKAGE_DIR})

# What `assay gate` and `assay golden` read, under the paths that it has in the source tree.
foreach(data reference/testdata/goldens fuzz/corpus)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${data}/ DESTINATION ${ASSAY_DATA_DIR}/${data})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/ci/gate.toml DESTINATION ${ASSAY_DATA_DIR}/ci)
