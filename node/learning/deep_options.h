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

// How a deep round avoids forgetting. None of these replaces the round's gate.
enum class DeepGuard : uint8_t {
  kReplay,       // learns general text beside the lessons; needs much of it
  kReplayKl,     // keeps general text close to the model without adapters
  kEwc,          // EWC++ (train/ewc.h) on what earlier rounds learned, no general text
  kReplayEwc,    // replay and EWC++
  kReplayKlEwc,  // replay-KL and EWC++
};
std::string_view DeepGuardName(DeepGuard guard);  // "replay", "replay_kl", "ewc", ...
std::optional<DeepGuard> DeepGuardByName(std::string_view name);
bool ReplaysText(DeepGuard guard);
bool UsesFrozenKl(DeepGuard guard);
bool UsesEwc(DeepGuard guard);

struct DeepOptions {
  float min_rating = 0.7F;
  // With up to 240 lessons, rank 32 at this rate gains as much as rank 8 at twice the rate or more,
  // and costs general text about as much (bench/results/retrieval-while-denoising.json).
  int rank = 32;
  int steps = 480;        // largest number of steps
  int select_every = 20;  // steps between two checks whether to stop
  // Largest number of passes over the lessons; with few lessons, more passes would memorise them.
  int epochs = 4;
  int batch = 8;          // maskings of lessons per step
  int general_batch = 2;  // maskings of general text per step
  double learning_rate = 1e-3;
  DeepGuard guard = DeepGuard::kReplayKl;
  // Strength of the EWC++ penalty: in the benchmark `learn_forgetting`, a strength of about the
  // number of a lesson's tokens, as in the Laplace approximation, has almost no effect within a
  // round; this value halves the forgetting.
  double ewc_strength = 10'000;
  // Number of timestep banks beside the adapter for all t, each with a residual of its own rank.
  int banks = 0;
  int bank_rank = 4;
  inference::TaloraTraining bank_training;
  // Memory for activations: with 32 MiB, a step of the 29M model takes 1.6 times as long, because
  // layers are computed twice and sequences one by one.
  uint64_t memory_bytes = 192ULL << 20;
  int checkpoint_every = 10;  // in steps
  // With fewer lessons, or fewer held back, too little is known to change what all requests get.
  size_t least_lessons = 16;
};

// Returns the largest number of steps for a round on this many lessons.
int DeepSteps(const DeepOptions& options, size_t lessons);

// Returns the bank schedule: three banks are those of patterns (inference/adapter/bank.h), other
// numbers give equal shares of t. `banks` is in [0, limits::kMaxTimestepBanks]; 0 gives the same as
// 1.
inference::BankSchedule DeepBanks(int banks);

}  // namespace ruvd::learning
