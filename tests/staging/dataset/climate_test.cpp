// Tests of climate samples in HDF5: round trips, types, layouts, damage, threads.
#include "staging/dataset/climate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <thread>

#include "runner/base/temporary_directory.h"
#include "staging/dataset/climates.h"
#include "staging/dataset/universes.h"

namespace dataset {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using Bytes = std::vector<std::byte>;

ClimateSample decoded(const Bytes& bytes, const ClimateShape& shape = kTinyClimate) {
  ClimateSample sample;
  decode_climate_into(bytes, shape, "c.h5", sample);
  return sample;
}

std::string climate_refusal(const Bytes& bytes, const ClimateShape& shape = kTinyClimate) {
  return data_error([&] { decoded(bytes, shape); });
}

TEST(Climate, ComesBackAsItWas) {
  const ClimateSample sample = made_climate(kTinyClimate, 7);
  EXPECT_TRUE(same(decoded(encode_climate(sample)), sample));
  const ClimateShape other{16, 32, 3};
  const ClimateSample larger = made_climate(other, 2);
  EXPECT_TRUE(same(decoded(encode_climate(larger), other), larger));
}

TEST(Climate, IsDecodedIntoMemoryThatIsThere) {
  ClimateSample sample = made_climate({9, 9}, 1);
  decode_climate_into(encode_climate(made_climate(kTinyClimate, 3)), kTinyClimate, "c.h5", sample);
  EXPECT_TRUE(same(sample, made_climate(kTinyClimate, 3)));
}

TEST(Climate, GivesTheSameBytesEachTime) {
  const Bytes first = encode_climate(made_climate(kTinyClimate, 3));
  EXPECT_NE(encode_climate(made_climate(kTinyClimate, 4)), first);
  EXPECT_EQ(encode_climate(made_climate(kTinyClimate, 3)), first);
}

TEST(Climate, RefusesShapesThatNoSampleHas) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  for (const ClimateShape& shape :
       std::vector<ClimateShape>{{0, 1}, {1, -1}, {1, 1, 0}, {kMost, kMost}}) {
    EXPECT_THROW(decoded({}, shape), base::ShapeError);
  }
  ClimateSample sample = made_climate(kTinyClimate);
  sample.labels.pop_back();
  EXPECT_THROW(encode_climate(sample), base::ShapeError);
  sample = made_climate(kTinyClimate);
  sample.values.pop_back();
  EXPECT_THROW(encode_climate(sample), base::ShapeError);
}

TEST(Climate, RefusesAnotherShape) {
  const Bytes file = encode_climate(made_climate(kTinyClimate));
  EXPECT_EQ(climate_refusal(file, {3, 6}),
            "c.h5: climate/data: expected float32 or float64 of shape [3, 6, 16], found float32 of "
            "shape [3, 5, 16]");
  EXPECT_THAT(climate_refusal(file, {5, 3}),
              HasSubstr("[5, 3, 16], found float32 of shape [3, 5, 16]"));
}

TEST(Climate, RefusesValuesThatAreNotFiniteAndNamesTheirPlace) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    ClimateSample sample = made_climate(kTinyClimate);
    sample.values[(2 * 5 + 3) * 16 + 11] = bad;
    EXPECT_THAT(climate_refusal(encode_climate(sample)),
                AllOf(StartsWith("c.h5: climate/data: expected finite values, found "),
                      HasSubstr(" at [2, 3, 11]")));
  }
  ClimateSample sample = made_climate(kTinyClimate);
  sample.values[0] = std::numeric_limits<float>::max();
  sample.values[1] = std::numeric_limits<float>::denorm_min();
  sample.values[2] = -0.0F;
  EXPECT_TRUE(same(decoded(encode_climate(sample)), sample));
}

TEST(Climate, RefusesLabelsThatAreNoClassAndNamesTheirPlace) {
  ClimateSample sample = made_climate(kTinyClimate);
  sample.labels[8] = 3;
  EXPECT_EQ(climate_refusal(encode_climate(sample)),
            "c.h5: climate/labels_0: expected labels 0, 1 and 2, found 3 at [1, 3]");
}

