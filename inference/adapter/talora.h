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
#include "inference/model/model.h"

namespace ruvd::inference {

// How a TALoRA was, or is to be, trained.
struct TaloraTraining {
  // The residuals' share of the trunk's learning rate, and what they lose towards zero each step.
  // No arrangement of banks beat a static adapter of equal stored size; what each rate and decay
  // gave is in bench/RESULTS.md.
  float residual_rate = 0.3F;
  float residual_decay = 0;
};

// A timestep-aware adapter: a shared trunk and a residual for each bank of the masked share t,
//   y += trunk(x) + sum over k of w_k(t) residual_k(x).
// Without residuals it is a static adapter; without a trunk its banks are all there is ("hard
// banks"). Immutable once built.
struct Talora {
  std::string name;
  uint32_t version = 0;
  Digest model_hash{};
  BankSchedule schedule;
  std::shared_ptr<const Adapter> trunk;                   // null: none
  std::vector<std::shared_ptr<const Adapter>> residuals;  // one for each bank, or none at all
  std::optional<BankRouter> router;                       // of BankStrategy::kAttention
  TaloraTraining training;
};

// A plain adapter as a TALoRA without residuals.
std::shared_ptr<const Talora> StaticTalora(std::shared_ptr<const Adapter> adapter);

// ADAPTER_INVALID for a schedule that CheckSchedule refuses, neither trunk nor residuals, residuals
// or a router that do not fit the banks, parts of different kinds, frames or models.
absl::Status CheckTalora(const Talora& talora);
// Also CheckAdapter of every part, and ADAPTER_INVALID where trunk and residuals that may act
// together have a total rank above limits::kMaxStackedRank on a target; `talora` passed
// CheckTalora.
absl::Status CheckTalora(const Talora& talora, const Model& model);

// Appends its parts at t, each with `weight` times its own: the trunk, then the residuals of banks
// whose weight is at least limits::kLeastBankWeight, in order. `query`: the embedding of the
// request, for a router; empty where there is none.
void AppendMix(const Talora& talora, float t, std::span<const float> query, float weight,
               AdapterMix* mix);

// Whether it gives every t the same mix.
bool IsStatic(const Talora& talora);

// What acts in a bank alone, trunk and residual together, as one plain adapter NAME-bankK: their
// ranks add, but in a frame. kBank = nullopt: the trunk, NAME-trunk. INVALID_ARGUMENT for a bank
// that it does not have, no trunk, or ranks that add up to more than limits::kMaxAdapterRank.
absl::StatusOr<std::shared_ptr<const Adapter>> PlainAdapter(const Talora& talora,
                                                            std::optional<size_t> bank);

// Content id, memory and label, as for adapters. A static one has the id of its adapter.
Digest AdapterId(const Talora& talora);
size_t FactorBytes(const Talora& talora);
std::string AdapterLabel(const Talora& talora);

}  // namespace ruvd::inference
