// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "inference/backend/backend.h"
#include "inference/model/packed_weights.h"

namespace ruvd::inference {

// The cores and memory of this machine. Transformers of one model share its packed weights, which
// live as long as any of these transformers.
class CpuBackend final : public Backend {
 public:
  BackendInfo Info() const override;
  absl::StatusOr<std::unique_ptr<Transformer>> Load(std::shared_ptr<const Model> model,
                                                    const BackendOptions& options) override;
  // Pages are allocated as they are needed.
  absl::StatusOr<std::shared_ptr<KvPool>> CreateKvPool(const ModelConfig& config, KvFormat format,
                                                       uint64_t bytes) override;

 private:
  Mutex mutex_;
  // Entries that have expired are removed at the next load.
  std::vector<std::weak_ptr<const PackedWeights>> packed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd::inference
