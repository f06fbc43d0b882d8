// A network as a list of operations on named parameters, described once, without batch size, layout
// or memory. Executor makes primitives, memory plan and schedule from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nn {

/// Channels and spatial extents of one sample, e.g. {3, {224, 224}}; empty spatial: a vector.
struct SampleShape {
  std::int64_t channels = 0;
  std::vector<std::int64_t> spatial;
  /// Width in voxels of the margin (halo) stored around the extents, on every side; only for
  /// volumes, which are stored channels last. It holds zeros, or the voxels of a neighbouring rank.
  std::int64_t margin = 0;
  /// Inputs: stored channels last, as volumes with a margin always are.
  bool channels_last = false;
  std::int64_t spatial_size() const;  ///< product of the spatial extents, without margin
  /// Extents including the margin.
  std::vector<std::int64_t> stored() const;
  std::int64_t size() const;  ///< elements stored, margin included
};

/// How a parameter's initial values are drawn. `spread` is a standard deviation, except for
/// kUniform, where it is the bound.
enum class Distribution { kConstant, kNormal, kTruncatedNormal, kUniform };
struct Initializer {
  Distribution distribution = Distribution::kConstant;
  double spread = 0.0;
  double constant = 0.0;
};

/// A trainable tensor under the reference model's name; shape is plain row-major.
struct ParameterSpec {
  std::string name;
  std::vector<std::int64_t> shape;
  Initializer initializer;
  bool decays =
      true;  ///< false for batch-norm parameters and biases: no weight decay, LARS trust ratio 1
  std::int64_t count() const;
};

/// Zeros around the spatial extents, per axis; asymmetric as TensorFlow's SAME needs.
struct Padding {
  std::vector<std::int64_t> begin, end;
};
/// The same (begin, end) on each of `axes` axes.
Padding uniform_padding(std::int64_t axes, std::int64_t begin, std::int64_t end);
/// TensorFlow's SAME: total = max((ceil(in/s)-1)*s + k - in, 0), begin = total/2 rounded down, the
/// rest at the end.
Padding same_padding(const std::vector<std::int64_t>& in, std::int64_t kernel, std::int64_t stride);

using ValueId = int;
using ParameterId = int;

enum class OperationKind {
  kInput,
  kConvolution,
  kBatchNorm,
  kMaxPool,
  kGlobalAveragePool,
  kFullyConnected,
  kDotInteraction,
  kConvolutionPool,
  kActivation,
  kGatherVolume,
  kDepthwise,
  kDeconvolution,
  kConcatenation,
  kSpread,
  kBiased,
  kSum,
  kResponseNorm,
  kFlatten
};

enum class ActivationFunction { kLeakyRelu, kTanh, kIdentity };

/// Numbers of a local response normalization.
struct ResponseNorm {
  std::int64_t size = 5;  ///< channels of a window, odd
  double alpha = 1e-4, beta = 0.75, k = 1.0;
};

/// One operation; only the members of its kind are set.
struct Operation {
  OperationKind kind = OperationKind::kInput;
  std::string name;
  ValueId src = -1;
  std::optional<ValueId> residual;  ///< batch norm: added before the ReLU; sum: added
  std::optional<ValueId> features;  ///< dot interaction: other vectors, [count * src channels]
  std::vector<ValueId> others;      ///< concatenation: the values after src, in order
  std::vector<std::int64_t> kernel, stride;
  std::vector<std::int64_t> dilation;  ///< convolution, depthwise: distance between taps
  Padding padding;
  std::int64_t groups = 1;              ///< convolution
  ParameterId weights = -1, bias = -1;  ///< batch norm: gamma and beta, if it has any
  int statistics = -1;                  ///< batch norm: index into Network::statistics()
  double epsilon = 0.0, momentum = 0.0;
  bool relu = false;
  bool wants_gradient = false;  ///< input: the backward pass also computes d loss / d input
  bool inputs_first = false;    ///< fully connected: weights [C, outputs]
  double slope = 0.0;           ///< of a LeakyReLU for values <= 0
  ActivationFunction function = ActivationFunction::kLeakyRelu;
  double scale = 1.0;         ///< activation: factor of tanh
  double dropout = 0.0;       ///< activation: probability that training drops a value
  bool is_part = false;       ///< convolution_pool: other ranks have the neighbouring parts
  bool gives_floats = false;  ///< the output is stored as floats at any precision
  std::int64_t depth_parts = 1, height_parts = 1;  ///< gather_volume
  ResponseNorm response;                           ///< response_norm
  SampleShape dst;
};
/// Whether it is atrous: some dilation is above 1.
bool is_atrous(const Operation& operation);
/// Whether its backward pass reads its own output, which tells what passed the ReLU.
bool keeps_output(const Operation& operation);

