#include "core/error.hpp"
#include "device/backend.hpp"

namespace satrap::device::cuda {
namespace {

[[noreturn]] void built_without() {
  throw InternalError("this program was built without CUDA", "the backend cuda was asked for",
                      "use the backend cpu");
}

}  // namespace

void* allocate(std::int64_t) {
  built_without();
}
void release(void*) noexcept {}
void require() {
  built_without();
}
void synchronize() {
  built_without();
}

}  // namespace satrap::device::cuda
