// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "inference/cache/kv_pool.h"
#include "inference/transformer/transformer.h"

namespace ruvd::inference {

// What a backend is and whether this machine can run it.
struct BackendInfo {
  std::string name;    // "cpu"
  std::string device;  // the processor, or for the CPU the kernels chosen for it
  int threads = 0;     // that may compute at a time
  uint64_t memory_bytes = 0;
  bool available = false;
  // Why it is available, or what is missing.
  std::string reason;
};

struct BackendOptions {
  Precision precision = Precision::kExact;
  // Splits the work; borrowed, must outlive the transformer.
  ParallelRunner& runner;
};

// A kind of device that runs models. Forward passes, logits and the hooks of training are methods
// of the transformers it makes; keys and values live in memory of its own, in pages that its
// transformers read and write through KvCache. Thread-safe; instances live as long as the process.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual BackendInfo Info() const = 0;
  // A transformer for `model`. Transformers of one model share whatever was made of its weights.
  // Errors: RESOURCE_EXHAUSTED where the device's memory does not hold it.
  virtual absl::StatusOr<std::unique_ptr<Transformer>> Load(std::shared_ptr<const Model> model,
                                                            const BackendOptions& options) = 0;
  // Pages for keys and values of models with this configuration, `bytes` of them at most, for
  // caches that its transformers are given. Errors: INVALID_ARGUMENT where not even one page fits,
  // RESOURCE_EXHAUSTED where the device's memory cannot hold so much.
  virtual absl::StatusOr<std::shared_ptr<KvPool>> CreateKvPool(const ModelConfig& config,
                                                               KvFormat format, uint64_t bytes) = 0;
};

// Every backend of this build, the one to prefer first. The last is the CPU's, which is always
// available.
std::span<Backend* const> Backends();

// The first available backend.
Backend& DefaultBackend();

}  // namespace ruvd::inference