/// Running statistics of one batch norm, `channels` means and variances.
struct StatisticsSpec {
  std::string name;  ///< "bn1": saved as bn1.running_mean and bn1.running_var
  std::int64_t channels = 0;
};

struct ConvolutionSpec {
  std::string name;  ///< weights are `name`.weight
  std::int64_t channels = 0, kernel = 1, stride = 1;
  Padding padding;
  Initializer initializer;
  std::int64_t dilation = 1;             ///< distance between taps, in pixels
  std::optional<Initializer> bias = {};  ///< `name`.bias, if present
  std::int64_t groups =
      1;  ///< each convolves its share of the source's channels to its share of dst
};
struct DepthwiseSpec {
  std::string name;  ///< weights are `name`.weight
  std::int64_t stride = 1, dilation = 1;
  Initializer initializer;
};
struct DeconvolutionSpec {
  std::string name;  ///< weights are `name`.weight
  std::int64_t channels = 0, kernel = 1, stride = 1;
  /// Of the convolution that this is the transpose of, which maps the destination to the source.
  Padding padding;
  Initializer initializer;
};
struct BatchNormSpec {
  std::string name;
  bool relu = true;
  double gamma = 1.0;  ///< initial value
  double epsilon = 1e-5;
  double momentum = 0.1;  ///< weight of the new value in the running statistics
  bool affine = true;     ///< has gamma and beta; else 1 and 0
};
struct PoolSpec {
  std::int64_t kernel = 1, stride = 1;
  Padding padding;
};
/// Naming and layout of parameters. kTorch: name.weight [outputs, inputs ...], name.bias; kKeras:
/// name/kernel:0 [... inputs, outputs], name/bias:0; kPointwise: as a 1x1 convolution of images,
/// name.weight [outputs, inputs, 1, 1], without bias.
enum class ParameterStyle { kTorch, kKeras, kPointwise };

struct FullyConnectedSpec {
  std::string name;
  std::int64_t outputs = 0;
  Initializer weights, bias;
  bool relu = false;  ///< requires Network::is_vector_layer() and a bias
  ParameterStyle style = ParameterStyle::kTorch;
  bool decays = true;    ///< whether the weights decay
  bool has_bias = true;  ///< kPointwise never has one
};

struct BiasedSpec {
  std::string name;
  std::optional<Initializer> bias = {};  ///< `owner`.bias [C], if present
  bool relu = false;
  std::string owner = {};  ///< the layer whose bias it is; "": `name`
};

/// Parameters in Keras's style; none of them decays.
struct ConvolutionPoolSpec {
  std::string name;
  std::int64_t channels = 0;  ///< a multiple of 16
  Initializer weights, bias;
  double slope = 0.0;  ///< of the LeakyReLU, above 0
  /// kVolume: with a margin, source of another convolution_pool. kVector: flattened, voxels
  /// row-major, channels innermost. kPart, kPartOfVector: without margin, source of a gather_volume
  /// that assembles a volume or a vector.
  enum class Gives { kVolume, kVector, kPart, kPartOfVector };
  Gives gives = Gives::kVolume;
  bool is_part = false;  ///< the source is a part of a volume; other ranks have the rest
};

struct ActivationSpec {
  std::string name;
  ActivationFunction function = ActivationFunction::kLeakyRelu;
  double slope = 0.0;    ///< kLeakyRelu
  double scale = 1.0;    ///< kTanh
  double dropout = 0.0;  ///< probability that training sets a value to 0
};

enum class InputGradient { kNone, kWanted };

