// TensorFlow's Example, the protocol buffer in TFRecord files: named lists of values.
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

/// Field 1 of an Example: Features; field 1 of Features: map entries (1 name, 2 Feature); fields of
/// a Feature: 1 bytes_list, 2 float_list, 3 int64_list, the last of which wins; field 1 of a list:
/// its values, numbers packed or not. Other fields are skipped. The values of a BytesList point
/// into `message`. Throws DataError for anything else, naming the file (`name`) and the position in
/// it; `offset` is where `message` begins in the file. Source: Protocol Buffers documentation,
/// "Encoding"; TensorFlow, core/example/feature.proto.
Example parse_example(std::span<const std::byte> message, const std::string& name,
                      std::int64_t offset = 0);

/// Features in the order of their names, numbers packed: equal examples give equal bytes.
std::vector<std::byte> serialise_example(const Example& example);

}  // namespace dataset
