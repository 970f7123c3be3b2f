#pragma once

#include <cstdint>

namespace satrap::device {

/// Where memory lives and work runs.
enum class Backend { cpu, cuda };

/// What a backend provides. A build without CUDA links cuda_stub.cpp, so that no caller asks which
/// build it is: there every function throws "built without CUDA", but for `release`, which
/// destructors call and which has nothing to free.
namespace cuda {

/// Zeroed bytes on the current GPU. Throws InternalError.
void* allocate(std::int64_t bytes);
void release(void* data) noexcept;
/// Throws unless there is a GPU to run on.
void require();
void synchronize();

}  // namespace cuda
}  // namespace satrap::device
