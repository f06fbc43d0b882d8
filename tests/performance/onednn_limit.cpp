// Measures the throughput limit set by ResNet-50's convolutions alone, independently of trainmark's
// code, to check `trainmark bench`.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <compare>
#include <cstdint>
#include <dnnl.hpp>
#include <exception>
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

using dnnl::memory;

constexpr int kFailed = 1, kWrongArguments = 2;

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Options {
  std::int64_t batch = 32;
  std::int64_t image_size = 224;  ///< height and width
  memory::data_type precision = memory::data_type::f32;
  std::int64_t repetitions = 5;
  bool help = false;
};

void print_usage() {
  const Options standard;
  const auto line = [](const auto&... parts) { (std::cout << ... << parts) << "\n"; };
  line("usage: onednn_limit [OPTIONS]\n");
  line("Runs each convolution of ResNet-50 v1.5 alone: forward, gradient of data (not of the");
  line("images) and of weights, in the layouts that oneDNN chooses. Prints as JSON how many");
  line("samples/s a training step would reach that were nothing else, and the seconds of each");
  line("direction. OMP_NUM_THREADS says on how many threads.\n");
  line("  --batch N               samples (", standard.batch, ")");
  line("  --image-size N          height and width (", standard.image_size, ")");
  line("  --precision f32|bf16    of all but gradients of weights, which are f32 (f32)");
  line("  --repetitions N         the best time of each counts (", standard.repetitions, ")");
}

std::int64_t whole_number(const std::string& option, const std::string& text, std::int64_t least,
                          std::int64_t most) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < least || value > most) {
    throw UsageError(option + ": expected a whole number from " + std::to_string(least) + " to " +
                     std::to_string(most) + ", got '" + text + "'");
  }
  return value;
}

memory::data_type parse_precision(const std::string& text) {
  if (text == "f32") return memory::data_type::f32;
  if (text == "bf16") return memory::data_type::bf16;
  throw UsageError("--precision: expected f32 or bf16, got '" + text + "'");
}

Options parse_options(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    const auto value = [&]() -> const std::string& {
      if (++i == arguments.size()) throw UsageError(name + ": expected a value after it");
      return arguments[i];
    };
    if (name == "--batch") {
      options.batch = whole_number(name, value(), 1, 16384);
    } else if (name == "--image-size") {
      options.image_size = whole_number(name, value(), 8, 4096);
    } else if (name == "--precision") {
      options.precision = parse_precision(value());
    } else if (name == "--repetitions") {
      options.repetitions = whole_number(name, value(), 1, 1'000'000);
    } else if (name == "--help" || name == "-h") {
      options.help = true;
    } else {
      throw UsageError("expected --batch, --image-size, --precision or --repetitions, got '" +
                       name + "'");
    }
  }
  return options;
}

/// A convolution of square images with a square kernel, without bias.
struct Convolution {
  std::int64_t src_channels = 0, dst_channels = 0;
  std::int64_t kernel = 0, stride = 0;
  std::int64_t src_extent = 0;
  bool reads_images = false;  ///< reads the network's input: no data gradient

  auto operator<=>(const Convolution&) const = default;
  std::int64_t dst_extent() const { return (src_extent + stride - 1) / stride; }
  /// Zeros before and after each row. As in MLPerf's reference, a 3x3 convolution of stride 2 gets
  /// minimal padding: only after an even extent, on both sides of an odd one.
  memory::dim padding_begin() const {
    return kernel == 3 && stride == 2 ? src_extent % 2 : kernel / 2;
  }
  memory::dim padding_end() const { return kernel / 2; }
  std::string name() const {
    const auto times = [](std::int64_t n) { return std::to_string(n) + "x" + std::to_string(n); };
    return times(kernel) + " convolution of stride " + std::to_string(stride) + " from " +
           std::to_string(src_channels) + " to " + std::to_string(dst_channels) + " channels of " +
           times(src_extent);
  }
};

