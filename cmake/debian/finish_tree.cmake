# Run by CPack on the installed tree: adds what only Debian asks for, and compresses as Debian does.
find_program(GZIP gzip REQUIRED)
set(tree ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share)
set(papers ${tree}/doc/trainmark)
file(COPY ${CPACK_TRAINMARK_FILES}/copyright DESTINATION ${papers})
file(REMOVE ${papers}/LICENSE)
configure_file(${CPACK_TRAINMARK_FILES}/changelog.in ${papers}/changelog.Debian @ONLY)
file(GLOB pages ${tree}/man/man1/*.1)
execute_process(COMMAND ${GZIP} -9n ${papers}/changelog.Debian ${pages} COMMAND_ERROR_IS_FATAL ANY)
