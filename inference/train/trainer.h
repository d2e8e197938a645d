// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/adapter/adapter.h"
#include "inference/adapter/frame.h"
#include "inference/train/losses.h"
#include "inference/train/network.h"
#include "inference/transformer/transformer.h"

namespace ruvd::inference {

namespace train {
class TrainingRun;
}

// The defaults suit one corrected text of 30 to 60 tokens on the 29M model: about 56 forwards, a
// few seconds on one core.
struct TrainingOptions {
  int rank = 2;
  int steps = 20;
  int batch = 2;              // mask draws per step
  float learning_rate = 0;    // 0: kLoraLearningRate or kCoreLearningRate
  float weight_clamp = 4.0F;  // of the 1/t loss weight
  uint64_t seed = 0;          // masks of training; held-out masks come from another stream
  // Which matrix of the last layer a LoRA changes: "attn_output", "ffn_gate", "ffn_up", "ffn_down",
  // or "output" for the head. A core changes its frame's target.
  std::string target = "attn_output";
  // Boundaries of t, as BankSchedule's, of a core of several banks, each trained on the maskings
  // whose t is in it. Empty: one core for all t.
  std::vector<float> bank_boundaries;
  std::string name = "overlay";  // of the adapter
  uint32_t version = 1;
  int held_out_samples = 16;  // mask draws of the held-out score, stratified over t
  // Polled between forwards: true stops with kCancelled.
  std::function<bool()> cancelled;
  // Advances the run until it is done, in slices of its own choice; an error ends the training.
  // Empty: in one go.
  std::function<absl::Status(train::TrainingRun& run)> drive;
};

// Of one matrix; of several it is divided by the root of their number, since what they change adds
// up. Found on the 29M model with one text of 53 and one of 46 tokens. A core sees the gradient
// through a random frame, so it is small and the rate large.
inline constexpr float kLoraLearningRate = 0.01F;
inline constexpr float kCoreLearningRate = 0.1F;

struct TrainingResult {
  std::shared_ptr<const Adapter> adapter;  // null for a core of several banks
  // R-core in the frame, rank x rank, or those of all banks one after the other; empty for plain
  // LoRA.
  std::vector<float> core;
  // Masked-diffusion NELBO of the held-out examples on masks never trained on, nats per token.
  double held_out_before = 0;
  double held_out_after = 0;
  int steps = 0;
};

// Trains a rank-r LoRA at each of these sites, as TrainLastLayerLora does at one; target is not
// used. The score before and after is that of `held_out`, or, where that is empty, of the examples
// themselves under masks never trained on.
absl::StatusOr<TrainingResult> TrainLora(Transformer& transformer,
                                         std::span<const train::Site> sites,
                                         std::span<const TrainingExample> examples,
                                         std::span<const TrainingExample> held_out,
                                         const AdapterMix* base, const TrainingOptions& options);

// Trains a rank-r LoRA on one matrix of the last layer: A from the seed (orthonormal rows),
// B from zero, AdamW without decay, fresh exact-count masks each step (train/run.h trains any
// layers). `base` holds adapters active beneath, or null.
absl::StatusOr<TrainingResult> TrainLastLayerLora(Transformer& transformer,
                                                  std::span<const TrainingExample> examples,
                                                  const AdapterMix* base,
                                                  const TrainingOptions& options);

// The same with an R-core, or one for each bank: y += P R Q x, R from zero, P and Q fixed by the
// frame. Scored on `held_out` as TrainLora is. ADAPTER_INVALID for boundaries that CheckSchedule
// refuses.
absl::StatusOr<TrainingResult> TrainLastLayerCore(Transformer& transformer, const Frame& frame,
                                                  std::span<const TrainingExample> examples,
                                                  std::span<const TrainingExample> held_out,
                                                  const AdapterMix* base,
                                                  const TrainingOptions& options);

}  // namespace ruvd::inference
