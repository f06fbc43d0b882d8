// Nothing: compiled so that the headers that most tests read are (CMakeLists.txt).
// Hides nothing.
