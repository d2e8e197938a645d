// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests sums over secret samples of units: who is drawn, how much one unit can change, and how a
// release is paid for.

#include "privacy/release/unit_release.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "privacy/dp/distributed_gaussian.h"
#include "privacy/dp/rdp.h"
#include "privacy/dp/rdp_curve.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "tests/privacy/release_fixture.h"

namespace ruvd::privacy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr dp::NoiseGrid kGrid{.exponent = -7, .clip_units = 256, .sigma_units = 512};
constexpr double kClip = 2;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

dp::RandomBytes Seeded(Random& random) {
  return [&random](std::span<uint8_t> out) {
    for (uint8_t& byte : out) {
      byte = static_cast<uint8_t>(random.Next() >> 56);
    }
  };
}

dp::RandomBytes Constant(uint8_t value) {
  return [value](std::span<uint8_t> out) { std::ranges::fill(out, value); };
}

UnitSum SumOf(std::vector<std::vector<float>> gradients, size_t values) {
  UnitSum sum = UnitSum::Create(kGrid, kClip, values).value();
  for (std::vector<float>& gradient : gradients) {
    EXPECT_TRUE(sum.Add(gradient).ok());
  }
  return sum;
}

double NormOf(const std::vector<int64_t>& units) {
  return std::sqrt(std::transform_reduce(
      units.begin(), units.end(), 0.0, std::plus<>(),
      [](int64_t unit) { return static_cast<double>(unit) * static_cast<double>(unit); }));
}

TEST(PoissonSampleTest, DrawsEachUnitByItsOwnCoin) {
  constexpr size_t kUnits = 40'000;
  for (const double rate : {0.02, 0.25, 0.9}) {
    Random random(5);
    const std::vector<size_t> sample = PoissonSample(kUnits, rate, Seeded(random));
    const double deviation = std::sqrt(kUnits * rate * (1 - rate));
    EXPECT_NEAR(static_cast<double>(sample.size()), kUnits * rate, 5 * deviation);
    EXPECT_TRUE(std::ranges::is_sorted(sample, std::ranges::less_equal()));
    // A unit says nothing about its neighbour.
    size_t pairs = 0;
    for (size_t i = 0; i + 1 < sample.size(); ++i) {
      pairs += sample[i + 1] == sample[i] + 1 ? 1 : 0;
    }
    EXPECT_NEAR(static_cast<double>(pairs), kUnits * rate * rate,
                6 * std::sqrt(kUnits * rate * rate));
  }
}

TEST(PoissonSampleTest, IsExactAtItsEnds) {
  EXPECT_THAT(PoissonSample(3, 0, Constant(0)), IsEmpty());
  EXPECT_THAT(PoissonSample(3, 1, Constant(0xff)), ElementsAre(0, 1, 2));
  EXPECT_THAT(PoissonSample(3, 1 - 0x1p-53, Constant(0xff)), IsEmpty());
  EXPECT_THAT(PoissonSample(2, 0x1p-64, Constant(0)), ElementsAre(0, 1));
  EXPECT_THAT(PoissonSample(2, 0x1p-65, Constant(0)), IsEmpty()) << "the rate is never exceeded";
  EXPECT_THAT(PoissonSample(0, 1, Constant(0)), IsEmpty());
  // Half of all coins: those whose highest byte is below 128.
  EXPECT_THAT(PoissonSample(1, 0.5, Constant(0x7f)), ElementsAre(0));
  EXPECT_THAT(PoissonSample(1, 0.5, Constant(0x80)), IsEmpty());
}

