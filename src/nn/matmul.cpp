#include "nn/matmul.hpp"

#include <algorithm>
#include <dnnl.hpp>
#include <map>
#include <unordered_map>

#include "core/error.hpp"
#include "device/threads.hpp"

namespace satrap::nn {
namespace {

using Arguments = std::unordered_map<int, dnnl::memory>;
using dnnl::memory;

/// Batch sizes whose primitives a layer keeps: training, its last step, evaluation, its last step,
/// and some to spare.
constexpr std::size_t kKeptBatchSizes = 8;

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

memory::desc matrix(std::int64_t rows, std::int64_t columns, std::int64_t row_stride,
                    std::int64_t column_stride) {
  return {{rows, columns}, memory::data_type::f32, memory::dims{row_stride, column_stride}};
}

/// Runs a call of oneDNN on the configured threads, its errors as ours.
template <class Call>
auto checked(const char* what, Call call) {
  device::apply_compute_threads();
  try {
    return call();
  } catch (const dnnl::error& error) {
    throw InternalError(fmt::format("oneDNN failed to {}", what), error.what());
  }
}

/// c [m, n] = a'·b', row-major, with a' [m, k] and b' [k, n] being a or b or their transpose.
void gemm(char transpose_a, char transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
          const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float* c) {
  if (m == 0 || n == 0) return;
  if (k == 0) {
    std::fill_n(c, m * n, 0.0f);
    return;
  }
  device::apply_compute_threads();
  const dnnl::status status =
      dnnl::sgemm(transpose_a, transpose_b, m, n, k, 1.0f, a, lda, b, ldb, 0.0f, c, n);
  if (status != dnnl::status::success) {
    throw InternalError(
        fmt::format("oneDNN failed to multiply {} x {} by {} x {} matrices", m, k, k, n),
        fmt::format("status {}", static_cast<int>(status)));
  }
}

/// The forward product of one batch size: primitive and arguments, whose pointers each run sets.
struct Compiled {
  dnnl::matmul product;
  Arguments arguments;
};

}  // namespace

class LinearForward::Impl {
 public:
  Impl(std::int64_t in, std::int64_t out, std::int64_t stride, bool relu)
      : in_(in), out_(out), stride_(stride), relu_(relu), stream_(engine()) {}

  void run(std::int64_t batch, const float* x, const float* weight, const float* bias, float* y) {
    Compiled& compiled = find(batch);
    const auto set = [&](int argument, const float* data) {
      // oneDNN takes the pointers of inputs and outputs alike without const.
      compiled.arguments.at(argument).set_data_handle(const_cast<float*>(data));
    };
    set(DNNL_ARG_SRC, x);
    set(DNNL_ARG_WEIGHTS, weight);
    set(DNNL_ARG_BIAS, bias);
    set(DNNL_ARG_DST, y);
    compiled.product.execute(stream_, compiled.arguments);
    stream_.wait();
  }

 private:
  Compiled& find(std::int64_t batch) {
    const auto found = compiled_.find(batch);
    if (found != compiled_.end()) return found->second;
    if (compiled_.size() == kKeptBatchSizes) compiled_.clear();
    return compiled_.emplace(batch, compile(batch)).first->second;
  }

  Compiled compile(std::int64_t batch) const {
    const memory::desc x = matrix(batch, in_, in_, 1);
    const memory::desc weight = matrix(in_, out_, 1, in_);  // [out, in] read as its transpose
    const memory::desc bias = matrix(1, out_, out_, 1);
    const memory::desc y = matrix(batch, out_, stride_, 1);
    dnnl::primitive_attr attributes;
    if (relu_) {
      dnnl::post_ops epilogue;
      epilogue.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
      attributes.set_post_ops(epilogue);
    }
    const dnnl::matmul::primitive_desc description({x, weight, bias, y}, attributes, engine());
    const auto argument = [](const memory::desc& shape) {
      return memory(shape, engine(), DNNL_MEMORY_NONE);
    };
    return {dnnl::matmul(description),
            {{DNNL_ARG_SRC, argument(x)},
             {DNNL_ARG_WEIGHTS, argument(weight)},
             {DNNL_ARG_BIAS, argument(bias)},
             {DNNL_ARG_DST, argument(y)}}};
  }

  std::int64_t in_;
  std::int64_t out_;
  std::int64_t stride_;
  bool relu_;
  dnnl::stream stream_;
  std::map<std::int64_t, Compiled> compiled_;
};

LinearForward::LinearForward(std::int64_t in, std::int64_t out, std::int64_t stride, bool relu)
    : impl_(checked("start", [&] { return std::make_unique<Impl>(in, out, stride, relu); })) {}
LinearForward::~LinearForward() = default;
LinearForward::LinearForward(LinearForward&&) noexcept = default;
LinearForward& LinearForward::operator=(LinearForward&&) noexcept = default;

void LinearForward::run(std::int64_t batch, const float* x, const float* weight, const float* bias,
                        float* y) {
  if (batch == 0) return;
  checked("run a linear layer", [&] { impl_->run(batch, x, weight, bias, y); });
}

void linear_input_gradient(std::int64_t batch, std::int64_t in, std::int64_t out, const float* dy,
                           std::int64_t stride, const float* weight, float* dx) {
  gemm('N', 'N', batch, in, out, dy, stride, weight, in, dx);
}

void linear_weight_gradient(std::int64_t batch, std::int64_t in, std::int64_t out, const float* dy,
                            std::int64_t stride, const float* x, float* dweight) {
  gemm('T', 'N', out, in, batch, dy, stride, x, in, dweight);
}

}  // namespace satrap::nn
