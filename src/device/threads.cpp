#include "device/threads.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>

namespace satrap::device {
namespace {

std::atomic<int> threads_of_process{1};

}  // namespace

void set_compute_threads(int threads) {
  threads_of_process = std::max(1, threads);
}

int compute_threads() noexcept {
  return threads_of_process;
}

void apply_compute_threads() noexcept {
  omp_set_num_threads(threads_of_process);
}

}  // namespace satrap::device