TEST(UnitSumTest, IsTheSumOfClippedAndRoundedGradients) {
  constexpr size_t kValues = 7;
  Random random(2);
  std::vector<std::vector<float>> gradients(20, std::vector<float>(kValues));
  std::vector<double> expected(kValues);
  for (std::vector<float>& gradient : gradients) {
    const double size = std::exp2(random.Uniform() * 8 - 6);
    double squares = 0;
    for (float& value : gradient) {
      value = static_cast<float>(random.Normal() * size);
      squares += static_cast<double>(value) * static_cast<double>(value);
    }
    const double scale = std::min(1.0, kClip / std::sqrt(squares));
    for (size_t i = 0; i < kValues; ++i) {
      expected[i] += static_cast<double>(gradient[i]) * scale;
    }
  }
  const UnitSum sum = SumOf(gradients, kValues);
  EXPECT_EQ(sum.units(), gradients.size());
  EXPECT_EQ(sum.not_finite(), 0U);
  const std::vector<int32_t> plain = sum.Plain();
  for (size_t i = 0; i < kValues; ++i) {
    // Half a unit of rounding for each, and 1/64 of the clip norm that is kept free.
    EXPECT_NEAR(plain[i] * std::ldexp(1.0, kGrid.exponent), expected[i], 20 * (kClip / 64 + 0.01));
  }
}

TEST(UnitSumTest, AShortGradientIsOnlyRounded) {
  EXPECT_THAT(SumOf({{1.0F, -0.5F, 0.00390625F, -0.0039F}}, 4).Plain(),
              ElementsAre(128, -64, 1, 0));
}

TEST(UnitSumTest, AGradientThatIsNotFiniteCountsAsZero) {
  for (const float bad : {kInfinity, -kInfinity, NAN}) {
    const UnitSum sum = SumOf({{1.0F, 0.5F}, {0.25F, bad}}, 2);
    EXPECT_THAT(sum.Plain(), ElementsAre(128, 64));
    EXPECT_EQ(sum.units(), 2U);
    EXPECT_EQ(sum.not_finite(), 1U);
  }
}

RC_GTEST_PROP(UnitSumProperties, OneUnitChangesItByTheClipNormAtMost, ()) {
  const auto values = *rc::gen::inRange<size_t>(1, 40);
  const auto number = rc::gen::oneOf(
      rc::gen::map(rc::gen::inRange(-1000, 1000), [](int n) { return static_cast<float>(n) / 64; }),
      rc::gen::element(0.0F, kInfinity, -kInfinity, static_cast<float>(NAN), 3e38F, -3e38F, 1e-44F,
                       2.0F, -2.0F));
  const auto gradient = rc::gen::container<std::vector<float>>(values, number);
  const auto others = *rc::gen::container<std::vector<std::vector<float>>>(gradient);
  std::vector<std::vector<float>> all = others;
  all.push_back(*gradient);
  const std::vector<int32_t> with = SumOf(all, values).Plain();
  const std::vector<int32_t> without = SumOf(others, values).Plain();
  std::vector<int64_t> difference(values);
  std::ranges::transform(with, without, difference.begin(), std::minus<int64_t>());
  RC_ASSERT(NormOf(difference) <= static_cast<double>(kGrid.clip_units));
}

TEST(UnitSumTest, NoiseIsAddedInIntegers) {
  constexpr size_t kValues = 20'000;
  const dp::DiscreteGaussian noise = dp::DiscreteGaussian::Create(kGrid.sigma_units).value();
  UnitSum sum = UnitSum::Create(kGrid, kClip, kValues).value();
  std::vector<float> gradient(kValues);
  gradient[3] = 1;
  ASSERT_TRUE(sum.Add(gradient).ok());
  Random random(8);
  const std::vector<int32_t> noised = sum.Noised(noise, Seeded(random));
  double squares = 0;
  for (const int32_t unit : noised) {
    squares += static_cast<double>(unit) * unit;
  }
  EXPECT_NEAR(std::sqrt(squares / kValues), kGrid.sigma_units, 0.03 * kGrid.sigma_units);
  std::vector<int32_t> drawn(kValues);
  Random again(8);
  noise.Sample(Seeded(again), drawn);
  drawn[3] += 128;
  EXPECT_EQ(noised, drawn);
}