/// ResNet-50's convolutions with their multiplicities.
/// Source: He et al., arXiv:1512.03385, table 1; v1.5 has the stride of a stage in the 3x3
/// convolution of its first block, not in the 1x1 before it.
std::map<Convolution, int> resnet50(std::int64_t image_size) {
  constexpr std::array kBlocks = {3, 4, 6, 3};
  constexpr std::int64_t kExpansion = 4;
  std::map<Convolution, int> counts;
  const Convolution stem{3, 64, 7, 2, image_size, true};
  ++counts[stem];
  std::int64_t extent = (stem.dst_extent() + 1) / 2;  // max pool of stride 2
  std::int64_t channels = stem.dst_channels;
  std::int64_t width = stem.dst_channels;
  for (std::size_t stage = 0; stage < kBlocks.size(); ++stage, width *= 2) {
    for (int block = 0; block < kBlocks[stage]; ++block) {
      const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      const Convolution middle{width, width, 3, stride, extent};
      ++counts[{channels, width, 1, 1, extent}];
      ++counts[middle];
      ++counts[{width, kExpansion * width, 1, 1, middle.dst_extent()}];
      if (block == 0) ++counts[{channels, kExpansion * width, 1, stride, extent}];  // shortcut
      extent = middle.dst_extent();
      channels = kExpansion * width;
    }
  }
  return counts;
}

enum Direction { kForward, kData, kWeights };

/// Operands of a run by role.
enum Operand { kFirst, kSecond, kResult, kOperands };

/// A primitive that reads two operands and writes one.
struct Run {
  Direction direction = kForward;
  int count = 0;  ///< number of convolutions of this shape
  dnnl::primitive primitive;
  std::array<memory::desc, kOperands> operands;
  std::array<int, kOperands> arguments = {};  ///< oneDNN's argument ids
  std::unordered_map<int, memory> bound = {};
  double best_s = std::numeric_limits<double>::infinity();
};

memory::desc any_layout(const memory::dims& dims, memory::data_type type) {
  return {dims, type, memory::format_tag::any};
}

/// A forward primitive's description, or with a hint a backward one's: oneDNN 3 has no descriptors
/// of operations.
template <class Primitive, class... Hint, class... Arguments>
typename Primitive::primitive_desc described(const dnnl::engine& engine,
                                             const std::tuple<Hint...>& hint,
                                             const Arguments&... arguments) {
#if DNNL_VERSION_MAJOR >= 3
  return std::apply(
      [&](const auto&... forward) {
        return typename Primitive::primitive_desc(engine, arguments..., forward...);
      },
      hint);
#else
  return std::apply(
      [&](const auto&... forward) {
        return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), engine,
                                                  forward...);
      },
      hint);
#endif
}

/// The primitives that a training step runs for a convolution. Throws dnnl::error.
std::vector<Run> runs_of(const Convolution& one, int count, const Options& options,
                         const dnnl::engine& engine) {
  const auto type = options.precision;
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const memory::dim extent = one.dst_extent();
  const memory::desc src =
      any_layout({options.batch, one.src_channels, one.src_extent, one.src_extent}, type);
  const memory::desc dst = any_layout({options.batch, one.dst_channels, extent, extent}, type);
  const memory::dims filter = {one.dst_channels, one.src_channels, one.kernel, one.kernel};
  const memory::desc weights = any_layout(filter, type);
  const memory::desc gradient = any_layout(filter, memory::data_type::f32);
  const memory::dims stride(2, one.stride), begin(2, one.padding_begin()),
      end(2, one.padding_end());

  const auto forward = described<dnnl::convolution_forward>(
      engine, std::tuple<>(), dnnl::prop_kind::forward_training, algorithm, src, weights, dst,
      stride, begin, end);
  std::vector<Run> runs = {{kForward,
                            count,
                            dnnl::convolution_forward(forward),
                            {forward.src_desc(), forward.weights_desc(), forward.dst_desc()},
                            {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}}};
  if (!one.reads_images) {
    const auto data = described<dnnl::convolution_backward_data>(
        engine, std::tuple(forward), algorithm, src, weights, dst, stride, begin, end);
    runs.push_back({kData,
                    count,
                    dnnl::convolution_backward_data(data),
                    {data.diff_dst_desc(), data.weights_desc(), data.diff_src_desc()},
                    {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC}});
  }
  const auto update = described<dnnl::convolution_backward_weights>(
      engine, std::tuple(forward), algorithm, src, gradient, dst, stride, begin, end);
  runs.push_back({kWeights,
                  count,
                  dnnl::convolution_backward_weights(update),
                  {update.src_desc(), update.diff_dst_desc(), update.diff_weights_desc()},
                  {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS}});
  return runs;
}

