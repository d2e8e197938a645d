// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/learner/privacy_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/contribution.h"
#include "federation/learner/local_round.h"
#include "privacy/dp/distributed_gaussian.h"
#include "privacy/dp/snr.h"
#include "privacy/dp/zcdp.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "privacy/release/unit_release.h"

namespace ruvd::federation {
namespace {

using privacy::dp::RdpCurve;

constexpr double kUnitStep = 1.25;
constexpr double kGrowthOfSignal = 0.4;
// Shares of noise cost a little more than their sum would as one draw; this raise is then enough.
constexpr double kRaise = 1.002;
constexpr int kMostRaises = 64;
constexpr int kMostDoublings = 12;
constexpr double kEpsilonStep = 1.05;
constexpr double kLargestEpsilon = 100;
constexpr double kRateTolerance = 1e-6;

bool IsWholeNode(privacy::PrivacyUnit unit) {
  return unit == privacy::PrivacyUnit::kNode;
}

// Says what a node with so many units takes part with.
std::string UnitsText(privacy::PrivacyUnit unit, size_t units) {
  return IsWholeNode(unit) ? "all lessons as one unit"
                           : fmt::format("{} {}s", units, privacy::UnitName(unit));
}

absl::Status CheckUnits(const PrivacyRequest& request) {
  const bool whole = IsWholeNode(request.budget.unit);
  const bool fits = whole ? request.units == 1 : request.units >= 2;
  return fits ? absl::OkStatus()
              : Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                      "cannot plan rounds in which a node has {} {}s; {}", request.units,
                      privacy::UnitName(request.budget.unit),
                      whole ? "as a whole it is one unit" : "give at least two of them");
}

absl::Status CheckRequest(const PrivacyRequest& request) {
  RETURN_IF_ERROR(CheckUnits(request));
  const bool nodes = request.masked ? request.nodes >= limits::kMinCliqueMembers &&
                                          request.nodes <= limits::kMaxCliqueMembers &&
                                          request.tolerated < request.nodes
                                    : request.nodes >= 1;
  if (!nodes || request.max_batch == 0 || request.dimension == 0 || request.budget.rounds == 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "cannot plan {} round(s) of {} node(s) with {} values and samples of {}; give at "
                 "least one round, one value and samples of one, and {} to {} nodes where sums are "
                 "masked",
                 request.budget.rounds, request.nodes, request.dimension, request.max_batch,
                 limits::kMinCliqueMembers, limits::kMaxCliqueMembers);
  }
  return absl::OkStatus();
}

size_t ToleratedOf(const PrivacyRequest& request) {
  return request.tolerated == 0 ? (request.nodes + 2) / 3 : request.tolerated;
}

// How a sum of `grid` is noised.
struct Noise {
  double revealed = 0;  // noise multiplier without the shares of tolerated members
  double whole = 0;     // noise multiplier with all shares
  double rho = 0;
};

absl::StatusOr<Noise> NoiseOf(const PrivacyRequest& request, const privacy::dp::NoiseGrid& grid) {
  const double multiplier = grid.NoiseMultiplier();
  if (!request.masked) {
    return Noise{
        .revealed = multiplier, .whole = multiplier, .rho = privacy::dp::GaussianRho(multiplier)};
  }
  ASSIGN_OR_RETURN(
      const privacy::dp::NoiseShares shares,
      privacy::dp::SplitNoise(grid, static_cast<uint32_t>(request.nodes),
                              static_cast<uint32_t>(ToleratedOf(request)), request.dimension));
  return Noise{.revealed = shares.noise_multiplier,
               .whole = shares.share_units * std::sqrt(static_cast<double>(request.nodes)) /
                        static_cast<double>(grid.clip_units),
               .rho = shares.rho};
}

absl::StatusOr<double> EpsilonOfRounds(RdpCurve round, const privacy::UnitBudget& budget) {
  round *= budget.rounds;
  ASSIGN_OR_RETURN(const privacy::dp::RdpBound bound, privacy::dp::EpsilonOf(round, budget.delta));
  return bound.value;
}

// Plans the noise, and returns how the sum is then noised.
absl::StatusOr<Noise> PlanNoise(const PrivacyRequest& request, PrivacyPlan* plan) {
  ASSIGN_OR_RETURN(double sigma,
                   privacy::dp::NoiseMultiplierWithin(request.budget.epsilon, request.budget.delta,
                                                      plan->sampling_rate, request.budget.rounds));
  for (int raise = 0;; ++raise) {
    ASSIGN_OR_RETURN(plan->grid,
                     privacy::dp::MakeNoiseGrid(request.clip_norm, sigma, request.dimension));
    ASSIGN_OR_RETURN(const Noise noise, NoiseOf(request, plan->grid));
    ASSIGN_OR_RETURN(plan->round_cost, privacy::dp::SampledCurve(plan->sampling_rate, noise.rho));
    ASSIGN_OR_RETURN(plan->epsilon, EpsilonOfRounds(plan->round_cost, request.budget));
    if (plan->epsilon <= request.budget.epsilon || raise == kMostRaises) {
      return noise;
    }
    sigma *= kRaise;
  }
}

