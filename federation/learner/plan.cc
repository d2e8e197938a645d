// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/learner/plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/daf/robust_rules.h"
#include "federation/limits.h"
#include "privacy/limits.h"

namespace ruvd::federation {
namespace {

constexpr std::string_view kPlanDomain("RUVDLLM-PLAN-v1\0", 16);

absl::Status Invalid(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "the cluster's learning plan: {}", what);
}

bool IsPositive(double value) {
  return value > 0 && std::isfinite(value);
}

bool IsIn(uint64_t value, uint64_t least, uint64_t most) {
  return value >= least && value <= most;
}

bool Ascend(const std::vector<float>& boundaries) {
  float last = 0;
  for (const float boundary : boundaries) {
    if (!(boundary > last) || !(boundary < 1)) {
      return false;
    }
    last = boundary;
  }
  return true;
}

absl::Status CheckShape(const LearnerPlan& plan) {
  if (!IsIn(plan.rank, 1, limits::kMaxRank)) {
    return Invalid(fmt::format("rank is {}, not 1 to {}", plan.rank, limits::kMaxRank));
  }
  if (plan.boundaries.size() >= limits::kMaxUpdateBanks || !Ascend(plan.boundaries)) {
    return Invalid(fmt::format("boundaries must ascend within 0 to 1 and be fewer than {}",
                               limits::kMaxUpdateBanks));
  }
  constexpr uint64_t kHeaderRoom = 1024;  // a contribution must fit a payload
  const uint64_t most = (limits::kMaxPayloadBytes - kHeaderRoom) / sizeof(float) / plan.banks();
  if (!IsIn(plan.values_per_bank, 1, most)) {
    return Invalid(fmt::format("{} banks of {} values; a bank has 1 to {}; lower the rank",
                               plan.banks(), plan.values_per_bank, most));
  }
  const uint32_t shares = std::accumulate(plan.schedule.begin(), plan.schedule.end(), uint32_t{0});
  return shares == kScheduleUnit
             ? absl::OkStatus()
             : Invalid(fmt::format("the shares of its schedule add up to {}, not {}", shares,
                                   kScheduleUnit));
}

absl::Status CheckAggregation(const LearnerPlan& plan) {
  RETURN_IF_ERROR(CheckStrategy(plan.strategy));
  if (CountsQuality(plan.strategy) && plan.kind == ContributionKind::kGradient) {
    return Invalid(
        "a strategy by quality needs verdicts on private lessons, which would cost a privacy "
        "budget "
        "of their own; take timestep, schedule, or hybrid without a quality weight");
  }
  if (!(plan.faulty > 0) || !(plan.faulty < 0.5)) {
    return Invalid(fmt::format("faulty is {}, not above 0 and below 0.5", plan.faulty));
  }
  if (RuleByName(plan.rule, plan.faulty) == nullptr) {
    return Invalid(fmt::format("there is no rule \"{}\"", plan.rule));
  }
  if (!(plan.quorum >= 0) || !(plan.quorum <= 1)) {
    return Invalid(fmt::format("quorum is {}, not 0 to 1", plan.quorum));
  }
  if (!(plan.max_norm > 0) || !(plan.max_norm <= limits::kMaxContributionNorm)) {
    return Invalid(fmt::format("max_norm is {}, not above 0 and at most {}", plan.max_norm,
                               limits::kMaxContributionNorm));
  }
  return OuterOptimizer::Create(0, plan.outer).status();
}

absl::Status CheckRounds(const LearnerPlan& plan) {
  if (plan.round_ms < limits::kMinRoundMillis || plan.round_ms > limits::kMaxRoundMillis) {
    return Invalid(fmt::format("a round lasts {} ms, not {} to {}", plan.round_ms,
                               limits::kMinRoundMillis, limits::kMaxRoundMillis));
  }
  return IsIn(plan.window, 1, limits::kMaxWindow)
             ? absl::OkStatus()
             : Invalid(fmt::format("window is {} rounds, not 1 to {}", plan.window,
                                   limits::kMaxWindow));
}

absl::Status CheckLocal(const LearnerPlan::Local& local) {
  if (!IsPositive(local.learning_rate) || !IsIn(local.steps, 1, limits::kMaxLocalSteps) ||
      !IsIn(local.batch, 1, limits::kMaxNominalBatch) || !(local.prox >= 0) ||
      !std::isfinite(local.prox)) {
    return Invalid(
        fmt::format("local steps have learning rate {}, {} step(s) of {} text(s) and prox {}; give "
                    "a rate above "
                    "0, 1 to {} steps of 1 to {} texts, and prox of at least 0",
                    local.learning_rate, local.steps, local.batch, local.prox,
                    limits::kMaxLocalSteps, limits::kMaxNominalBatch));
  }
  return absl::OkStatus();
}

absl::Status CheckHold(const LearnerPlan& plan) {
  const double hold = plan.local.hold;
  if (!(hold >= 0) || !std::isfinite(hold)) {
    return Invalid(fmt::format("hold is {}, not at least 0", hold));
  }
  if (plan.kind == ContributionKind::kDelta || hold == 0) {
    return absl::OkStatus();
  }
  if (plan.outer.kind != OuterOptions::Kind::kAdam) {
    return Invalid(
        "gradients have a hold, and only Adam bounds the steps of values that are held strongly; "
        "set `experimental.outer` to \"adam\" or \"auto\"");
  }
  const size_t known = plan.fisher != nullptr ? plan.fisher->size() : 0;
  const size_t values = plan.banks() * plan.values_per_bank;
  return known == values
             ? absl::OkStatus()
             : Invalid(fmt::format("hold is {}, but the Fisher information of {} of {} values is "
                                   "known; use a frame that `ruvd model frame` made of text",
                                   hold, known, values));
}

absl::Status CheckGradients(const LearnerPlan& plan) {
  if (!IsPositive(plan.clip_norm) || !IsIn(plan.nominal_batch, 1, limits::kMaxNominalBatch)) {
    return Invalid(fmt::format("clip_norm must be above 0 and nominal_batch 1 to {}",
                               limits::kMaxNominalBatch));
  }
  const privacy::dp::NoiseGrid& grid = plan.grid;
  if (grid.exponent < -limits::kMaxGridExponent || grid.exponent > limits::kMaxGridExponent ||
      grid.clip_units < limits::kMinClipUnits || grid.clip_units > limits::kMaxGridUnits ||
      grid.sigma_units > limits::kMaxNoiseUnits) {
    return Invalid("its grid is not one that MakeNoiseGrid makes");
  }
  return absl::OkStatus();
}

void WriteOuter(const OuterOptions& outer, ByteWriter& writer) {
  writer.Write(static_cast<uint8_t>(static_cast<int>(outer.kind) + 1));
  writer.Write(outer.step).Write(outer.momentum).Write(static_cast<uint8_t>(outer.nesterov));
  writer.Write(outer.beta1).Write(outer.beta2).Write(outer.epsilon);
}

void WriteStrategy(const StrategyOptions& strategy, ByteWriter& writer) {
  writer.Write(static_cast<uint8_t>(static_cast<int>(strategy.strategy) + 1));
  writer.Write(strategy.timestep_weight).Write(strategy.quality_weight);
  writer.Write(strategy.schedule_weight).Write(strategy.staleness_exponent);
  writer.Write(strategy.cluster_distance);
}

}  // namespace

