// A training step of a DLRM on one core against its matrix products alone.
//
//   bench-nn

#include <algorithm>
#include <exception>
#include <limits>

#include "core/error.hpp"
#include "core/thread_time.hpp"
#include "figure.hpp"
#include "nn/matmul_time.hpp"
#include "workload.hpp"

namespace satrap::nn {
namespace {

/// Steps and bare products in turn, the best of each.
void compare(const char* name, config::Optimizer optimizer) {
  constexpr int kRounds = 20;
  DlrmStep step(optimizer);
  BareProducts products(step.model().linear_shapes(), kBatch);
  double best = std::numeric_limits<double>::infinity();
  double best_products = best;
  for (int i = 0; i <= kRounds; ++i) {
    const double start = thread_seconds();
    step.run();
    const double middle = thread_seconds();
    products.run();
    const double end = thread_seconds();
    if (i == 0) continue;  // compiles
    best = std::min(best, middle - start);
    best_products = std::min(best_products, end - middle);
  }
  bench::print({name, kBatch / best, "samples/s", "matrix-products", kBatch / best_products, 0.9});
}

}  // namespace
}  // namespace satrap::nn

int main() {
  try {
    satrap::nn::compare("nn-dlrm-step-sgd", satrap::config::Optimizer::sgd);
    satrap::nn::compare("nn-dlrm-step-adam", satrap::config::Optimizer::adam);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench-nn: {}\n", error.what());
    return static_cast<int>(satrap::to_fault(error).code);
  }
  return 0;
}
