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

// Describes a backend and whether this machine can run it.
struct BackendInfo {
  std::string name;    // "cpu"
  std::string device;  // the processor; for the CPU backend also the chosen kernels
  int threads = 0;     // threads that may compute at a time
  uint64_t memory_bytes = 0;
  bool available = false;
  // Why the backend is available, or what is missing.
  std::string reason;
};

struct BackendOptions {
  Precision precision = Precision::kExact;
  // Divides the work among threads. It must outlive the transformer.
  ParallelRunner& runner;
};

// A kind of device that runs models. The transformers it creates have the forward passes, logits
// and hooks for training. Keys and values live in the device's own memory, in pages that its
// transformers read and write through KvCache. Thread-safe. Instances live as long as the process.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual BackendInfo Info() const = 0;
  // Creates a transformer for `model`. Transformers of one model share what was prepared from its
  // weights. Errors: RESOURCE_EXHAUSTED if the device does not have enough memory.
  virtual absl::StatusOr<std::unique_ptr<Transformer>> Load(std::shared_ptr<const Model> model,
                                                            const BackendOptions& options) = 0;
  // Creates a pool of at most `bytes` bytes of pages for keys and values of models with this
  // configuration. Only caches of this backend's transformers may use it. Errors: INVALID_ARGUMENT
  // if not even one page fits, RESOURCE_EXHAUSTED if the device does not have so much memory.
  virtual absl::StatusOr<std::shared_ptr<KvPool>> CreateKvPool(const ModelConfig& config,
                                                               KvFormat format, uint64_t bytes) = 0;
};

// Returns every backend of this build, the preferred one first. The last is the CPU backend, which
// is always available.
std::span<Backend* const> Backends();

// Returns the first available backend.
Backend& DefaultBackend();

}  // namespace ruvd::inference
