include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(augur_package_directory ${CMAKE_INSTALL_DATADIR}/cmake/augur)

install(TARGETS augur EXPORT augur-core FILE_SET HEADERS)
install(EXPORT augur-core FILE augur-core.cmake NAMESPACE augur:: DESTINATION ${augur_package_directory})
if(augur_HAS_EIGEN)
  foreach(part IN ITEMS encoder train)
    install(TARGETS augur_${part} EXPORT augur-${part} FILE_SET HEADERS)
    install(EXPORT augur-${part} FILE augur-${part}.cmake NAMESPACE augur:: DESTINATION ${augur_package_directory})
  endforeach()
endif()
install(TARGETS augur_device EXPORT augur-device FILE_SET HEADERS)
install(EXPORT augur-device FILE augur-device.cmake NAMESPACE augur:: DESTINATION ${augur_package_directory})
if(augur_HAS_LLAMA)
  install(TARGETS augur_llama EXPORT augur-llama FILE_SET HEADERS)
  install(EXPORT augur-llama FILE augur-llama.cmake NAMESPACE augur:: DESTINATION ${augur_package_directory})
endif()

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/augur-config.cmake.in ${PROJECT_BINARY_DIR}/augur-config.cmake
                              INSTALL_DESTINATION ${augur_package_directory})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/augur-config-version.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/augur-config.cmake ${PROJECT_BINARY_DIR}/augur-config-version.cmake
        DESTINATION ${augur_package_directory})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
