#include "core/processor.hpp"

#include "core/error.hpp"

namespace satrap {

namespace {

void require(bool supported, const char* level) {
  if (supported) return;
  throw InternalError("this processor lacks instructions that the program was built with", level,
                      "build it on this machine with cmake -DSATRAP_ARCH=native");
}

}  // namespace

void check_processor() {
  // By features that tell the levels: Clang 14 does not know the levels' names.
#if defined(__AVX512F__)
  require(__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd"),
          "x86-64-v4, which has AVX-512");
#elif defined(__AVX2__)
  require(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
              __builtin_cpu_supports("bmi2"),
          "x86-64-v3, which has AVX2");
#endif
}

}  // namespace satrap
