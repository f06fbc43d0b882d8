# What `cmake --install` puts where, and the Debian package. The program reads none of it by an absolute path, so the
# tree works wherever it is moved.
set(data ${CMAKE_INSTALL_DATADIR}/trainmark)
install(TARGETS trainmark RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY configs/ DESTINATION ${data}/configs PATTERN CMakeLists.txt EXCLUDE PATTERN jobs EXCLUDE)
install(DIRECTORY configs/jobs DESTINATION ${data} PATTERN write.sh EXCLUDE)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# The program itself prints its man pages, completion and schemas; it cannot run here when cross-compiling.
if(NOT CMAKE_CROSSCOMPILING)
  set(printed ${CMAKE_BINARY_DIR}/printed)
  set(schemas COMMAND ${CMAKE_COMMAND} -E make_directory ${printed}/schemas)
  foreach(command analyze compare)
    list(APPEND schemas COMMAND trainmark ${command} --schema > ${printed}/schemas/${command}.json)
  endforeach()
  if(TRAINMARK_RUNNER)
    list(APPEND schemas COMMAND trainmark doctor --schema > ${printed}/schemas/doctor.json)
    foreach(workload resnet50 dlrm cosmoflow deepcam)
      list(APPEND schemas COMMAND trainmark config ${CMAKE_SOURCE_DIR}/configs/${workload}/mlperf.json --schema
        > ${printed}/schemas/${workload}.json)
    endforeach()
  endif()
  add_custom_command(OUTPUT ${printed}/stamp
    COMMAND trainmark man --output ${printed}/man1
    COMMAND trainmark completion bash > ${printed}/trainmark
    COMMAND trainmark completion zsh > ${printed}/_trainmark
    ${schemas}
    COMMAND ${CMAKE_COMMAND} -E touch ${printed}/stamp
    DEPENDS trainmark VERBATIM COMMENT "Writing man pages, completion and schemas")
  add_custom_target(printed ALL DEPENDS ${printed}/stamp)
  install(DIRECTORY ${printed}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} OPTIONAL)
  install(DIRECTORY ${printed}/schemas DESTINATION ${data} OPTIONAL)
  install(FILES ${printed}/trainmark DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions OPTIONAL)
  install(FILES ${printed}/_trainmark DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions OPTIONAL)
endif()

# `cpack` in the build folder makes a Debian package for the release that it is built on. DEBFULLNAME and DEBEMAIL name
# its maintainer, as with Debian's own tools.
cmake_host_system_information(RESULT host QUERY FQDN)
set(packager "$ENV{DEBFULLNAME}")
if(NOT packager)
  set(packager "trainmark packager")
endif()
set(address "$ENV{DEBEMAIL}")
if(NOT address)
  set(address "root@${host}")
endif()
set(CPACK_PACKAGE_CONTACT "${packager} <${address}>")
string(TIMESTAMP CPACK_TRAINMARK_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(CPACK_TRAINMARK_FILES ${CMAKE_SOURCE_DIR}/cmake/debian)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_SOURCE_DIR}/cmake/debian/finish_tree.cmake)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR trainmark)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "MLPerf benchmark runner and result analyzer")
set(CPACK_PACKAGE_DESCRIPTION "Trains MLPerf benchmarks (ResNet-50, DLRM, CosmoFlow, DeepCAM) on CPU clusters, and
 analyses, checks and compares MLPerf logs.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL OFF)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
if(TRAINMARK_RUNNER)
  set(CPACK_DEBIAN_PACKAGE_RECOMMENDS openmpi-bin)
endif()
include(CPack)
