// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/adapter/adapter.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/adapter/frame_set.h"
#include "inference/train/losses.h"
#include "inference/train/network.h"
#include "inference/transformer/transformer.h"

namespace ruvd::inference {

namespace train {
class TrainingRun;
}

// The options of a short training. The defaults suit one corrected text of 30 to 60 tokens on the
// 29M model: about 56 forwards, a few seconds on one core.
struct TrainingOptions {
  int rank = 2;
  int steps = 20;
  int batch = 2;                 // mask draws per step
  float learning_rate = 0;       // 0: kLoraLearningRate or kCoreLearningRate
  float weight_clamp = 4.0F;     // upper bound of the loss weight 1/t
  uint64_t seed = 0;             // seed of the training masks; held-out masks use another stream
  std::string name = "overlay";  // name of the adapter
  uint32_t version = 1;
  int held_out_samples = 16;  // mask draws for the held-out score, stratified over t
  // Polled between forwards; true stops the training with kCancelled
  std::function<bool()> cancelled;
  // Advances the run until it is done, in slices of its own choice; an error ends the training.
  // Empty: the run is advanced without a pause
  std::function<absl::Status(train::TrainingRun& run)> drive;
};

// Learning rates for one matrix. For several matrices the rate is divided by the square root of
// their number, because their effects add up. That of LoRAs was found on the 29M model with one
// text of 53 tokens and one of 46, that of cores of rank 32 with `learn_pattern` on both shipped
// models.
inline constexpr float kLoraLearningRate = 0.01F;
inline constexpr float kCoreLearningRate = 0.01F;

struct TrainingResult {
  std::shared_ptr<const Adapter> adapter;
  // What was trained of an adapter of kind kCore: AdapterFromCores makes the same adapter of it
  std::optional<CoreSet> cores;
  // Masked-diffusion NELBO of the held-out examples on masks never used in training, in nats per
  // token
  double held_out_before = 0;
  double held_out_after = 0;
  int steps = 0;
};

// Trains a rank-r LoRA at each of these sites: A comes from the seed (orthonormal rows), B begins
// at zero, AdamW runs without decay, and each step draws new exact-count masks (train/run.h trains
// anything else). `base` holds the adapters active beneath the LoRA, or is null. The score before
// and after is that of `held_out`, or, if that is empty, of the examples themselves under masks
// never used in training.
absl::StatusOr<TrainingResult> TrainLora(Transformer& transformer,
                                         std::span<const train::Site> sites,
                                         std::span<const TrainingExample> examples,
                                         std::span<const TrainingExample> held_out,
                                         const AdapterMix* base, const TrainingOptions& options);

// Trains an R-core of rank options.rank at each of these sites, in the leading vectors of the
// frame: y += P R Q x, where R begins at zero. Where the frame has a lower rank, that is the core's
// rank. The adapter is of kind kCore. Everything else is as in TrainLora. FRAME_MISMATCH for a
// frame of another model; INVALID_ARGUMENT for a site that the frame lacks.
absl::StatusOr<TrainingResult> TrainCores(Transformer& transformer, const FrameSet& frame,
                                          std::span<const train::Site> sites,
                                          std::span<const TrainingExample> examples,
                                          std::span<const TrainingExample> held_out,
                                          const AdapterMix* base, const TrainingOptions& options);

}  // namespace ruvd::inference