/// Fills the block with random numbers in [-1, 1).
void randomize(const memory& block, memory::data_type type, std::mt19937& random) {
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  const auto fill = [&](const auto& draw) {
    const auto count = block.get_desc().get_size() / sizeof(draw());
    auto* const numbers = static_cast<decltype(draw())*>(block.get_data_handle());
    std::generate(numbers, numbers + count, draw);
  };
  if (type == memory::data_type::bf16) {
    fill([&] {  // a bfloat16 is the upper half of a float
      return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(uniform(random)) >> 16);
    });
  } else {
    fill([&] { return uniform(random); });
  }
}

class Measurement {
 public:
  /// Throws std::runtime_error if oneDNN does not support a convolution.
  explicit Measurement(const Options& options) {
    for (const auto& [convolution, count] : resnet50(options.image_size)) {
      try {
        for (Run& run : runs_of(convolution, count, options, engine_)) {
          runs_.push_back(std::move(run));
        }
      } catch (const dnnl::error& error) {
        throw std::runtime_error(convolution.name() + ": oneDNN refused: " + error.what());
      }
    }
    give_memory(options.precision);
  }

  /// Runs each primitive once more.
  void repeat() {
    for (Run& run : runs_) {
      const auto began = std::chrono::steady_clock::now();
      run.primitive.execute(stream_, run.bound);
      stream_.wait();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
      run.best_s = std::min(run.best_s, took.count());
    }
  }

  /// Sum of the best times over all convolutions of the network.
  double seconds(Direction direction) const {
    double sum = 0.0;
    for (const Run& run : runs_) {
      if (run.direction == direction) sum += run.count * run.best_s;
    }
    return sum;
  }

 private:
  /// Allocates three blocks that all runs share: two random ones that are only read, and one that
  /// is only written.
  void give_memory(memory::data_type type) {
    std::mt19937 random(50);
    for (std::size_t operand = 0; operand < kOperands; ++operand) {
      std::size_t bytes = 0;
      for (const Run& run : runs_) bytes = std::max(bytes, run.operands[operand].get_size());
      const memory block(
          {{static_cast<memory::dim>(bytes)}, memory::data_type::u8, memory::format_tag::a},
          engine_);
      randomize(block, type, random);
      blocks_.push_back(block);
      for (Run& run : runs_) {
        run.bound[run.arguments[operand]] =
            memory(run.operands[operand], engine_, block.get_data_handle());
      }
    }
  }

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<memory> blocks_;
  std::vector<Run> runs_;
};

void print_limit(const Options& options) {
  Measurement measurement(options);
  for (std::int64_t i = 0; i < options.repetitions; ++i) measurement.repeat();
  const double forward = measurement.seconds(kForward), data = measurement.seconds(kData),
               weights = measurement.seconds(kWeights);
  const double limit = static_cast<double>(options.batch) / (forward + data + weights);
  std::cout << std::setprecision(9) << "{\"limit_samples_per_s\": " << limit
            << ", \"forward_s\": " << forward << ", \"data_s\": " << data
            << ", \"weights_s\": " << weights << "}\n";
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = parse_options({argv + 1, argv + argc});
    if (options.help) {
      print_usage();
    } else {
      print_limit(options);
    }
    return 0;
  } catch (const UsageError& error) {
    std::cerr << "onednn_limit: " << error.what() << "\n";
    return kWrongArguments;
  } catch (const std::bad_alloc&) {
    std::cerr << "onednn_limit: memory is short\n";
  } catch (const std::exception& error) {
    std::cerr << "onednn_limit: " << error.what() << "\n";
  }
  return kFailed;
}