std::optional<ContributionKind> ContributionKindByName(std::string_view name) {
  if (name == "delta") {
    return ContributionKind::kDelta;
  }
  return name == "gradient" ? std::optional(ContributionKind::kGradient) : std::nullopt;
}

TimestepHistogram EvenHistogram() {
  std::array<uint64_t, kScheduleBins> counts{};
  counts.fill(1);
  return HistogramOf(counts);
}

bool CountsQuality(const StrategyOptions& strategy) {
  return strategy.strategy == Strategy::kQualityWeighted ||
         (strategy.strategy == Strategy::kHybrid && strategy.quality_weight > 0);
}

absl::Status LearnerPlan::Check() const {
  RETURN_IF_ERROR(CheckShape(*this));
  RETURN_IF_ERROR(CheckRounds(*this));
  RETURN_IF_ERROR(CheckAggregation(*this));
  RETURN_IF_ERROR(CheckHold(*this));
  return kind == ContributionKind::kDelta ? CheckLocal(local) : CheckGradients(*this);
}

size_t LearnerPlan::RunningMeanValues() const {
  return values_per_bank * banks() <= limits::kMaxRunningMeanValues
             ? values_per_bank
             : std::min<size_t>(values_per_bank, limits::kFoldedValues / banks());
}

Digest LearnerPlan::Id() const {
  ByteWriter writer;
  writer.WriteText(kPlanDomain).WriteBytes(frame_id).Write(rank);
  writer.Write(static_cast<uint8_t>(boundaries.size()));
  for (const float boundary : boundaries) {
    writer.Write(boundary);
  }
  writer.Write(static_cast<uint8_t>(kind)).Write(round_ms).Write(window);
  WriteStrategy(strategy, writer);
  writer.Write(static_cast<uint8_t>(rule.size())).WriteText(rule).Write(faulty);
  writer.Write(quorum);
  WriteOuter(outer, writer);
  writer.Write(max_norm);
  for (const uint16_t share : schedule) {
    writer.Write(share);
  }
  writer.Write(local.learning_rate).Write(local.steps).Write(local.batch).Write(local.prox);
  writer.Write(local.hold);
  writer.Write(clip_norm).Write(int32_t{grid.exponent}).Write(grid.clip_units);
  writer.Write(grid.sigma_units).Write(nominal_batch).Write(static_cast<uint8_t>(unit));
  return Sha256(writer.str());
}

uint64_t RoundAt(const LearnerPlan& plan, int64_t wall_ms) {
  return wall_ms < 0 ? 0 : static_cast<uint64_t>(wall_ms / plan.round_ms);
}

int64_t LearnerLifeMillis(const LearnerPlan& plan) {
  // A checkpoint is offered a window after its round, and the next one another window later. Three
  // rounds more are for clocks and for the way of the items.
  const int64_t life = (2 * int64_t{plan.window} + 3) * plan.round_ms;
  return std::clamp(life, limits::kMinLearnerLifeMillis, limits::kItemLifeMillis);
}

uint64_t CheckpointRound(const LearnerPlan& plan, uint64_t now_round) {
  const uint64_t behind = uint64_t{plan.window} + 1;
  return now_round <= behind ? 0 : (now_round - behind) / plan.window * plan.window;
}

}  // namespace ruvd::federation
