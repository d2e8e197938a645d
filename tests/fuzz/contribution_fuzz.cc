// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Contributions and states of the learner from outside: whatever decodes must encode to the same
// bytes, and a round must take it. The first byte chooses the plan, and whether the other bytes are
// an input as it is, or differences from a good one. Inputs need not know a plan's id: it is
// written over theirs.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "federation/learner/rounds.h"

namespace ruvd::federation {
namespace {

LearnerPlan PlanOf(uint8_t choice) {
  LearnerPlan plan;
  plan.boundaries = {0.5F};
  plan.values_per_bank = 2;
  if ((choice & 1) != 0) {
    plan.kind = ContributionKind::kGradient;
    plan.grid = {.exponent = -9, .clip_units = 512, .sigma_units = 300};
  }
  if ((choice & 2) != 0) {
    plan.outer.kind = OuterOptions::Kind::kAdam;
  }
  return plan;
}

// A good contribution of all banks.
Contribution GoodContribution(const LearnerPlan& plan) {
  const size_t values = plan.banks() * plan.values_per_bank;
  const bool floats = plan.kind == ContributionKind::kDelta;
  return {.plan = plan.Id(),
          .round = 5,
          .base_round = 4,
          .schedule = plan.schedule,
          .banks = {0, 1},
          .floats = std::vector<float>(floats ? values : 0, 0.5F),
          .units = std::vector<int32_t>(floats ? 0 : values, 7)};
}

GlobalState GoodState(const LearnerPlan& plan) {
  const RoundContribution one{.members = {}, .contribution = GoodContribution(plan)};
  auto state = ApplyRounds(plan, EmptyState(plan, 1), {.contributions = {&one}, .verdicts = {}}, 5);
  RUVD_CHECK(state.ok());
  return *std::move(state);
}

// Returns a good input with some bytes changed: a difference of 0 leaves the byte as it is. Bytes
// that are too many come after it.
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

std::string WithPlan(std::span<const uint8_t> bytes, size_t offset, const LearnerPlan& plan) {
  std::string text(AsText(bytes));
  const Digest id = plan.Id();
  if (text.size() >= offset + id.size()) {
    std::ranges::copy(id, text.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  return text;
}

void TakeContribution(std::span<const uint8_t> bytes, const LearnerPlan& plan) {
  constexpr size_t kPlanOffset = 5;
  const std::string text = WithPlan(bytes, kPlanOffset, plan);
  const auto decoded = DecodeContribution(AsBytes(text), plan);
  if (!decoded.ok()) {
    return;
  }
  RUVD_CHECK(EncodeContribution(*decoded, plan) == text);
  RoundContribution one{.members = {}, .contribution = *decoded};
  for (uint32_t i = 0; decoded->members > 1 && i < decoded->members; ++i) {
    one.members.emplace_back().back() = static_cast<uint8_t>(i);
  }
  const auto state = ApplyRounds(plan, EmptyState(plan, 1),
                                 {.contributions = {&one}, .verdicts = {}}, decoded->round);
  RUVD_CHECK(state.ok());
  RUVD_CHECK(CheckState(*state, plan).ok());
}

void TakeState(std::span<const uint8_t> bytes, const LearnerPlan& plan) {
  constexpr size_t kPlanOffset = 2;
  const std::string text = WithPlan(bytes, kPlanOffset, plan);
  const auto decoded = DecodeState(AsBytes(text), plan);
  if (decoded.ok()) {
    RUVD_CHECK(EncodeState(*decoded, plan) == text);
    RUVD_CHECK(ApplyRounds(plan, *decoded, {}, decoded->round).ok());
  }
}

}  // namespace
}  // namespace ruvd::federation

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ruvd::federation;
  if (size > 0) {
    const LearnerPlan plan = PlanOf(data[0]);
    const std::span<const uint8_t> rest(data + 1, size - 1);
    if ((data[0] & 4) != 0) {
      TakeContribution(rest, plan);
      TakeState(rest, plan);
    } else if ((data[0] & 8) != 0) {
      const std::string good = EncodeContribution(GoodContribution(plan), plan);
      TakeContribution(ruvd::AsBytes(Changed(good, rest)), plan);
    } else {
      TakeState(ruvd::AsBytes(Changed(EncodeState(GoodState(plan), plan), rest)), plan);
    }
  }
  return 0;
}