// Predicts the signal of a plan whose sampling is known. Only a sum carries noise: of one node's
// batch, or of the batches of all.
absl::Status PredictSignal(const PrivacyRequest& request, const Noise& noise, PrivacyPlan* plan) {
  plan->noise_multiplier = noise.revealed;
  const auto nodes = static_cast<double>(request.nodes);
  const privacy::dp::SnrParameters question{
      .place = privacy::dp::NoiseLocation::kSum,
      .noise_multiplier = noise.whole,
      .dimension = request.dimension,
      .contributors = plan->expected_batch * (request.masked ? nodes : 1),
      .releases = request.masked ? 1 : nodes,
      .signal = request.signal};
  ASSIGN_OR_RETURN(plan->snr_round, privacy::dp::PredictSnr(question));
  plan->snr_run = plan->snr_round * std::sqrt(static_cast<double>(request.budget.rounds));
  return absl::OkStatus();
}

// Plans without a demand on the signal.
absl::StatusOr<PrivacyPlan> Plan(const PrivacyRequest& request) {
  RETURN_IF_ERROR(CheckRequest(request));
  const auto units = static_cast<double>(request.units);
  const double most = IsWholeNode(request.budget.unit) ? units : units / 2;
  PrivacyPlan plan{.expected_batch = std::min(static_cast<double>(request.max_batch), most)};
  plan.sampling_rate = plan.expected_batch / units;
  ASSIGN_OR_RETURN(const Noise noise, PlanNoise(request, &plan));
  if (plan.epsilon > request.budget.epsilon) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "shares of noise on a grid of {} units cost epsilon {:.3f}, above the budget of "
                 "{:.3f}; allow a larger one",
                 plan.grid.clip_units, plan.epsilon, request.budget.epsilon);
  }
  RETURN_IF_ERROR(PredictSignal(request, noise, &plan));
  return plan;
}

// Returns 0 where there is no plan.
double SnrOf(const PrivacyRequest& request) {
  const absl::StatusOr<PrivacyPlan> plan = Plan(request);
  return plan.ok() ? plan->snr_run : 0;
}

PrivacyRequest With(PrivacyRequest request, const std::function<void(PrivacyRequest*)>& change) {
  change(&request);
  return request;
}

// Doubles a quantity until the signal suffices. Returns its value, or "no number".
template <typename T>
std::string LeastByDoubling(PrivacyRequest request, T* (*quantity)(PrivacyRequest*)) {
  for (int i = 0; i < kMostDoublings; ++i) {
    *quantity(&request) *= 2;
    if (SnrOf(request) >= limits::kMinReleaseSnr) {
      return fmt::format("{}", *quantity(&request));
    }
  }
  return "no number of";
}

std::string LeastNodes(PrivacyRequest request) {
  const size_t most = request.masked ? limits::kMaxCliqueMembers : request.nodes * 1000;
  for (++request.nodes; request.nodes <= most;
       request.nodes += request.masked ? 1 : request.nodes) {
    if (SnrOf(request) >= limits::kMinReleaseSnr) {
      return fmt::format("{}", request.nodes);
    }
  }
  return "no number of";
}

std::string LeastEpsilon(PrivacyRequest request) {
  for (; request.budget.epsilon <= kLargestEpsilon; request.budget.epsilon *= kEpsilonStep) {
    if (SnrOf(request) >= limits::kMinReleaseSnr) {
      return fmt::format("an epsilon of {:.2g}", request.budget.epsilon);
    }
  }
  return fmt::format("no epsilon up to {}", kLargestEpsilon);
}

// Returns which number of units for each node suffices; empty for a whole node, which is one.
std::string LeastUnits(const PrivacyRequest& request) {
  return IsWholeNode(request.budget.unit)
             ? ""
             : fmt::format(
                   "{} {}s for each node, ",
                   LeastByDoubling<size_t>(request, [](PrivacyRequest* r) { return &r->units; }),
                   privacy::UnitName(request.budget.unit));
}

absl::Status TooWeak(const PrivacyRequest& request, const PrivacyPlan& plan) {
  return Error(
      absl::StatusCode::kFailedPrecondition, reasons::kSignalTooWeak,
      "the predicted signal of {} rounds is {:.2g} of their noise ({} values, {} node(s) with {}, "
      "noise multiplier {:.3g}), below {}; {} suffices, or else {}{} nodes, or {} rounds",
      request.budget.rounds, plan.snr_run, request.dimension, request.nodes,
      UnitsText(request.budget.unit, request.units), plan.noise_multiplier, limits::kMinReleaseSnr,
      LeastEpsilon(request), LeastUnits(request), LeastNodes(request),
      LeastByDoubling<uint32_t>(request, [](PrivacyRequest* r) { return &r->budget.rounds; }));
}

