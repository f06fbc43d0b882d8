// Files of convolution methods that were measured to be faster than the program's own choice
// (nn/products/method.h).
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace parallel {

/// Methods by key, as in nn::Arithmetic. Throws ConfigError, which names the file and the place in
/// it, if the file cannot be read, its JSON does not have the expected form, or a product or a
/// method is unknown.
std::map<std::string, std::string> read_methods(const std::string& path);

/// The document that read_methods() reads. `threads`: compute threads of the rank during the
/// measurement, recorded for the reader.
nlohmann::json methods_document(const std::map<std::string, std::string>& methods, int threads);

}  // namespace parallel