TEST(UnitSumTest, NumbersBeyondTheirTypeAreClamped) {
  constexpr dp::NoiseGrid kFine{
      .exponent = -16, .clip_units = limits::kMaxGridUnits, .sigma_units = 1};
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  UnitSum sum = UnitSum::Create(kFine, 4, 2).value();
  for (int i = 0; i < 20'000; ++i) {
    std::vector<float> gradient = {3, -2.5F};
    ASSERT_TRUE(sum.Add(gradient).ok());
  }
  EXPECT_THAT(sum.Plain(), ElementsAre(kMost, -kMost));
  Random random(1);
  EXPECT_THAT(sum.Noised(dp::DiscreteGaussian::Create(1).value(), Seeded(random)),
              ElementsAre(kMost, -kMost));
}

// What is above the limit is cut before the noise, so the input fits what a masked sum takes.
TEST(UnitSumTest, ALimitHoldsBeforeTheNoise) {
  UnitSum sum = SumOf({{2, 0}, {2, 0}, {2, 0}, {0, -2}}, 2);
  const std::vector<int32_t> plain = sum.Plain();
  ASSERT_GT(plain[0], 600);
  const dp::DiscreteGaussian noise = dp::DiscreteGaussian::Create(1).value();
  Random random(1);
  Random again(1);
  Random drawn_again(1);
  std::vector<int32_t> drawn(2);
  noise.Sample(Seeded(drawn_again), drawn);
  EXPECT_THAT(sum.Noised(noise, Seeded(random), 100), ElementsAre(100 + drawn[0], -100 + drawn[1]));
  EXPECT_EQ(sum.Noised(noise, Seeded(again), 1000),
            (std::vector<int32_t>{plain[0] + drawn[0], plain[1] + drawn[1]}));
}

