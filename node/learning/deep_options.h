// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "inference/adapter/bank_weights.h"
#include "inference/adapter/talora.h"

namespace ruvd::learning {

// What keeps a deep round from forgetting, apart from its gate, which none of them replaces.
enum class DeepGuard : uint8_t {
  kReplay,       // general text is learned beside the lessons: only where there is much of it
  kReplayKl,     // general text follows what the model says without adapters
  kEwc,          // EWC++ (train/ewc.h) on what rounds learned before, no general text
  kReplayEwc,    // replay and EWC++
  kReplayKlEwc,  // replay-KL and EWC++
};
std::string_view DeepGuardName(DeepGuard guard);  // "replay", "replay_kl", "ewc", ...
std::optional<DeepGuard> DeepGuardByName(std::string_view name);
bool ReplaysText(DeepGuard guard);
bool FollowsFrozen(DeepGuard guard);
bool UsesEwc(DeepGuard guard);

struct DeepOptions {
  float min_rating = 0.7F;
  int rank = 8;
  int steps = 480;        // at most
  int select_every = 20;  // steps between two looks at whether to stop
  // Times that a round goes through its lessons at most: of few lessons more are learned by heart.
  int epochs = 4;
  int batch = 8;          // maskings of lessons in a step
  int general_batch = 2;  // ... of general text
  double learning_rate = 2e-3;
  DeepGuard guard = DeepGuard::kReplayKl;
  // Of EWC++. In `learn_forgetting` a strength of the order of a lesson's tokens, the Laplace
  // approximation, does next to nothing within a round; this one halves what is forgotten.
  double ewc_strength = 10'000;
  // Timestep banks beside the adapter for all t, each with a residual of a rank of its own.
  int banks = 0;
  int bank_rank = 4;
  inference::TaloraTraining bank_training;
  // Requests whose prompts are near those of the lessons get the adapter; this is the cosine at
  // which lessons are one group of prompts. Nullopt: all requests get it.
  std::optional<float> scope;
  // Of activations. In 32 MiB a step of the 29M model takes 1.6 times as long: layers are computed
  // again, and sequences one by one.
  uint64_t memory_bytes = 192ULL << 20;
  int checkpoint_every = 10;  // steps
  // Fewer lessons, or fewer that are held back, say too little about what all requests get.
  size_t least_lessons = 16;
};

// Steps that a round on so many lessons takes at most.
int DeepSteps(const DeepOptions& options, size_t lessons);

// Three banks are those of patterns (inference/adapter/bank.h), other numbers equal shares of t.
// `banks` is 0, which gives the same as 1, to limits::kMaxTimestepBanks.
inference::BankSchedule DeepBanks(int banks);

}  // namespace ruvd::learning
