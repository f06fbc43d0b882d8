// Files of methods that were measured to be faster than those of the table (nn/products/method.h).
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace parallel {

/// Methods by key, as nn::Arithmetic has them. Throws ConfigError that names the file and the place
/// for one that cannot be read, and for a key or a method that is none.
std::map<std::string, std::string> read_methods(const std::string& path);

/// The document that read_methods() reads. `threads`: with which it was measured, for people.
nlohmann::json methods_document(const std::map<std::string, std::string>& methods, int threads);

}  // namespace parallel
