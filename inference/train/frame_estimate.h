// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "inference/adapter/frame_set.h"
#include "inference/model/model.h"
#include "inference/train/network.h"

namespace ruvd::inference {

// Frames estimated from the inputs and output gradients of linear layers on ordinary text.

// Sums over rows from which a frame is made: x x^T and g g^T for FrameKind::kCovariance, g x^T for
// kGradient, where x is a layer's input and g the derivative of the loss by its output. Layers with
// the same input share one sum. Sums are in float32 and added in the order of the calls. Not
// thread-safe.
class FrameStatistics final : public train::LinearObserver<float> {
 public:
  // Observes only these layers and ignores all others. Borrows `runner`.
  FrameStatistics(const train::NetworkShape& shape, std::span<const train::Site> sites,
                  FrameKind kind, ParallelRunner& runner);

  void Observe(const train::Site& site, size_t rows, std::span<const float> x,
               std::span<const float> dy) override;

  // Returns the frame of one of the layers: the `rank` leading eigenvectors, or singular vectors.
  // `rank` must not exceed either side of the matrix.
  ModuleFrame Frame(const train::Site& site, int rank) const;

  // Returns the bytes of the sums for these layers.
  static uint64_t Bytes(const train::NetworkShape& shape, std::span<const train::Site> sites,
                        FrameKind kind);

 private:
  // Which sum: of the inputs (stored at the first layer that reads them), of the outputs, or of
  // both.
  enum class Part : uint8_t { kInput, kOutput, kBoth };
  using Key = std::pair<train::Site, Part>;
  struct Sum {
    size_t rows = 0;
    size_t columns = 0;
    std::vector<float> values;
  };
  static std::vector<std::pair<Key, std::pair<size_t, size_t>>> SumsOf(
      const train::NetworkShape& shape, const train::Site& site, FrameKind kind);
  void Add(size_t count, std::span<const float> left, std::span<const float> right, Sum* sum);

  train::NetworkShape shape_;
  FrameKind kind_;
  ParallelRunner& runner_;
  std::map<Key, Sum> sums_;
  std::map<train::Site, bool> sites_;
  std::vector<float> transposed_;
};

struct FrameEstimateOptions {
  FrameKind kind = FrameKind::kCovariance;  // or kGradient
  int rank = 32;
  // Memory for sums held at a time. Layers are processed in groups that fit (at least one layer),
  // and all batches are run for each group.
  uint64_t memory_bytes = 1ULL << 30;
};

// Returns the batch of a step; must return the same batch every time.
using FrameBatches = std::function<std::vector<train::TrainingSequence>(uint64_t step)>;
// Called after each batch with the number of batches done and of all batches; false ends the work.
using FrameProgress = std::function<bool(uint64_t done, uint64_t all)>;

// Estimates the frame of `targets` from `steps` batches run forwards and backwards through the
// model. Equal input gives an equal frame for any number of threads. INVALID_ARGUMENT for another
// kind, an impossible rank or target, or no steps; CANCELLED; and the errors of CheckSequences.
absl::StatusOr<FrameSet> EstimateFrameSet(const std::shared_ptr<const Model>& model,
                                          std::span<const std::string> targets,
                                          const FrameEstimateOptions& options,
                                          const FrameBatches& batches, uint64_t steps,
                                          ParallelRunner& runner,
                                          const FrameProgress& progress = nullptr);

}  // namespace ruvd::inference
