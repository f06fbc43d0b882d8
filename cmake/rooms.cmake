# Functions that make targets from folders, and the compiler options of all targets.

add_library(project_options INTERFACE)
target_compile_options(project_options INTERFACE -Wall -Wextra -Wshadow -Wconversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # It takes names of the other files of a unity build for shadowed ones, and warns of elided braces, a matter of style.
  target_compile_options(project_options INTERFACE -Wno-shadow -Wno-missing-braces)
endif()
# GCC 12 warns of overlapping copies inside std::string's operator+ (GCC bug 105651).
target_compile_options(project_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  # Outside the kernels sums have the same bits on every CPU. x86-64 without options has no fused multiply-add.
  target_compile_options(project_options INTERFACE -ffp-contract=off)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC notes at each pair of doubles that GCC 10 changed how they are passed.
  target_compile_options(project_options INTERFACE -Wno-psabi)
  if(CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 14)
    # The passes that join loads and stores to pairs, new in GCC 14, make wrong code of vectors of 64 bytes (seen in 14.2).
    set(without_pairing_pass -mno-early-ldp-fusion -mno-late-ldp-fusion)
  endif()
endif()
target_include_directories(project_options INTERFACE ${CMAKE_SOURCE_DIR})
# MPI's C++ bindings were removed from the standard. Their headers cause warnings and need another library.
target_compile_definitions(project_options INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
# HDF5 1.12 gave some structs new forms under their old names.
target_compile_definitions(project_options INTERFACE H5_USE_110_API)
if(TRAINMARK_WERROR)
  target_compile_options(project_options INTERFACE -Werror)
endif()
if(TRAINMARK_SANITIZE)
  target_compile_options(project_options INTERFACE -fsanitize=${TRAINMARK_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(project_options INTERFACE -fsanitize=${TRAINMARK_SANITIZE})
endif()

# For code whose speed does not matter: -O3 takes a third longer to compile.
add_library(quick_to_compile INTERFACE)
target_compile_options(quick_to_compile INTERFACE $<$<CONFIG:Release>:-O1>)

# add_room(name [EXCEPT file...]): a static library of every .cpp directly in this folder except these files.
function(add_room name)
  cmake_parse_arguments(ROOM "" "" "EXCEPT" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(file ${ROOM_EXCEPT})
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  if(NOT sources)
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/empty.cpp "")
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/empty.cpp)
  endif()
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PRIVATE project_options)
endfunction()

# embed_json(room FOLDER HEADER FUNCTION [NAME]): defines, in the target `room`, the function namespace::FUNCTION that
# HEADER declares. It returns every *.json below FOLDER, or only the file NAME in it, as a
# std::span<const base::EmbeddedFile> in the order of their names.
function(embed_json room folder header function)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/embedded_json.cpp)
  set(script ${CMAKE_SOURCE_DIR}/cmake/embed_json.cmake)
  set(name ${ARGN})
  if(name)
    set(files ${folder}/${name})
  else()
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${folder}/*.json)
  endif()
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${output} -DFOLDER=${folder} -DHEADER=${header} -DFUNCTION=${function} -DNAME=${name} -P ${script}
    DEPENDS ${files} ${script}
    COMMENT "Embedding ${folder}" VERBATIM)
  set_source_files_properties(${output} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_sources(${room} PRIVATE ${output})
endfunction()
