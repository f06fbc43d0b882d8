// The protocol buffer that TFRecord files of training samples hold: named lists of values.
// Hides tags, variable-length numbers and nested messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace dataset {

using BytesList = std::vector<std::span<const std::byte>>;
using FloatList = std::vector<float>;
using Int64List = std::vector<std::int64_t>;
/// std::monostate: a feature without a list.
using Feature = std::variant<std::monostate, BytesList, FloatList, Int64List>;
/// Features by name.
using Example = std::map<std::string, Feature, std::less<>>;

/// Field 1 of an Example: Features; field 1 of these: map entries (1 name, 2 Feature); fields of a
/// Feature: 1 bytes_list, 2 float_list, 3 int64_list, of which the last one counts; field 1 of a
/// list: its values, numbers packed or not. Other fields are skipped. The values of a BytesList lie
/// in `message`. Throws DataError for anything else, naming file and offset; `name` is the file's
/// and `offset` that of the message in it. Source: Protocol Buffers documentation, "Encoding";
/// TensorFlow, core/example/feature.proto.
Example parse_example(std::span<const std::byte> message, const std::string& name,
                      std::int64_t offset = 0);

/// Features in the order of their names, numbers packed: equal examples give equal bytes.
std::vector<std::byte> serialise_example(const Example& example);

}  // namespace dataset
