// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/backend/cpu_backend.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <thread>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/kernels/aligned_buffer.h"
#include "inference/kernels/kernel_table.h"
#include "inference/transformer/cpu_transformer.h"

namespace ruvd::inference {

BackendInfo CpuBackend::Info() const {
  const auto pages = static_cast<uint64_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)));
  const auto page = static_cast<uint64_t>(std::max(0L, ::sysconf(_SC_PAGESIZE)));
  return {.name = "cpu",
          .device = Kernels().name,
          .threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency())),
          .memory_bytes = pages * page,
          .available = true,
          .reason = KernelChoiceReason()};
}

absl::StatusOr<std::unique_ptr<Transformer>> CpuBackend::Load(std::shared_ptr<const Model> model,
                                                              const BackendOptions& options) {
  if (options.precision == Precision::kExact) {
    return std::make_unique<CpuTransformer>(std::move(model), options.runner);
  }
  MutexLock lock(mutex_);
  std::erase_if(packed_, [](const auto& weights) { return weights.expired(); });
  for (const auto& entry : packed_) {
    if (auto weights = entry.lock(); weights != nullptr && weights->model() == model) {
      return std::make_unique<CpuTransformer>(std::move(weights), options.runner);
    }
  }
  const uint64_t bytes = PackedWeights::BytesFor(*model);
  if (!AlignedBuffer::Available(bytes)) {
    return Error(
        absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
        "the packed weights of {} take {} bytes, more than the system can provide; "
        "free memory, choose a smaller model or set inference.precision to exact, which needs "
        "no packed weights",
        model->config().name, bytes);
  }
  auto weights = PackedWeights::Pack(std::move(model), options.runner);
  packed_.emplace_back(weights);
  return std::make_unique<CpuTransformer>(std::move(weights), options.runner);
}

absl::StatusOr<std::shared_ptr<KvPool>> CpuBackend::CreateKvPool(const ModelConfig& config,
                                                                 KvFormat format, uint64_t bytes) {
  return KvPool::Create(config, format, bytes);
}

}  // namespace ruvd::inference