TEST(Climate, IsRefusedWhenCutAnywhere) {
  const Bytes file = encode_climate(made_climate(kTinyClimate));
  for (std::size_t size = 0; size < file.size(); ++size) {
    const Bytes part(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THAT(climate_refusal(part), StartsWith("c.h5: ")) << size;
  }
}

/// Writes a file like those of other programs: groups first, then arrays of any type and layout.
class OtherFile {
 public:
  explicit OtherFile(const std::filesystem::path& path) : path_(path) {
    file_ = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Gclose(H5Gcreate2(file_, "climate", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  }
  /// `chunk`: if not empty, the array is chunked, shuffled and deflated.
  OtherFile& add(const char* name, hid_t stored, hid_t given, const std::vector<hsize_t>& dims,
                 const void* data, const std::vector<hsize_t>& chunk = {}) {
    const auto rank = static_cast<int>(dims.size());
    const hid_t space = H5Screate_simple(rank, dims.data(), nullptr);
    const hid_t layout = H5Pcreate(H5P_DATASET_CREATE);
    if (!chunk.empty()) {
      H5Pset_chunk(layout, rank, chunk.data());
      H5Pset_shuffle(layout);
      H5Pset_deflate(layout, 4);
    }
    const hid_t set = H5Dcreate2(file_, name, stored, space, H5P_DEFAULT, layout, H5P_DEFAULT);
    H5Dwrite(set, given, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
    H5Dclose(set);
    H5Pclose(layout);
    H5Sclose(space);
    return *this;
  }
  Bytes bytes() {
    H5Fclose(file_);
    return read_bytes(path_);
  }

 private:
  const std::filesystem::path path_;
  hid_t file_;
};

class ClimateOfOthers : public testing::Test {
 protected:
  OtherFile file() const { return OtherFile(folder_.path() / "c.h5"); }
  Bytes with_data(hid_t stored, const std::vector<hsize_t>& chunk = {}) const {
    return add_labels(file().add("climate/data", stored, H5T_NATIVE_FLOAT, {3, 5, 16},
                                 sample_.values.data(), chunk),
                      H5T_STD_I64LE)
        .bytes();
  }
  Bytes with_labels(hid_t stored, const std::vector<hsize_t>& chunk = {}) const {
    OtherFile begun = file();
    begun.add("climate/data", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {3, 5, 16}, sample_.values.data());
    return add_labels(begun, stored, chunk).bytes();
  }
  /// Labels stored as type T, one of them `odd`.
  template <class T>
  Bytes with_values(hid_t type, T odd) const {
    std::vector<T> labels(15, T{});
    labels[7] = odd;
    OtherFile begun = file();
    begun.add("climate/data", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {3, 5, 16}, sample_.values.data());
    return begun.add("climate/labels_0", type, type, {3, 5}, labels.data()).bytes();
  }
  OtherFile& add_labels(OtherFile& to, hid_t stored, const std::vector<hsize_t>& chunk = {}) const {
    return to.add("climate/labels_0", stored, H5T_NATIVE_UINT8, {3, 5}, sample_.labels.data(),
                  chunk);
  }
  OtherFile& add_labels(OtherFile&& to, hid_t stored) const { return add_labels(to, stored); }
  const base::TemporaryDirectory folder_;
  const ClimateSample sample_ = made_climate(kTinyClimate, 5);
};

TEST_F(ClimateOfOthers, DoesNotTellWhenItWasWritten) {
  const std::string path = folder_.write("encoded.h5", text_of(encode_climate(sample_)));
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  for (const char* name : {"/", "climate", "climate/data", "climate/labels_0"}) {
    H5O_info_t info{};
    ASSERT_GE(H5Oget_info_by_name2(file, name, &info, H5O_INFO_TIME, H5P_DEFAULT), 0);
    EXPECT_EQ(info.mtime, 0) << name;
  }
  H5Fclose(file);
}

TEST_F(ClimateOfOthers, HasValuesOfEitherPrecisionByteOrderAndLayout) {
  for (const hid_t type : {H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE}) {
    EXPECT_TRUE(same(decoded(with_data(type)), sample_));
    EXPECT_TRUE(same(decoded(with_data(type, {2, 2, 16})), sample_));
    EXPECT_TRUE(same(decoded(with_data(type, {3, 5, 16})), sample_));
  }
}

TEST_F(ClimateOfOthers, HasLabelsOfAnyIntegerOrFloatType) {
  for (const hid_t type :
       {H5T_STD_I8LE,  H5T_STD_U8LE,   H5T_STD_I8BE,   H5T_STD_U8BE,   H5T_STD_I16LE,
        H5T_STD_U16LE, H5T_STD_I16BE,  H5T_STD_U16BE,  H5T_STD_I32LE,  H5T_STD_U32LE,
        H5T_STD_I32BE, H5T_STD_U32BE,  H5T_STD_I64LE,  H5T_STD_U64LE,  H5T_STD_I64BE,
        H5T_STD_U64BE, H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE, H5T_IEEE_F64BE}) {
    EXPECT_TRUE(same(decoded(with_labels(type)), sample_));
    EXPECT_TRUE(same(decoded(with_labels(type, {2, 3})), sample_));
  }
}

hid_t half_type(H5T_order_t order) {
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, 10, 5, 0, 10);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, 15);
  H5Tset_order(type, order);
  return type;
}

TEST_F(ClimateOfOthers, HasLabelsOfHalfPrecision) {
  for (const H5T_order_t order : {H5T_ORDER_LE, H5T_ORDER_BE}) {
    const hid_t type = half_type(order);
    EXPECT_TRUE(same(decoded(with_labels(type)), sample_));
    H5Tclose(type);
  }
  const hid_t type = half_type(H5T_ORDER_LE);
  for (const auto& [bits, words] : {std::pair(0x3E00, "found 1.5 at [1, 2]"),
                                    {0x7E00, "found nan"},
                                    {0xBC00, "found -1"},
                                    {0x0001, "found 5.96"}}) {
    EXPECT_THAT(climate_refusal(with_values(type, static_cast<std::uint16_t>(bits))),
                HasSubstr(words));
  }
  H5Tclose(type);
}

TEST_F(ClimateOfOthers, RefusesLabelsBetweenAndBeyondTheClasses) {
  EXPECT_EQ(climate_refusal(with_values(H5T_IEEE_F32LE, 0.5F)),
            "c.h5: climate/labels_0: expected labels 0, 1 and 2, found 0.5 at [1, 2]");
  EXPECT_THAT(climate_refusal(with_values(H5T_IEEE_F64LE, std::nan(""))), HasSubstr("found nan"));
  EXPECT_THAT(climate_refusal(with_values(H5T_STD_I8LE, std::int8_t{-1})), HasSubstr("found -1"));
  EXPECT_THAT(climate_refusal(with_values(H5T_STD_U16LE, std::uint16_t{258})),
              HasSubstr("found 258"));
  EXPECT_THAT(climate_refusal(with_values(H5T_STD_I64LE, (std::int64_t{1} << 32) + 1)),
              HasSubstr("found 4294967297"));
  EXPECT_THAT(climate_refusal(with_values(H5T_STD_U64LE, ~std::uint64_t{})),
              HasSubstr("found 1.8"));
}

TEST_F(ClimateOfOthers, RefusesOtherTypes) {
  EXPECT_EQ(climate_refusal(with_data(H5T_STD_I32LE)),
            "c.h5: climate/data: expected float32 or float64 of shape [3, 5, 16], found int32 of "
            "shape [3, 5, 16]");
  EXPECT_THAT(climate_refusal(with_labels(H5T_NATIVE_LDOUBLE)),
              AllOf(HasSubstr("labels_0: expected integers or floating-point numbers of shape [3, "
                              "5], found float"),
                    HasSubstr("of shape [3, 5]")));
  const hid_t text = H5Tcopy(H5T_C_S1);
  std::vector<char> letters(15, 'a');
  OtherFile begun = file();
  begun.add("climate/data", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {3, 5, 16}, sample_.values.data());
  EXPECT_THAT(
      climate_refusal(begun.add("climate/labels_0", text, text, {3, 5}, letters.data()).bytes()),
      HasSubstr("found another type of shape"));
  H5Tclose(text);
}

TEST_F(ClimateOfOthers, RefusesValuesThatFloatsCannotHold) {
  std::vector<double> values(240, 1.0);
  values[17] = 1e300;
  OtherFile begun = file();
  begun.add("climate/data", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, {3, 5, 16}, values.data());
  EXPECT_EQ(climate_refusal(add_labels(begun, H5T_STD_I8LE).bytes()),
            "c.h5: climate/data: expected finite values, found inf at [0, 1, 1]");
}

TEST_F(ClimateOfOthers, RefusesMissingArraysAndOtherShapes) {
  EXPECT_EQ(climate_refusal(file().bytes()), "c.h5: climate/data: expected a dataset, found none");
  EXPECT_EQ(climate_refusal(file()
                                .add("climate/data", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {3, 5, 16},
                                     sample_.values.data())
                                .bytes()),
            "c.h5: climate/labels_0: expected a dataset, found none");
  OtherFile begun = file();
  begun.add("climate/data", H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, {3, 5, 16}, sample_.values.data());
  EXPECT_THAT(
      climate_refusal(
          begun.add("climate/labels_0", H5T_STD_I8LE, H5T_NATIVE_UINT8, {15}, sample_.labels.data())
              .bytes()),
      HasSubstr("of shape [3, 5], found int8 of shape [15]"));
  EXPECT_THAT(climate_refusal(encode_universe(made_universe(kTiny), UniverseFormat::kHdf5)),
              HasSubstr("climate/data: expected a dataset, found none"));
  EXPECT_THAT(climate_refusal(bytes_of("no file of HDF5")),
              HasSubstr("c.h5: expected an HDF5 file"));
}

TEST_F(ClimateOfOthers, RefusesValuesThatAreInAnotherFile) {
  const Bytes whole = with_data(H5T_IEEE_F32LE);
  const std::string path = folder_.write("other.h5", text_of(whole));
  const std::string linked = (folder_.path() / "linked.h5").string();
  const hid_t file = H5Fcreate(linked.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  H5Lcreate_external(path.c_str(), "climate", file, "climate", H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
  EXPECT_THAT(climate_refusal(read_bytes(linked)),
              HasSubstr("climate/data: expected a dataset, found none ('climate' is a link to "
                        "another file, which is not followed)"));
}

/// Flips bits in each byte in turn.
void expect_no_crash(const Bytes& file) {
  constexpr std::array kFlips = {std::byte{0x01}, std::byte{0x80}, std::byte{0xff}};
  for (std::size_t i = 0; i < file.size(); ++i) {
    Bytes damaged = file;
    damaged[i] ^= kFlips[i % kFlips.size()];
    try {
      const ClimateSample sample = decoded(damaged);
      EXPECT_EQ(sample.values.size(), 240u);
      EXPECT_THAT(sample.labels, testing::Each(testing::Lt(kClimateClasses)));
    } catch (const base::DataError& e) {
      EXPECT_THAT(e.what(), StartsWith("c.h5")) << i;
    }
  }
}

TEST_F(ClimateOfOthers, IsRefusedOrHasValuesAndLabelsInRangeWhateverByteIsDamaged) {
  expect_no_crash(encode_climate(sample_));
  expect_no_crash(with_labels(H5T_IEEE_F64BE));
  expect_no_crash(with_data(H5T_IEEE_F32BE, {2, 3, 16}));
}

TEST_F(ClimateOfOthers, IsDecodedByManyThreadsAtOnce) {
  const std::vector<Bytes> files = {encode_climate(sample_), with_data(H5T_IEEE_F64BE, {2, 2, 8}),
                                    with_labels(H5T_IEEE_F32BE, {1, 5})};
  std::array<int, 6> right{};
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      ClimateSample got;
      for (std::size_t k = 0; k < 100; ++k) {
        decode_climate_into(files[(t + k) % files.size()], kTinyClimate, "c.h5", got);
        right[t] += same(got, sample_) ? 1 : 0;
        if (k % 20 == 0) encode_climate(sample_);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(right, testing::Each(100));
}

}  // namespace
}  // namespace dataset
