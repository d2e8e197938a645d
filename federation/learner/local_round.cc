// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/learner/local_round.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::federation {
namespace {

absl::Status OtherKind(std::string_view kind) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "the cluster's learning plan has contributions of another kind than {}; set "
               "`federation.contributions` to \"{}\" on all nodes of the cluster",
               kind, kind);
}

uint64_t NumberFrom(const privacy::dp::RandomBytes& random) {
  std::array<uint8_t, sizeof(uint64_t)> bytes{};
  random(bytes);
  uint64_t number = 0;
  std::memcpy(&number, bytes.data(), sizeof(number));
  return number;
}

// Returns the fields that a contribution of any kind has, without values.
Contribution NewContribution(const LearnerPlan& plan, uint64_t round, const GlobalState& base) {
  return {.plan = plan.Id(),
          .round = round,
          .base_round = base.round,
          .base = base.DigestOf(plan),
          .schedule = plan.schedule,
          .banks = {},
          .floats = {},
          .units = {}};
}

absl::Status CheckTrained(const BankedValues& trained, const LearnerPlan& plan) {
  const bool fits = trained.size() == plan.banks() && std::ranges::all_of(trained, [&](auto& bank) {
                      return bank.size() == plan.values_per_bank;
                    });
  return fits ? absl::OkStatus()
              : Error(absl::StatusCode::kInternal, reasons::kInternal,
                      "training returned {} banks that are not those of the plan; report this",
                      trained.size());
}

// A node with few lessons takes few steps: they would bring the adapter of all nodes far from what
// it knew, round after round, for what few texts say.
LearnerPlan::Local StepsFor(const LearnerPlan::Local& local, size_t lessons) {
  LearnerPlan::Local steps = local;
  const size_t once = (lessons + local.batch - 1) / local.batch;
  steps.steps = static_cast<uint32_t>(std::clamp<size_t>(once, 1, local.steps));
  return steps;
}

void AddBank(uint32_t bank, const std::vector<float>& trained, const std::vector<float>& from,
             Contribution* contribution) {
  std::vector<float> delta(trained.size());
  std::ranges::transform(trained, from, delta.begin(), std::minus<>());
  if (std::ranges::all_of(delta, [](float value) { return value == 0; })) {
    return;
  }
  contribution->banks.push_back(bank);
  contribution->floats.insert(contribution->floats.end(), delta.begin(), delta.end());
}

// Returns the lessons with which a unit takes part: all, or some of many, each equally likely.
std::vector<size_t> ChosenLessons(std::vector<size_t> lessons,
                                  const privacy::dp::RandomBytes& random) {
  if (lessons.size() <= limits::kMaxUnitLessons) {
    return lessons;
  }
  for (size_t i = 0; i < limits::kMaxUnitLessons; ++i) {
    // A remainder of 64 bits prefers none of a million lessons by more than 2^-44.
    std::swap(lessons[i], lessons[i + NumberFrom(random) % (lessons.size() - i)]);
  }
  lessons.resize(limits::kMaxUnitLessons);
  return lessons;
}

// Adds the clipped gradients of some units.
class UnitAdder {
 public:
  UnitAdder(const GlobalState& base, LessonTrainer& trainer, privacy::UnitSum* sum)
      : base_(base), trainer_(trainer), sum_(sum) {}

  absl::Status Add(std::span<const size_t> sampled, const LessonUnits& units,
                   const privacy::dp::RandomBytes& random) {
    const size_t values = sum_->values();
    gradients_.assign(sampled.size() * values, 0.0F);
    std::vector<LessonTrainer::Draw> draws;
    std::vector<float*> places;
    for (size_t i = 0; i < sampled.size(); ++i) {
      for (const size_t lesson : ChosenLessons(units[sampled[i]], random)) {
        draws.push_back({.lesson = lesson, .seed = NumberFrom(random)});
        places.push_back(gradients_.data() + i * values);
      }
    }
    for (size_t begin = 0; begin < draws.size(); begin += limits::kGradientsAtOnce) {
      const size_t count = std::min(limits::kGradientsAtOnce, draws.size() - begin);
      RETURN_IF_ERROR(trainer_.Gradients(base_.values, std::span(draws).subspan(begin, count),
                                         std::span(places).subspan(begin, count)));
    }
    for (size_t i = 0; i < sampled.size(); ++i) {
      RETURN_IF_ERROR(sum_->Add(std::span(gradients_).subspan(i * values, values)));
    }
    return absl::OkStatus();
  }

 private:
  const GlobalState& base_;
  LessonTrainer& trainer_;
  privacy::UnitSum* sum_;
  std::vector<float> gradients_;
};

}  // namespace

absl::StatusOr<LocalDelta> DeltaContribution(const LearnerPlan& plan, uint64_t round,
                                             const GlobalState& base, LessonTrainer& trainer,
                                             uint64_t seed) {
  if (plan.kind != ContributionKind::kDelta) {
    return OtherKind("delta");
  }
  RETURN_IF_ERROR(CheckState(base, plan));
  ASSIGN_OR_RETURN(const LessonTrainer::Trained trained,
                   trainer.Train(base.values, StepsFor(plan.local, trainer.lessons()), seed));
  RETURN_IF_ERROR(CheckTrained(trained.values, plan));
  LocalDelta local{.contribution = NewContribution(plan, round, base), .loss = trained.loss};
  local.contribution.schedule = HistogramOf(trained.maskings);
  for (uint32_t bank = 0; bank < plan.banks(); ++bank) {
    AddBank(bank, trained.values[bank], base.values[bank], &local.contribution);
  }
  RETURN_IF_ERROR(CheckContribution(local.contribution, plan, round));
  return local;
}

absl::StatusOr<privacy::UnitSum> GradientSum(const LearnerPlan& plan, const GlobalState& base,
                                             LessonTrainer& trainer, const LessonUnits& units,
                                             double sampling_rate,
                                             const privacy::dp::RandomBytes& random) {
  if (plan.kind != ContributionKind::kGradient) {
    return OtherKind("gradient");
  }
  RETURN_IF_ERROR(CheckState(base, plan));
  ASSIGN_OR_RETURN(privacy::UnitSum sum,
                   privacy::UnitSum::Create(plan.grid, plan.clip_norm,
                                            plan.banks() * size_t{plan.values_per_bank}));
  const std::vector<size_t> sample = privacy::PoissonSample(units.size(), sampling_rate, random);
  UnitAdder adder(base, trainer, &sum);
  for (size_t begin = 0; begin < sample.size(); begin += limits::kGradientsAtOnce) {
    const size_t count = std::min(limits::kGradientsAtOnce, sample.size() - begin);
    RETURN_IF_ERROR(adder.Add(std::span(sample).subspan(begin, count), units, random));
  }
  return sum;
}

absl::StatusOr<Contribution> GradientContribution(const LearnerPlan& plan, uint64_t round,
                                                  const GlobalState& base, std::vector<int32_t> sum,
                                                  Contribution::Noise noise) {
  Contribution contribution = NewContribution(plan, round, base);
  contribution.noise = noise;
  contribution.banks.resize(plan.banks());
  std::iota(contribution.banks.begin(), contribution.banks.end(), 0U);
  contribution.units = std::move(sum);
  std::ranges::transform(contribution.units, contribution.units.begin(), std::negate<>());
  RETURN_IF_ERROR(CheckContribution(contribution, plan, round));
  return contribution;
}

}  // namespace ruvd::federation
