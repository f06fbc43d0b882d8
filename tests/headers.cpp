// Empty: compiled to precompile the headers that most tests include (CMakeLists.txt).
