// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Verdicts on contributions from outside: whatever decodes must encode to the same bytes, and a
// round must take it. The first byte says whether the other bytes are an input as it is, or
// differences from a good one. Inputs need not know a plan's id: it is written over theirs.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "federation/learner/rounds.h"

namespace ruvd::federation {
namespace {

LearnerPlan QualityPlan() {
  LearnerPlan plan;
  plan.boundaries = {0.5F};
  plan.values_per_bank = 2;
  plan.strategy.strategy = Strategy::kQualityWeighted;
  return plan;
}

std::string GoodVerdict(const LearnerPlan& plan) {
  return EncodeVerdict({.round = 5, .gains = {{Digest{1}, {0.5F, -0.25F}}, {Digest{2}, {1, 0}}}},
                       plan);
}

// Returns a good input with some bytes changed; bytes that are too many come after it.
std::string Changed(std::string good, std::span<const uint8_t> differences) {
  for (size_t i = 0; i < differences.size(); ++i) {
    if (i < good.size()) {
      good[i] = static_cast<char>(static_cast<uint8_t>(good[i]) ^ differences[i]);
    } else {
      good += static_cast<char>(differences[i]);
    }
  }
  return good;
}

// Three judges say the same, so that it counts.
void TakeVerdict(std::string text, const LearnerPlan& plan) {
  constexpr size_t kPlanOffset = 2;
  const Digest id = plan.Id();
  if (text.size() >= kPlanOffset + id.size()) {
    std::ranges::copy(id, text.begin() + kPlanOffset);
  }
  const auto decoded = DecodeVerdict(AsBytes(text), plan);
  if (!decoded.ok()) {
    return;
  }
  RUVD_CHECK(EncodeVerdict(*decoded, plan) == text);
  RUVD_CHECK(CheckVerdict(*decoded, plan, std::numeric_limits<uint64_t>::max()).ok());
  const RoundContribution judged{.id = decoded->gains.begin()->first,
                                 .members = {},
                                 .contribution = {.plan = plan.Id(),
                                                  .round = decoded->round,
                                                  .base_round = decoded->round - 1,
                                                  .schedule = plan.schedule,
                                                  .banks = {0, 1},
                                                  .floats = std::vector<float>(4, 0.5F),
                                                  .units = {}}};
  std::vector<RoundVerdict> said;
  for (uint8_t judge = 1; judge < 4; ++judge) {
    said.push_back({.id = {judge}, .judge = {judge}, .verdict = *decoded});
  }
  const RoundSet set{.contributions = {&judged}, .verdicts = {&said[0], &said[1], &said[2]}};
  const auto state = ApplyRounds(plan, EmptyState(plan, 1), set, decoded->round);
  RUVD_CHECK(state.ok());
  RUVD_CHECK(CheckState(*state, plan).ok());
}

}  // namespace
}  // namespace ruvd::federation

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ruvd::federation;
  if (size > 0) {
    const LearnerPlan plan = QualityPlan();
    const std::span<const uint8_t> rest(data + 1, size - 1);
    TakeVerdict(
        (data[0] & 1) != 0 ? std::string(ruvd::AsText(rest)) : Changed(GoodVerdict(plan), rest),
        plan);
  }
  return 0;
}