// What the prediction for a plan of gradients depends on.
absl::StatusOr<privacy::dp::SnrParameters> SnrQuestion(const LearnerPlan& plan,
                                                       const RoundSampling& sampling) {
  const double batch = sampling.rate * static_cast<double>(sampling.units);
  const auto rounds = static_cast<double>(sampling.rounds);
  privacy::dp::SnrParameters question{
      .place = privacy::dp::NoiseLocation::kSum,
      .noise_multiplier = plan.grid.NoiseMultiplier(),
      .dimension = plan.banks() * size_t{plan.values_per_bank},
      .contributors = batch,
      .releases = rounds * static_cast<double>(std::max<size_t>(sampling.nodes, 1)),
      .signal = sampling.signal};
  if (sampling.masked) {
    const size_t members =
        std::clamp(sampling.nodes, limits::kMinCliqueMembers, limits::kMaxCliqueMembers);
    const privacy::masking::MaskLayout layout = LayoutOfSums(plan);
    ASSIGN_OR_RETURN(const privacy::dp::NoiseShares shares,
                     privacy::dp::SplitNoise(plan.grid, static_cast<uint32_t>(members),
                                             layout.ColludersAmong(members), layout.Values()));
    // With all shares, because a missing one would fail the sum
    question.noise_multiplier = shares.share_units * std::sqrt(static_cast<double>(members)) /
                                static_cast<double>(plan.grid.clip_units);
    question.contributors = batch * static_cast<double>(members);
    question.releases = rounds;
  }
  return question;
}

// Returns an epsilon with the two decimals that messages print, never less than it is.
double RoundedUp(double epsilon) {
  return std::ceil(epsilon * 100) / 100;
}

// Says which epsilon a unit must be allowed for samples of `rate`.
std::string EpsilonText(const LearnerPlan& plan, const RoundSampling& sampling, double rate) {
  if (rate > 1) {
    return "At this noise no epsilon suffices";
  }
  const double batch = rate * static_cast<double>(sampling.units);
  if (batch > sampling.max_batch) {
    return fmt::format(
        "A sample of {:.0f} would suffice, but this machine is in time for {:.0f}: set longer "
        "federation.round_seconds on all nodes",
        std::ceil(batch), sampling.max_batch);
  }
  const absl::StatusOr<double> rho = RhoOfRound(plan, sampling.masked);
  const absl::StatusOr<RdpCurve> curve =
      rho.ok() ? privacy::dp::SampledCurve(rate, *rho) : rho.status();
  const absl::StatusOr<double> epsilon =
      curve.ok()
          ? EpsilonOfRounds(*curve,
                            {.unit = plan.unit, .delta = sampling.delta, .rounds = sampling.rounds})
          : curve.status();
  return epsilon.ok() ? fmt::format(
                            "Epsilon {:.2f} suffices, which hides a {} in {} rounds that sample "
                            "{:.3g} of {}",
                            RoundedUp(*epsilon), privacy::UnitName(plan.unit), sampling.rounds,
                            batch, IsWholeNode(plan.unit) ? "it in the mean" : "them")
                      : fmt::format("An epsilon is not known ({})", MessageOf(epsilon.status()));
}

}  // namespace

double SignalOf(double lessons_each, double signal_of_lesson) {
  const double counted =
      std::clamp(lessons_each, 1.0, static_cast<double>(limits::kMaxUnitLessons));
  return std::min(1.0, signal_of_lesson * std::pow(counted, kGrowthOfSignal));
}

size_t PublicUnits(size_t units) {
  if (units == 0) {
    return 0;
  }
  double step = 1;
  while (std::floor(step * kUnitStep) <= static_cast<double>(units)) {
    step *= kUnitStep;
  }
  return static_cast<size_t>(step);
}

absl::StatusOr<PrivacyPlan> MakePrivacyPlan(const PrivacyRequest& request) {
  ASSIGN_OR_RETURN(PrivacyPlan plan, Plan(request));
  if (plan.snr_run < limits::kMinReleaseSnr) {
    return TooWeak(request, plan);
  }
  return plan;
}