/// Builder and result. Each of the building calls checks shapes (ShapeError), appends one operation
/// and returns its value.
class Network {
 public:
  /// All inputs come before the other operations.
  ValueId input(const SampleShape& shape, InputGradient gradient = InputGradient::kNone);
  /// dst = src * weights + bias?; weights [C_out, C_in / groups, K...]; dst extent
  /// (in + begin + end - (K - 1) dilation - 1) / stride + 1 per axis.
  ValueId convolution(ValueId src, const ConvolutionSpec& spec);
  /// Convolves each channel of an image with its own 3 x 3 kernel; the zero padding equals the
  /// dilation. weights [C, 1, 3, 3]. With a stride above 1 the dilation is 1.
  ValueId depthwise_convolution(ValueId src, const DepthwiseSpec& spec);
  /// The transpose of a convolution of images: weights [C_in, C_out, K, K]; dst extent (in - 1)
  /// stride - begin - end + K per axis. As the network's last operation it gives plain (NCHW)
  /// floats at any precision.
  ValueId deconvolution(ValueId src, const DeconvolutionSpec& spec);
  /// Concatenates the values along the channel axis.
  ValueId concatenation(const std::vector<ValueId>& values);
  /// Broadcasts a vector over an image: dst[c] = relu(weights[c] src[c] + bias[c]) at every pixel.
  /// Parameters name.weights and name.bias [C, 1, 1] are initially 1 and 0.
  ValueId spread(ValueId src, const std::string& name, const std::vector<std::int64_t>& spatial);
  /// dst = relu?(gamma (src - mean) / sqrt(var + eps) + beta + residual).
  ValueId batch_norm(ValueId src, const BatchNormSpec& spec, std::optional<ValueId> residual = {});
  /// dst = src + other, values of one shape.
  ValueId sum(const std::string& name, ValueId src, ValueId other);
  /// dst_c = src_c (k + alpha / size sum src_j^2)^-beta over the `size` channels j around c of an
  /// image; channels outside count as 0. Source: Krizhevsky et al., NIPS 2012, with alpha divided
  /// by the size, as Caffe and PyTorch have it.
  ValueId response_norm(ValueId src, const std::string& name, const ResponseNorm& numbers);
  /// An image as a vector, ordered by channel, row, column.
  ValueId flatten(ValueId src);
  /// Maximum over windows; padding counts as minus infinity.
  ValueId max_pool(ValueId src, const PoolSpec& spec);
  /// Mean over the spatial extents: [C, ...] -> [C].
  ValueId global_average_pool(ValueId src);
  /// dst = relu?(src + bias?) of an image or a vector. Takes an input stored as plain planes to the
  /// layout that the layers of images want.
  ValueId biased(ValueId src, const BiasedSpec& spec);
  /// dst = relu?(weights src + bias?); weights [outputs, C].
  ValueId fully_connected(ValueId src, const FullyConnectedSpec& spec);
  /// Dot products of all pairs of vectors: with x_0 = src [C] and x_1 ... x_F-1 = features [(F-1)
  /// C], dst [C + F(F-1)/2] is src, then x_i . x_j for all j < i, row by row: (1,0), (2,0), (2,1),
  /// (3,0) ... Source: Naumov et al., arXiv:1906.00091, interaction "dot" without self-interaction.
  ValueId dot_interaction(ValueId src, ValueId features);

  /// dst = max over 2 x 2 x 2 voxels of leaky_relu(src * weights + bias), with 3 x 3 x 3 taps and
  /// zero padding. src has a margin of 1 voxel; its extents are even, and dst has half of them.
  ValueId convolution_pool(ValueId src, const ConvolutionPoolSpec& spec);
  /// Assembles a whole volume from depth_parts x height_parts parts, of which src is one, with a
  /// margin of 1 voxel or, if it `flattens`, as a vector. All ranks that share a sample compute the
  /// same from there on; the caller divides the loss by their number.
  ValueId gather_volume(ValueId src, std::int64_t depth_parts, std::int64_t height_parts,
                        bool flattens);
  /// dst = function(src) of vectors; training drops values at random and divides the others by the
  /// probability of keeping them.
  /// Source: Srivastava et al., JMLR 15 (2014).
  ValueId activation(ValueId src, const ActivationSpec& spec);

  const std::vector<Operation>& operations() const { return operations_; }
  const std::vector<ParameterSpec>& parameters() const { return parameters_; }
  const std::vector<StatisticsSpec>& statistics() const { return statistics_; }
  const SampleShape& shape(ValueId value) const;
  /// Number of inputs; these are the first values.
  std::int64_t inputs() const;
  /// Whether it is a fully connected layer whose source is a vector input, another fully connected
  /// layer, a biased vector, a dot interaction or a flattened image, or an activation of one of
  /// these layers; not the head of a network of means or volumes.
  bool is_vector_layer(const Operation& operation) const;
  /// Whether a max pool reads `value`, directly or through norms, biases and ReLUs.
  bool feeds_max_pool(ValueId value) const;
  /// Whether the backward pass computes d loss / d value.
  bool has_gradient(ValueId value) const;
  /// The operations that read `value`, in order; one that reads it twice appears twice.
  std::vector<std::size_t> readers(ValueId value) const;
  std::int64_t parameter_count() const;
  /// Multiply-accumulates of one sample's forward pass: convolutions and matrix products only.
  std::int64_t forward_macs() const;
  /// The same for one operation.
  std::int64_t forward_macs(const Operation& operation) const;
  /// Multiply-accumulates of its forward and backward passes: gradients of weights, and of sources
  /// where wanted.
  std::int64_t training_macs(const Operation& operation) const;

 private:
  /// Whether an activation's source is made by one of these layers.
  bool is_of_vectors(const Operation& activation) const;
  ValueId append(Operation operation);
  ParameterId add_parameter(ParameterSpec spec);
  std::vector<Operation> operations_;
  std::vector<ParameterSpec> parameters_;
  std::vector<StatisticsSpec> statistics_;
};

}  // namespace nn
