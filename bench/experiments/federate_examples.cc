// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_examples.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/numerics/optimizer.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/dp/sampled_gaussian.h"
#include "privacy/dp/snr.h"
#include "privacy/dp/zcdp.h"

namespace ruvd::bench {
namespace {

double UniformFrom(const privacy::dp::RandomBytes& random) {
  std::array<uint8_t, 8> bytes{};
  random(bytes);
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data(), sizeof(bits));
  return std::ldexp(static_cast<double>(bits >> 11), -53);
}

}  // namespace

absl::StatusOr<privacy::LedgerCharge> ChargeOf(const privacy::dp::SampledGaussian& mechanism,
                                               double delta) {
  RETURN_IF_ERROR(privacy::dp::CheckSampledGaussian(mechanism));
  privacy::LedgerCharge charge{.unit = privacy::PrivacyUnit::kLesson,
                               .mechanism = privacy::PrivacyMechanism::kSubsampledGaussian,
                               .sigma = mechanism.sigma,
                               .sampling_rate = mechanism.q,
                               .steps = mechanism.steps,
                               .delta = delta,
                               .subject = "federate"};
  ASSIGN_OR_RETURN(charge.curve, privacy::dp::SampledCurve(
                                     mechanism.q, privacy::dp::GaussianRho(mechanism.sigma)));
  charge.curve *= mechanism.steps;
  ASSIGN_OR_RETURN(const privacy::dp::RdpBound bound, privacy::dp::EpsilonOf(charge.curve, delta));
  charge.epsilon = bound.value;
  return charge;
}

absl::StatusOr<ExamplePlan> PlanExamples(const FederateSettings& settings, size_t examples,
                                         size_t nodes, size_t dimension) {
  ExamplePlan plan{.sampling_rate = std::min(1.0, static_cast<double>(settings.budget.batch) /
                                                      static_cast<double>(examples)),
                   .steps = static_cast<uint64_t>(settings.budget.rounds) *
                            static_cast<uint64_t>(settings.budget.steps),
                   .clip = settings.clip};
  plan.expected_batch = plan.sampling_rate * static_cast<double>(examples);
  ASSIGN_OR_RETURN(const double sigma,
                   privacy::dp::NoiseMultiplierWithin(settings.epsilon, settings.delta,
                                                      plan.sampling_rate, plan.steps));
  ASSIGN_OR_RETURN(plan.grid, privacy::dp::MakeNoiseGrid(plan.clip, sigma, dimension));
  ASSIGN_OR_RETURN(
      plan.charge,
      ChargeOf({.q = plan.sampling_rate, .sigma = plan.grid.NoiseMultiplier(), .steps = plan.steps},
               settings.delta));
  const privacy::dp::SnrParameters question{.place = privacy::dp::NoiseLocation::kSum,
                                            .noise_multiplier = plan.charge.sigma,
                                            .dimension = dimension,
                                            .contributors = plan.expected_batch,
                                            .releases = static_cast<double>(plan.steps * nodes),
                                            .signal = settings.signal};
  RETURN_IF_ERROR(privacy::dp::RequireSnr(question));
  ASSIGN_OR_RETURN(plan.snr, privacy::dp::PredictSnr(question));
  return plan;
}

ExampleTraining::ExampleTraining(const Parts& parts, const ExamplePlan& plan,
                                 privacy::dp::DiscreteGaussian noise, bool noised)
    : parts_(parts), plan_(plan), noise_(std::move(noise)), noised_(noised) {}

absl::StatusOr<ExampleTraining> ExampleTraining::Create(const Parts& parts, const ExamplePlan& plan,
                                                        bool noise) {
  ASSIGN_OR_RETURN(privacy::dp::DiscreteGaussian sampler,
                   privacy::dp::DiscreteGaussian::Create(plan.grid.sigma_units));
  return ExampleTraining(parts, plan, std::move(sampler), noise);
}

std::vector<ExampleTraining::Draw> ExampleTraining::Sample() {
  std::vector<Draw> draws;
  for (const inference::TrainingExample& example : parts_.examples) {
    if (UniformFrom(parts_.random) < plan_.sampling_rate) {
      const double seed = std::ldexp(UniformFrom(parts_.random), 53);
      draws.push_back({.text = &example, .seed = static_cast<uint64_t>(seed)});
    }
  }
  return draws;
}

absl::Status ExampleTraining::AddClipped(const federation::BankedValues& cores,
                                         std::span<const Draw> draws, std::vector<int64_t>* sum) {
  // Rounding adds to the norm. Gradients are therefore clipped a little shorter, so that few are
  // clipped again in integers, which rounds towards zero.
  constexpr double kRoom = 1 - 1.0 / 64;
  const size_t values = sum->size();
  std::vector<float> gradients(draws.size() * values);
  std::vector<float*> places(draws.size());
  for (size_t i = 0; i < draws.size(); ++i) {
    places[i] = gradients.data() + i * values;
  }
  std::vector<double> shares(draws.size());
  RETURN_IF_ERROR(parts_.trainer.Gradients(cores, draws, places, shares));
  for (const double share : shares) {
    ++maskings_[inference::train::TenthOfShare(share)];
  }
  std::vector<int32_t> units(values);
  for (float* const place : places) {
    const std::span<float> gradient(place, values);
    if (!std::isfinite(inference::train::ClipNorm(gradient, kRoom * plan_.clip))) {
      continue;  // it counts as zero
    }
    std::ranges::transform(gradient, units.begin(), [&](float value) {
      return static_cast<int32_t>(
          std::lround(std::ldexp(static_cast<double>(value), -plan_.grid.exponent)));
    });
    privacy::dp::ClipIntegers(units, plan_.grid.clip_units);
    std::ranges::transform(units, *sum, sum->begin(),
                           [](int32_t unit, int64_t before) { return before + unit; });
  }
  return absl::OkStatus();
}

absl::StatusOr<federation::BankedValues> ExampleTraining::Step(
    const federation::BankedValues& cores) {
  constexpr size_t kTogether = 8;
  const std::vector<Draw> draws = Sample();
  std::vector<int64_t> sum(parts_.trainer.shape().values());
  for (size_t begin = 0; begin < draws.size(); begin += kTogether) {
    const size_t count = std::min(kTogether, draws.size() - begin);
    RETURN_IF_ERROR(AddClipped(cores, std::span(draws).subspan(begin, count), &sum));
  }
  std::vector<int32_t> noise(sum.size());
  if (noised_) {
    noise_.Sample(parts_.random, noise);
  }
  std::vector<float> change(sum.size());
  for (size_t i = 0; i < sum.size(); ++i) {
    change[i] = static_cast<float>(
        -std::ldexp(static_cast<double>(sum[i] + noise[i]), plan_.grid.exponent) /
        plan_.expected_batch);
  }
  return InBanks(change, cores.size());
}

}  // namespace ruvd::bench