TEST(UnitSumTest, WrongSizesAreRefused) {
  EXPECT_EQ(ReasonOf(UnitSum::Create(kGrid, 0, 1).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(UnitSum::Create(kGrid, NAN, 1).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(UnitSum::Create(kGrid, kClip, 0).status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(UnitSum::Create(kGrid, kClip, limits::kMaxUpdateValues + 1).status()),
            reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(UnitSum::Create({.clip_units = 0}, kClip, 1).status()),
            reasons::kInvalidArgument);
  UnitSum sum = UnitSum::Create(kGrid, kClip, 2).value();
  std::vector<float> gradient(3, 1.0F);
  EXPECT_EQ(ReasonOf(sum.Add(gradient)), reasons::kInvalidArgument);
  EXPECT_EQ(sum.units(), 0U);
  EXPECT_THAT(sum.Plain(), ElementsAre(0, 0));
}

// Tries to refute the privacy of a sampled sum of one value: for every half line of outputs the
// share that falls into it must obey p <= e^epsilon p' + delta for two neighbouring data sets.
class Refutation {
 public:
  explicit Refutation(double rate) : with_(Outputs(rate, 2)), without_(Outputs(rate, 1)) {}

  // Returns by how many standard errors the worst half line exceeds the claim.
  double Worst(double claimed_rate) const {
    dp::RdpAccountant claim = dp::RdpAccountant::Create(dp::AllOrders()).value();
    EXPECT_TRUE(claim.Compose({.q = claimed_rate, .sigma = kSmall.NoiseMultiplier()}).ok());
    double worst = -kInfinity;
    for (const double epsilon : {0.1, 0.3, 0.6}) {
      const double delta = claim.Delta(epsilon).value().value;
      for (int at = -60; at <= 200; at += 5) {
        worst = std::max({worst, Excess(with_, without_, at, epsilon, delta),
                          Excess(without_, with_, at, epsilon, delta)});
      }
    }
    return worst;
  }

 private:
  static constexpr dp::NoiseGrid kSmall{.exponent = -6, .clip_units = 64, .sigma_units = 64};
  static constexpr size_t kRuns = 40'000;

  static std::vector<int32_t> Outputs(double rate, size_t units) {
    const dp::DiscreteGaussian noise = dp::DiscreteGaussian::Create(kSmall.sigma_units).value();
    Random random(units);
    std::vector<int32_t> outputs;
    for (size_t run = 0; run < kRuns; ++run) {
      UnitSum sum = UnitSum::Create(kSmall, 1, 1).value();
      for (size_t i = 0; i < PoissonSample(units, rate, Seeded(random)).size(); ++i) {
        std::vector<float> gradient = {5};
        EXPECT_TRUE(sum.Add(gradient).ok());
      }
      outputs.push_back(sum.Noised(noise, Seeded(random)).front());
    }
    return outputs;
  }
  static double Share(const std::vector<int32_t>& outputs, int at) {
    const auto above = std::ranges::count_if(outputs, [at](int32_t value) { return value >= at; });
    return static_cast<double>(above) / static_cast<double>(kRuns);
  }
  static double Excess(const std::vector<int32_t>& a, const std::vector<int32_t>& b, int at,
                       double epsilon, double delta) {
    const double p = Share(a, at);
    const double other = Share(b, at);
    const double error = std::sqrt((p * (1 - p) + std::exp(2 * epsilon) * other * (1 - other)) /
                                       static_cast<double>(kRuns) +
                                   1e-9);
    return (p - std::exp(epsilon) * other - delta) / error;
  }

  std::vector<int32_t> with_;
  std::vector<int32_t> without_;
};

TEST(UnitReleaseTest, TheClaimOfASampledSumIsNotRefuted) {
  EXPECT_LT(Refutation(0.2).Worst(0.2), 5);
}

TEST(UnitReleaseTest, ASampleOfAllUnitsWouldBeNoticed) {
  EXPECT_GT(Refutation(1).Worst(0.2), 5);
}

class PrepareUnitsTest : public testing::Test {
 protected:
  PrepareUnitsTest() {
    world_.ledger.budget = {.unit = PrivacyUnit::kLesson, .epsilon = 8, .delta = 1e-6};
  }
  UnitReleaseTerms Terms() const {
    return {.scope = "support",
            .grid = kGrid,
            .sampling_rate = 0.25,
            .delta = 1e-6,
            .round = 7,
            .oldest_joined = 3,
            .subject = "round 7"};
  }
  absl::StatusOr<PreparedUnits> Prepare(const UnitReleaseTerms& terms) {
    return PrepareUnits(terms, world_.Guards(), SumOf({{1.0F, 0.5F}}, 2), world_.contributors);
  }
  // Returns the reason of a refusal, which must have spent nothing and drawn no noise.
  std::string Refusal(const UnitReleaseTerms& terms) {
    const absl::Status status = Prepare(terms).status();
    EXPECT_THAT(world_.events, IsEmpty());
    return ReasonOf(status);
  }
  ReleaseWorld world_;
};

TEST_F(PrepareUnitsTest, PaysBeforeItDrawsNoise) {
  const PreparedUnits prepared = Prepare(Terms()).value();
  EXPECT_THAT(world_.events, ElementsAre("reserve", "noise", "spend"));
  EXPECT_EQ(prepared.reservation, 1U);
  EXPECT_EQ(prepared.units.size(), 2U);
  const LedgerCharge& charge = world_.ledger.charges.at(0);
  EXPECT_EQ(charge, prepared.charge);
  EXPECT_EQ(charge.mechanism, PrivacyMechanism::kSubsampledGaussian);
  EXPECT_EQ(charge.sigma, 2);
  EXPECT_EQ(charge.sampling_rate, 0.25);
  EXPECT_EQ(charge.curve, dp::SampledCurve(0.25, 1.0 / 8).value());
  EXPECT_EQ(charge.round, 7U);
  EXPECT_EQ(charge.oldest_joined, 3U);
  EXPECT_EQ(charge.subject, "round 7");
  EXPECT_GT(charge.epsilon, 0);
  EXPECT_LT(charge.epsilon, 8);
}

TEST_F(PrepareUnitsTest, AChargeStaysIfItCannotBeSpent) {
  world_.ledger.fail_spend = true;
  EXPECT_FALSE(Prepare(Terms()).ok());
  EXPECT_THAT(world_.events, ElementsAre("reserve", "noise", "spend"));
  EXPECT_EQ(world_.ledger.spent, dp::SampledCurve(0.25, 1.0 / 8).value());
}

TEST_F(PrepareUnitsTest, NothingIsDrawnWithoutABudget) {
  world_.ledger.budget.epsilon = 0.01;
  EXPECT_EQ(Refusal(Terms()), reasons::kPrivacyBudgetSpent);
}

TEST_F(PrepareUnitsTest, AllMustAgree) {
  UnitReleaseTerms terms = Terms();
  terms.scope = "sales";
  EXPECT_EQ(Refusal(terms), reasons::kScopeUnknown);
  for (const ConsentTier tier : {ConsentTier::kPrivate, ConsentTier::kMasked}) {
    world_.tier = tier;
    EXPECT_EQ(Refusal(Terms()), reasons::kConsentMissing);
  }
  world_.tier = ConsentTier::kDp;
  world_.contributors.push_back({.user = "bob", .session = ""});
  EXPECT_EQ(Refusal(Terms()), reasons::kConsentMissing);
  world_.contributors.clear();
  EXPECT_EQ(Refusal(Terms()), reasons::kConsentMissing);
}

TEST_F(PrepareUnitsTest, TermsOutOfRangeAreRefused) {
  UnitReleaseTerms terms = Terms();
  terms.grid.sigma_units = 100;
  EXPECT_EQ(Refusal(terms), reasons::kInvalidArgument) << "the sum was made for other noise";
  for (const double rate : {0.0, 1.5, static_cast<double>(NAN)}) {
    terms = Terms();
    terms.sampling_rate = rate;
    EXPECT_EQ(Refusal(terms), reasons::kInvalidArgument) << rate;
  }
}

// Shares of a clique's sum, each paid from a ledger of its own.
class UnitShareTest : public PrepareUnitsTest {
 protected:
  UnitShareTest() { world_.tier = ConsentTier::kMasked; }

  masking::Clique CliqueOf(size_t members) const {
    masking::Clique clique{.round = {.cluster = {5}, .round = 7}, .layout = layout_.Hash()};
    for (uint8_t i = 1; i <= members; ++i) {
      clique.members.push_back({.id = {i}, .key = {i}});
    }
    return clique;
  }
  absl::StatusOr<NoisedUnitShare> Share(const masking::Clique& clique) {
    return NoiseUnitShare(Terms(), world_.Guards(), SumOf({{1.0F, 0.5F}}, 2), world_.contributors,
                          layout_, clique);
  }
  absl::StatusOr<uint64_t> Pay(const NoisedUnitShare& share) {
    return PayForUnitShare(Terms(), world_.Guards(), SumOf({{1.0F, 0.5F}}, 2), world_.contributors,
                           share.charge);
  }

  masking::MaskLayout layout_ = LayoutOfUnits({1}, {2}, {1, 1}, kGrid);
};

TEST_F(UnitShareTest, PaysForTheShareAndNotForWholeNoise) {
  for (const size_t members : {4, 6, 16}) {
    world_.events.clear();
    const NoisedUnitShare share = Share(CliqueOf(members)).value();
    EXPECT_THAT(world_.events, ElementsAre("noise")) << "nothing is paid before all committed";
    const uint64_t paid = Pay(share).value();
    EXPECT_EQ(paid, world_.ledger.charges.size());
    EXPECT_THAT(world_.events, ElementsAre("noise", "reserve", "spend"));
    const dp::NoiseShares split = dp::SplitNoise(kGrid, static_cast<uint32_t>(members),
                                                 static_cast<uint32_t>((members + 2) / 3), 2)
                                      .value();
    EXPECT_EQ(world_.ledger.charges.back(), share.charge);
    EXPECT_EQ(share.charge.mechanism, PrivacyMechanism::kDistributedGaussian);
    EXPECT_EQ(share.charge.sigma, split.noise_multiplier);
    EXPECT_EQ(share.charge.sampling_rate, 0.25);
    EXPECT_EQ(share.charge.curve, dp::SampledCurve(0.25, split.rho).value());
    EXPECT_EQ(share.charge.round, 7U);
    EXPECT_LT(share.charge.epsilon, 8);
    EXPECT_EQ(share.input.contributors, members);
    // Planned before the clique was known, the round costs no less.
    EXPECT_GE(LargestShareRho(layout_).value(), split.rho);
  }
}

// The colluders take their noise out of the sum, and what is left is as much as the plan demands.
TEST_F(UnitShareTest, TheHonestSharesAddUpToWholeNoise) {
  constexpr size_t kValues = 4000;
  layout_ = LayoutOfUnits({1}, {2}, {kValues}, kGrid);
  for (const size_t members : {4, 9, 16}) {
    const masking::Clique clique = CliqueOf(members);
    const size_t honest = members - (members + 2) / 3;
    UnitSum sum = UnitSum::Create(kGrid, kClip, kValues).value();
    std::vector<float> gradient(kValues);
    gradient[0] = 1;
    ASSERT_TRUE(sum.Add(gradient).ok());
    std::vector<int64_t> total(kValues);
    for (size_t i = 0; i < honest; ++i) {
      const auto share =
          NoiseUnitShare(Terms(), world_.Guards(), sum, world_.contributors, layout_, clique);
      ASSERT_TRUE(share.ok()) << share.status();
      std::ranges::transform(total, share->input.units, total.begin(), std::plus<int64_t>());
    }
    const double deviation = NormOf(total) / std::sqrt(static_cast<double>(kValues));
    EXPECT_GT(deviation, 0.95 * kGrid.sigma_units) << members;
    EXPECT_LT(deviation, 1.1 * kGrid.sigma_units) << members;
  }
}

TEST_F(UnitShareTest, RefusalsCostNothing) {
  masking::Clique other = CliqueOf(4);
  other.layout = {};
  EXPECT_EQ(ReasonOf(Share(other).status()), reasons::kMaskLayoutMismatch);
  EXPECT_EQ(ReasonOf(Share(CliqueOf(3)).status()), reasons::kCliqueInvalid);
  layout_.bank_values = {3};
  EXPECT_EQ(ReasonOf(Share(CliqueOf(4)).status()), reasons::kMaskLayoutMismatch);
  layout_.bank_values = {1, 1};
  for (const ConsentTier tier : {ConsentTier::kPrivate, ConsentTier::kDp}) {
    world_.tier = tier;
    EXPECT_EQ(ReasonOf(Share(CliqueOf(4)).status()), reasons::kConsentMissing);
  }
  world_.tier = ConsentTier::kMasked;
  world_.ledger.budget.epsilon = 0.01;
  EXPECT_EQ(ReasonOf(Share(CliqueOf(4)).status()), reasons::kPrivacyBudgetSpent);
  world_.now_ms = 6000;
  EXPECT_EQ(ReasonOf(Share(CliqueOf(4)).status()), reasons::kConsentMissing);
  EXPECT_THAT(world_.events, IsEmpty());
}

// A consent may end, or the budget may go, between the commitment and the payment.
TEST_F(UnitShareTest, AShareThatMayNoLongerLeaveIsNotPaidFor) {
  const NoisedUnitShare share = Share(CliqueOf(4)).value();
  world_.events.clear();
  const int64_t now_ms = std::exchange(world_.now_ms, 6000);
  EXPECT_EQ(ReasonOf(Pay(share).status()), reasons::kConsentMissing);
  world_.now_ms = now_ms;
  world_.ledger.budget.epsilon = 0.01;
  EXPECT_EQ(ReasonOf(Pay(share).status()), reasons::kPrivacyBudgetSpent);
  EXPECT_THAT(world_.events, IsEmpty());
}

TEST_F(UnitShareTest, TheLayoutTakesAnySample) {
  EXPECT_TRUE(layout_.Check().ok());
  EXPECT_EQ(layout_.ColludersAmong(16), 6U);
  EXPECT_EQ(layout_.MaxUnitsBeforeNoise(), 4096 * kGrid.clip_units);
  const dp::NoiseGrid finest{.clip_units = limits::kMaxGridUnits, .sigma_units = 1};
  const masking::MaskLayout fine = LayoutOfUnits({1}, {2}, {1}, finest);
  EXPECT_EQ(fine.MaxUnitsBeforeNoise(), limits::kMaxMaskUnits);
  EXPECT_TRUE(fine.Check().ok());
}

}  // namespace
}  // namespace ruvd::privacy
