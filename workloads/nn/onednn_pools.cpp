// Descriptions of max pooling and of response normalization.
#include "workloads/nn/onednn.h"

namespace nn {

dnnl::pooling_forward::primitive_desc describe_pooling(const dnnl::engine& engine,
                                                       dnnl::prop_kind kind,
                                                       const dnnl::memory::desc& src,
                                                       const dnnl::memory::desc& dst,
                                                       const PoolingWindows& windows) {
  return describe_forward<dnnl::pooling_forward>(
      engine, user_scratchpad(), kind, dnnl::algorithm::pooling_max, src, dst, windows.stride,
      windows.kernel,
#if DNNL_VERSION_MAJOR >= 3
      dnnl::memory::dims(windows.kernel.size(), 0),  // pixels between taps
#endif
      windows.padding_begin, windows.padding_end);
}

dnnl::pooling_backward::primitive_desc describe_pooling_gradient(
    const dnnl::engine& engine, const dnnl::pooling_forward::primitive_desc& forward,
    const dnnl::memory::desc& diff_src, const dnnl::memory::desc& diff_dst,
    const PoolingWindows& windows) {
  return describe_backward<dnnl::pooling_backward>(engine, forward, dnnl::algorithm::pooling_max,
                                                   diff_src, diff_dst, windows.stride,
                                                   windows.kernel,
#if DNNL_VERSION_MAJOR >= 3
                                                   dnnl::memory::dims(windows.kernel.size(), 0),
#endif
                                                   windows.padding_begin, windows.padding_end);
}

dnnl::lrn_forward::primitive_desc describe_response_norm(const dnnl::engine& engine,
                                                         dnnl::prop_kind kind,
                                                         const dnnl::memory::desc& values,
                                                         const ResponseNorm& numbers) {
  return describe_forward<dnnl::lrn_forward>(
      engine, user_scratchpad(), kind, dnnl::algorithm::lrn_across_channels, values,
#if DNNL_VERSION_MAJOR >= 3
      values,
#endif
      numbers.size, static_cast<float>(numbers.alpha), static_cast<float>(numbers.beta),
      static_cast<float>(numbers.k));
}

dnnl::lrn_backward::primitive_desc describe_response_norm_gradient(
    const dnnl::engine& engine, const dnnl::lrn_forward::primitive_desc& forward,
    const dnnl::memory::desc& values, const ResponseNorm& numbers) {
  return describe_backward<dnnl::lrn_backward>(
      engine, forward, dnnl::algorithm::lrn_across_channels,
#if DNNL_VERSION_MAJOR >= 3
      values, values, values,
#else
      values, values,
#endif
      numbers.size, static_cast<float>(numbers.alpha), static_cast<float>(numbers.beta),
      static_cast<float>(numbers.k));
}

}  // namespace nn
