// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/learning.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/status.h"
#include "federation/daf/robust_rules.h"
#include "federation/learner/privacy_plan.h"
#include "tests/sim/contributions.h"
#include "tests/sim/identities.h"

namespace ruvd::test {
namespace {

constexpr double kOwnPart = 0.3;  // weight of h_i beside w
constexpr double kTrainedShare = 0.5;
constexpr double kTrainingNoise = 0.02;
// Contributions live for ten minutes at least, and a node keeps 132 of each origin: rounds of five
// seconds are the shortest of which none is displaced.
constexpr int64_t kRoundMillis = 5000;
// Keys of masked sums have two seconds, and a share leaves three and a half seconds after the begin
// at the latest.
constexpr int64_t kMaskedRoundMillis = 12'000;
// Many faults last longer than a window.
constexpr uint32_t kWindow = 3;
// Liars ask for no older round.
constexpr size_t kRememberedRounds = 16;

privacy::dp::RdpCurve CurveOf(const federation::LearnerPlan& plan, bool masked) {
  const auto rho = federation::RhoOfRound(plan, masked);
  RUVD_CHECK(rho.ok());
  auto curve = privacy::dp::SampledCurve(1, *rho);
  RUVD_CHECK(curve.ok());
  return *curve;
}

}  // namespace

std::shared_ptr<const federation::LearnerPlan> Learning::PlanOf(std::string rule, bool masked) {
  federation::LearnerPlan plan;
  plan.frame_id = IdentityOf(0).config.frame_id;
  plan.values_per_bank = Learning::kValues;
  plan.round_ms = kRoundMillis;
  plan.window = kWindow;
  plan.rule = std::move(rule);
  if (masked) {
    plan.kind = federation::ContributionKind::kGradient;
    plan.round_ms = kMaskedRoundMillis;
    plan.grid = {.exponent = -7, .clip_units = 256, .sigma_units = 512};
    plan.nominal_batch = 64;
  }
  RUVD_CHECK(plan.Check().ok());
  return std::make_shared<const federation::LearnerPlan>(std::move(plan));
}

Learning::Learning(size_t nodes, uint64_t seed, std::shared_ptr<const federation::LearnerPlan> plan)
    : random_(seed), plan_(std::move(plan)), model_(plan_) {
  for (size_t i = 0; i < kValues; ++i) {
    shared_.push_back(static_cast<float>(random_.Normal() / std::sqrt(double{kValues})));
  }
  for (size_t i = 0; i < nodes; ++i) {
    own_.push_back(random_.Next());
  }
  if (plan_->kind == federation::ContributionKind::kGradient) {
    share_cost_ = CurveOf(*plan_, /*masked=*/true);
    cost_ = CurveOf(*plan_, /*masked=*/false);
  }
}

void Learning::Open(uint64_t first, uint64_t last) {
  first_ = first;
  last_ = last;
}

bool Learning::Contributes(size_t node, uint64_t round) const {
  const size_t members = std::min(own_.size(), kNodes);
  return IsOpen(round) && (node + round * kContributors) % members < kContributors;
}

std::vector<float> Learning::Wanted(size_t node) const {
  Random own(own_[node]);
  std::vector<float> wanted = shared_;
  for (float& value : wanted) {
    value += static_cast<float>(kOwnPart * own.Normal() / std::sqrt(double{kValues}));
  }
  return wanted;
}

std::vector<float> Learning::Update(size_t node, uint64_t round,
                                    const federation::GlobalState& base) {
  std::vector<float> update = Wanted(node);
  for (size_t i = 0; i < kValues; ++i) {
    const double noise = kTrainingNoise * random_.Normal() / std::sqrt(double{kValues});
    update[i] = static_cast<float>(kTrainedShare * (update[i] - base.values[0][i]) + noise);
  }
  honest_[round].push_back(update);
  if (honest_.size() > kRememberedRounds) {
    honest_.erase(honest_.begin());
  }
  return update;
}

federation::Contribution Learning::Train(size_t node, uint64_t round,
                                         const federation::GlobalState& base) {
  return ContributionOfValues(*plan_, round, base.round, Update(node, round, base));
}

privacy::UnitSum Learning::TrainSum(size_t node, uint64_t round,
                                    const federation::GlobalState& base) {
  const std::vector<float> update = Update(node, round, base);
  auto sum = privacy::UnitSum::Create(plan_->grid, plan_->clip_norm, kValues);
  RUVD_CHECK(sum.ok());
  const size_t lessons = plan_->nominal_batch;
  for (size_t lesson = 0; lesson < lessons; ++lesson) {
    // Gradients of different lengths, whose mean is minus the update.
    const double length = (2 * static_cast<double>(lesson) + 1) / static_cast<double>(lessons);
    std::vector<float> gradient(kValues);
    std::ranges::transform(update, gradient.begin(),
                           [&](float value) { return static_cast<float>(-length * value); });
    RUVD_CHECK(sum->Add(gradient).ok());
  }
  return *std::move(sum);
}

federation::Contribution Learning::Lie(bench::UpdateAttack attack, uint64_t round,
                                       const federation::GlobalState& base) {
  std::vector<float>& lie = lies_[{round, attack}];
  const auto honest = honest_.find(round);
  if (lie.empty() && honest != honest_.end()) {
    lie = bench::Attack(attack, honest->second, 1, random_).front();
  }
  return ContributionOfValues(*plan_, round, base.round,
                              lie.empty() ? std::vector<float>(kValues) : lie);
}

double Learning::ErrorOf(std::span<const float> adapter, std::span<const size_t> nodes) const {
  std::vector<double> mean(kValues);
  for (const size_t node : nodes) {
    const std::vector<float> wanted = Wanted(node);
    for (size_t i = 0; i < kValues; ++i) {
      mean[i] += double{wanted[i]} / static_cast<double>(nodes.size());
    }
  }
  double distance = 0;
  double norm = 0;
  for (size_t i = 0; i < kValues; ++i) {
    distance += (adapter[i] - mean[i]) * (adapter[i] - mean[i]);
    norm += mean[i] * mean[i];
  }
  return std::sqrt(distance / norm);
}

bool Learning::Withstands(size_t liars, size_t honest) {
  const size_t present = honest * 7 / 10;
  return present + liars >= 5 &&
         liars <= federation::ToleratedFaults(present + liars, federation::kFaultyShare);
}

}  // namespace ruvd::test
