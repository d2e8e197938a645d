// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/adapter/adapter.h"
#include "inference/adapter/bank_weights.h"
#include "inference/adapter/lesson_words.h"
#include "inference/model/model.h"

namespace ruvd::inference {

// How a TALoRA was, or will be, trained.
struct TaloraTraining {
  // The residuals' share of the trunk's learning rate, and the share of their value that they lose
  // in each step. No arrangement of banks was better than a static adapter of equal stored size;
  // bench/RESULTS.md has the results for each rate and decay.
  float residual_rate = 0.3F;
  float residual_decay = 0;
};

// A timestep-aware LoRA adapter: a shared trunk and a residual for each bank of the masked share t,
//   y += trunk(x) + sum over k of w_k(t) residual_k(x).
// Without residuals it is a static adapter. Without a trunk it consists of its banks only ("hard
// banks"). Immutable once built.
struct Talora {
  std::string name;
  uint32_t version = 0;
  Digest model_hash{};
  BankSchedule schedule;
  std::shared_ptr<const Adapter> trunk;                   // null if it has no trunk
  std::vector<std::shared_ptr<const Adapter>> residuals;  // one for each bank, or empty
  std::optional<BankRouter> router;                       // for BankStrategy::kAttention
  TaloraTraining training;
  // The words of the lessons that it learned; nullopt: not known
  std::optional<LessonWords> words;
};

// Returns a plain adapter as a TALoRA without residuals.
std::shared_ptr<const Talora> StaticTalora(std::shared_ptr<const Adapter> adapter);

// Returns ADAPTER_INVALID for a schedule that CheckSchedule refuses, if both trunk and residuals
// are missing, for residuals or a router that do not fit the banks, and for parts of different
// kinds, frames or models.
absl::Status CheckTalora(const Talora& talora);
// Checks a TALoRA that has passed CheckTalora above against a model: CheckAdapter of every part,
// and ADAPTER_INVALID if trunk and residuals that may be active together have a total rank above
// limits::kMaxStackedRank on a target.
absl::Status CheckTalora(const Talora& talora, const Model& model);

// Appends the parts at t, each with `weight` times its own weight: the trunk, then, in order, the
// residuals of banks whose weight is at least limits::kMinBankWeight. `query` is the embedding of
// the request, for a router; it may be empty.
void AppendMix(const Talora& talora, float t, std::span<const float> query, float weight,
               AdapterMix* mix);

// Returns whether the mix is the same for every t.
bool IsStatic(const Talora& talora);

// Returns the trunk and residual of one bank together as one plain adapter NAME-bankK; their ranks
// add, except in a frame. If `bank` is nullopt, returns the trunk as NAME-trunk. INVALID_ARGUMENT
// for a bank that does not exist, a missing trunk, or ranks that add up to more than
// limits::kMaxAdapterRank.
absl::StatusOr<std::shared_ptr<const Adapter>> PlainAdapter(const Talora& talora,
                                                            std::optional<size_t> bank);

// Return the content id, memory and label, as for adapters. A static TALoRA has the id of its
// adapter.
Digest AdapterId(const Talora& talora);
size_t FactorBytes(const Talora& talora);
std::string AdapterLabel(const Talora& talora);

}  // namespace ruvd::inference
