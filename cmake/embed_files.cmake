# Writes OUTPUT, a C++ file that holds every *.json below FOLDER as a string literal, by its path in there.
# Called as: cmake -DOUTPUT=... -DFOLDER=... -DHEADER=... -DNAMESPACE=... -DFUNCTION=... -P embed_files.cmake
# HEADER declares `struct EmbeddedFile { std::string_view name, content; }` and the function that returns a span of them.
file(GLOB_RECURSE names RELATIVE "${FOLDER}" "${FOLDER}/*.json")
list(SORT names)
set(entries "")
foreach(name ${names})
  file(READ "${FOLDER}/${name}" content)
  string(FIND "${content}" ")file\"" clash)
  if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${name} holds the end mark of the string literal that should hold it")
  endif()
  string(APPEND entries "    {\"${name}\", R\"file(${content})file\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "// Generated from the files below ${FOLDER}.\n#include \"${HEADER}\"\n\nnamespace ${NAMESPACE} {\nnamespace {\n\nconstexpr EmbeddedFile kFiles[] = {\n${entries}};\n\n}  // namespace\n\nstd::span<const EmbeddedFile> ${FUNCTION}() { return kFiles; }\n\n}  // namespace ${NAMESPACE}\n")