absl::StatusOr<PrivacyPlan> PlanAtNoise(const PrivacyRequest& request, double noise_multiplier) {
  RETURN_IF_ERROR(CheckRequest(request));
  PrivacyPlan plan;
  ASSIGN_OR_RETURN(plan.grid, privacy::dp::MakeNoiseGrid(request.clip_norm, noise_multiplier,
                                                         request.dimension));
  ASSIGN_OR_RETURN(const Noise noise, NoiseOf(request, plan.grid));
  ASSIGN_OR_RETURN(const double largest, SamplingRateWithin(noise.rho, request.budget));
  const auto units = static_cast<double>(request.units);
  plan.sampling_rate = std::min(largest, static_cast<double>(request.max_batch) / units);
  plan.expected_batch = plan.sampling_rate * units;
  ASSIGN_OR_RETURN(plan.round_cost, privacy::dp::SampledCurve(plan.sampling_rate, noise.rho));
  ASSIGN_OR_RETURN(plan.epsilon, EpsilonOfRounds(plan.round_cost, request.budget));
  RETURN_IF_ERROR(PredictSignal(request, noise, &plan));
  return plan;
}

absl::StatusOr<PlanAlternatives> Alternatives(const PrivacyRequest& request) {
  RETURN_IF_ERROR(Plan(request).status());
  return PlanAlternatives{
      .twice_units = SnrOf(With(request, [](PrivacyRequest* r) { r->units *= 2; })),
      .one_node_more = SnrOf(With(request, [](PrivacyRequest* r) { ++r->nodes; })),
      .twice_rounds = SnrOf(With(request, [](PrivacyRequest* r) { r->budget.rounds *= 2; })),
      .half_rank = SnrOf(With(request, [](PrivacyRequest* r) {
        r->dimension = std::max<size_t>(r->dimension / 4, 1);
      }))};
}

absl::StatusOr<double> SamplingRateWithin(double rho, const privacy::UnitBudget& budget) {
  const auto within = [&](double rate) -> absl::StatusOr<bool> {
    ASSIGN_OR_RETURN(const RdpCurve round, privacy::dp::SampledCurve(rate, rho));
    ASSIGN_OR_RETURN(const double epsilon, EpsilonOfRounds(round, budget));
    return epsilon <= budget.epsilon;
  };
  ASSIGN_OR_RETURN(const bool all, within(1));
  if (all) {
    return 1.0;
  }
  double low = limits::kMinSamplingRate;
  double high = 1;
  ASSIGN_OR_RETURN(const bool any, within(low));
  if (!any) {
    ASSIGN_OR_RETURN(const RdpCurve least, privacy::dp::SampledCurve(low, rho));
    ASSIGN_OR_RETURN(const double epsilon, EpsilonOfRounds(least, budget));
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "no sampling rate keeps {} rounds of rho {:.3g} within epsilon {:.3f} of a {}; "
                 "{:.2f} is the least that any sample needs: allow more, or fewer rounds, or set "
                 "more privacy.noise on all nodes",
                 budget.rounds, rho, budget.epsilon, privacy::UnitName(budget.unit),
                 RoundedUp(epsilon));
  }
  while (high > low * (1 + kRateTolerance)) {
    const double middle = std::sqrt(low * high);
    ASSIGN_OR_RETURN(const bool fits, within(middle));
    (fits ? low : high) = middle;
  }
  return low;
}

absl::StatusOr<double> RhoOfRound(const LearnerPlan& plan, bool masked) {
  return masked ? privacy::LargestShareRho(LayoutOfSums(plan))
                : absl::StatusOr<double>(privacy::dp::GaussianRho(plan.grid.NoiseMultiplier()));
}

absl::StatusOr<double> PredictSnr(const LearnerPlan& plan, const RoundSampling& sampling) {
  ASSIGN_OR_RETURN(const privacy::dp::SnrParameters question, SnrQuestion(plan, sampling));
  return privacy::dp::PredictSnr(question);
}

absl::Status RequireSignal(const LearnerPlan& plan, const RoundSampling& sampling, double min_snr) {
  ASSIGN_OR_RETURN(const privacy::dp::SnrParameters question, SnrQuestion(plan, sampling));
  ASSIGN_OR_RETURN(const double snr, privacy::dp::PredictSnr(question));
  if (snr >= min_snr) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kSignalTooWeak,
               "the predicted signal of {} rounds of {} node(s) like this one is {:.2g} of their "
               "noise ({} values, {}, of which a round samples {:.3g}, noise multiplier {:.3g}), "
               "below {}; nothing was released. {}; or add {}, or choose a smaller rank",
               sampling.rounds, std::max<size_t>(sampling.nodes, 1), snr, question.dimension,
               UnitsText(plan.unit, sampling.units), question.contributors,
               question.noise_multiplier, min_snr,
               // The signal grows with the sample; the margin is for rounding.
               EpsilonText(plan, sampling, 1.001 * sampling.rate * min_snr / std::max(snr, 1e-12)),
               IsWholeNode(plan.unit) ? "nodes" : "lessons or nodes");
}

}  // namespace ruvd::federation
