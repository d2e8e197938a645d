// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/learner/contribution.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <set>
#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "federation/reasons.h"
#include "tests/federation/learner_fixture.h"
#include "tests/paths.h"

namespace ruvd::test {
namespace {

using federation::Contribution;
using federation::ContributionKind;
using federation::LearnerPlan;

constexpr uint64_t kAnyRound = std::numeric_limits<uint64_t>::max();

// The worked examples of docs/wire-format.md; the bytes and the ids come from Python's struct.
constexpr char kDeltaExample[] =
    "0100010100b09923a0b3af90388c741d4836e5b0eb709930450c95f810778be0"
    "19b2667743090000000000000008000000000000003333333333333333333333"
    "3333333333333333333333333333333333333333339a199a199a199a199a1999"
    "19991999199919991901000100000001010000803f00000000000000bf000080"
    "3e";
constexpr char kSumExample[] =
    "01000203022ebc196c6c9e0a3597e299449bc8fcee080e8f1d7d7b2a6fc18738"
    "1c5ffb438f090000000000000008000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000009a199a199a199a199a1999"
    "19991999199919991904f70002000002000105000000fbffffff00000000409c"
    "0000010000000200000003000000fcffffff";

void ExpectInTheDocument(const std::string& hex) {
  std::ifstream file(SourceDir() + "/docs/wire-format.md");
  std::string document((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::erase_if(document, [](char c) { return c == ' ' || c == '\n'; });
  EXPECT_NE(document.find(hex), std::string::npos) << hex;
}

LearnerPlan ExamplePlan(ContributionKind kind) {
  LearnerPlan plan;
  plan.frame_id.fill(0x22);
  plan.rank = 2;
  plan.boundaries = {0.5F};
  plan.values_per_bank = 4;
  plan.kind = kind;
  if (kind == ContributionKind::kGradient) {
    plan.grid = {.exponent = -9, .clip_units = 512, .sigma_units = 300};
  }
  return plan;
}

TEST(Contribution, OfADeltaIsTheWorkedExample) {
  const LearnerPlan plan = ExamplePlan(ContributionKind::kDelta);
  EXPECT_EQ(ToHex(plan.Id()), "b09923a0b3af90388c741d4836e5b0eb709930450c95f810778be019b2667743");
  Contribution delta{.plan = plan.Id(),
                     .round = 9,
                     .base_round = 8,
                     .schedule = plan.schedule,
                     .banks = {1},
                     .floats = {1, 0, -0.5F, 0.25F},
                     .units = {}};
  delta.base.fill(0x33);
  const std::string bytes = EncodeContribution(delta, plan);
  EXPECT_EQ(ToHex(AsBytes(bytes)), kDeltaExample);
  EXPECT_EQ(*DecodeContribution(AsBytes(bytes), plan), delta);
  ExpectInTheDocument(kDeltaExample);
  ExpectInTheDocument(ToHex(plan.Id()));
}

TEST(Contribution, OfASumIsTheWorkedExample) {
  const LearnerPlan plan = ExamplePlan(ContributionKind::kGradient);
  EXPECT_EQ(ToHex(plan.Id()), "2ebc196c6c9e0a3597e299449bc8fcee080e8f1d7d7b2a6fc187381c5ffb438f");
  const std::vector<int32_t> units = {5, -5, 0, 40'000, 1, 2, 3, -4};
  const auto sum = ContributionOfSum(plan, 9, units, 4);
  ASSERT_TRUE(sum.ok()) << sum.status();
  const std::string bytes = EncodeContribution(*sum, plan);
  EXPECT_EQ(ToHex(AsBytes(bytes)), kSumExample);
  EXPECT_EQ(*DecodeContribution(AsBytes(bytes), plan), *sum);
  ExpectInTheDocument(kSumExample);
  ExpectInTheDocument(ToHex(plan.Id()));
}

// ---- Codec

Contribution ArbitraryContribution(const LearnerPlan& plan) {
  Random random(*rc::gen::arbitrary<uint64_t>());
  Contribution one = SomeContribution(plan, 1 + random.Below(1000), 0, "any", random).contribution;
  one.base_round = one.round - 1 - random.Below(std::min<uint64_t>(one.round, plan.window));
  one.base[0] = static_cast<uint8_t>(random.Next());
  if (random.Bernoulli(0.5)) {
    one.banks = {static_cast<uint32_t>(random.Below(plan.banks()))};
    one.floats.resize(one.floats.size() / plan.banks());
    one.units.resize(one.units.size() / plan.banks());
  }
  if (plan.kind == ContributionKind::kGradient) {
    const bool whole = random.Bernoulli(0.5);
    one.noise = whole ? Contribution::Noise::kWhole : Contribution::Noise::kNone;
    if (random.Bernoulli(0.5)) {  // four bytes a value
      one.units[random.Below(one.units.size())] = std::numeric_limits<int32_t>::min();
    }
  }
  return one;
}

LearnerPlan ArbitraryPlan() {
  return *rc::gen::arbitrary<bool>() ? DeltaPlan() : GradientPlan();
}

RC_GTEST_PROP(Contribution, SurvivesEncoding, ()) {
  const LearnerPlan plan = ArbitraryPlan();
  const Contribution one = ArbitraryContribution(plan);
  RC_ASSERT(CheckContribution(one, plan, kAnyRound).ok());
  const auto decoded = DecodeContribution(AsBytes(EncodeContribution(one, plan)), plan);
  RC_ASSERT(decoded.ok());
  RC_ASSERT(*decoded == one);
}

RC_GTEST_PROP(Contribution, RefusesEveryTruncationAndExtension, ()) {
  const LearnerPlan plan = ArbitraryPlan();
  std::string bytes = EncodeContribution(ArbitraryContribution(plan), plan);
  for (size_t length = 0; length < bytes.size(); ++length) {
    RC_ASSERT(!DecodeContribution(AsBytes(bytes).first(length), plan).ok());
  }
  bytes += '\0';
  RC_ASSERT(!DecodeContribution(AsBytes(bytes), plan).ok());
}

// A flipped bit is refused, or it gives another contribution that encodes to just these bytes.
RC_GTEST_PROP(Contribution, AFlippedBitIsRefusedOrHarmless, ()) {
  const LearnerPlan plan = ArbitraryPlan();
  const std::string bytes = EncodeContribution(ArbitraryContribution(plan), plan);
  const size_t refused_until = 5 + sizeof(Digest);  // version, kind, encoding, noise and plan
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string flipped = bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto decoded = DecodeContribution(AsBytes(flipped), plan);
    if (decoded.ok()) {
      RC_ASSERT(EncodeContribution(*decoded, plan) == flipped);
      RC_ASSERT(CheckContribution(*decoded, plan, kAnyRound).ok());
      const bool noise = bit / 8 == 4;  // only how it was noised is a claim
      RC_ASSERT(bit / 8 >= refused_until || noise);
      for (const std::vector<float>& bank : ValuesOf(*decoded, plan)) {
        RC_ASSERT(std::ranges::all_of(bank, [](float v) { return std::isfinite(v); }));
      }
    }
  }
}

// A header that claims the most values of any plan costs no memory: the bytes must be there.
TEST(Contribution, ClaimsOfManyValuesAreCheckedBeforeMemory) {
  LearnerPlan plan = DeltaPlan();
  plan.values_per_bank = 1'000'000;
  ASSERT_TRUE(plan.Check().ok());
  LearnerPlan small = plan;
  small.values_per_bank = 1;  // it is not hashed, so the plan id is equal
  Random random(1);
  const Contribution one = SomeContribution(small, 5, 0, "small", random).contribution;
  const auto decoded = DecodeContribution(AsBytes(EncodeContribution(one, small)), plan);
  EXPECT_EQ(ReasonOf(decoded.status()), reasons::kUpdateInvalid);
}

// ---- Checks

TEST(Contribution, OfAnotherPlanIsNamed) {
  const LearnerPlan plan = DeltaPlan();
  LearnerPlan other = plan;
  other.max_norm = 8;
  Random random(1);
  const Contribution one = SomeContribution(plan, 5, 0, "one", random).contribution;
  EXPECT_EQ(ReasonOf(CheckContribution(one, other, 5)), reasons::kPlanMismatch);
  EXPECT_EQ(ReasonOf(DecodeContribution(AsBytes(EncodeContribution(one, plan)), other).status()),
            reasons::kPlanMismatch);
}

struct Damage {
  const char* name;
  std::function<void(Contribution*)> apply;
};

TEST(Contribution, OfAnotherFormIsRefused) {
  const LearnerPlan plan = DeltaPlan();
  Random random(1);
  const Contribution good = SomeContribution(plan, 40, 0, "good", random).contribution;
  ASSERT_TRUE(CheckContribution(good, plan, 40).ok());
  const std::vector<Damage> damages = {
      {"round 0", [](auto* c) { c->round = c->base_round = 0; }},
      {"a round to come", [](auto* c) { c->round = 41; }},
      {"a base of its own round", [](auto* c) { c->base_round = 40; }},
      {"a base before the window", [](auto* c) { c->base_round = 40 - 18; }},
      {"no bank", [](auto* c) { c->banks.clear(); }},
      {"a bank twice", [](auto* c) { c->banks = {0, 0}; }},
      {"banks out of order", [](auto* c) { c->banks = {1, 0}; }},
      {"a bank too many", [](auto* c) { c->banks = {0, 2}; }},
      {"a value less", [](auto* c) { c->floats.pop_back(); }},
      {"units in a delta", [](auto* c) { c->units.push_back(1); }},
      {"a value that is none", [](auto* c) { c->floats[3] = NAN; }},
      {"an infinite value", [](auto* c) { c->floats[3] = INFINITY; }},
      {"a schedule of nothing", [](auto* c) { c->schedule = {}; }},
      {"a schedule too long", [](auto* c) { ++c->schedule[4]; }},
      {"a sum of deltas", [](auto* c) { c->members = 4; }},
      {"noise in a delta", [](auto* c) { c->noise = Contribution::Noise::kWhole; }}};
  for (const Damage& damage : damages) {
    Contribution bad = good;
    damage.apply(&bad);
    EXPECT_EQ(ReasonOf(CheckContribution(bad, plan, 40)), reasons::kUpdateInvalid) << damage.name;
  }
  Contribution oldest = good;
  oldest.base_round = 40 - 17;
  EXPECT_TRUE(CheckContribution(oldest, plan, 40).ok());
}

TEST(Contribution, OfAGradientSaysWhatNoiseAndMembersItHas) {
  const LearnerPlan plan = GradientPlan();
  Random random(1);
  Contribution one = SomeContribution(plan, 5, 0, "one", random).contribution;
  EXPECT_TRUE(CheckContribution(one, plan, 5).ok());
  EXPECT_EQ(NoiseVarianceOf(one, plan), 0);
  one.noise = Contribution::Noise::kShares;
  EXPECT_FALSE(CheckContribution(one, plan, 5).ok()) << "of one member";
  // NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): a peer may send any byte
  one.noise = static_cast<Contribution::Noise>(3);
  EXPECT_FALSE(CheckContribution(one, plan, 5).ok());
  one.noise = Contribution::Noise::kWhole;
  EXPECT_TRUE(CheckContribution(one, plan, 5).ok());
  EXPECT_DOUBLE_EQ(NoiseVarianceOf(one, plan), std::pow(160.0 / 128 / 128, 2));
  for (const uint32_t members : {0U, 2U, 3U, 17U}) {
    EXPECT_FALSE(ContributionOfSum(plan, 5, one.units, members).ok()) << members;
  }
  const auto sum = ContributionOfSum(plan, 5, one.units, 4);
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_DOUBLE_EQ(NoiseVarianceOf(*sum, plan), NoiseVarianceOf(one, plan) / 16);
  EXPECT_FALSE(ContributionOfSum(plan, 5, std::span(one.units).first(3), 4).ok());
  EXPECT_FALSE(ContributionOfSum(plan, 0, one.units, 4).ok());
}

TEST(Contribution, ValuesAreUnitsOverTheNominalBatchOfAllMembers) {
  const LearnerPlan plan = GradientPlan();
  std::vector<int32_t> units(2 * size_t{kLearnerValues});
  units[0] = 1024;
  units[kLearnerValues] = -3;
  const auto sum = ContributionOfSum(plan, 5, units, 4);
  ASSERT_TRUE(sum.ok()) << sum.status();
  const federation::BankedValues values = ValuesOf(*sum, plan);
  EXPECT_EQ(values[0][0], 1024.0F / 128 / (4 * 128));
  EXPECT_EQ(values[1][0], static_cast<float>(-3.0 / 128 / (4 * 128)));
  EXPECT_EQ(values[1].size(), kLearnerValues);
}

// ---- The plan

TEST(LearnerPlan, IdHoldsEveryFieldButTheNumberOfValues) {
  const LearnerPlan plan = GradientPlan();
  const std::vector<std::function<void(LearnerPlan*)>> changes = {
      [](auto* p) { p->frame_id[3] ^= 1; },
      [](auto* p) { p->rank = 9; },
      [](auto* p) { p->boundaries = {}; },
      [](auto* p) { p->boundaries[0] = 0.25F; },
      [](auto* p) { p->kind = ContributionKind::kDelta; },
      [](auto* p) { ++p->round_ms; },
      [](auto* p) { ++p->window; },
      [](auto* p) { p->strategy.strategy = federation::Strategy::kHybrid; },
      [](auto* p) { p->strategy.timestep_weight = 2; },
      [](auto* p) { p->strategy.quality_weight = 2; },
      [](auto* p) { p->strategy.schedule_weight = 2; },
      [](auto* p) { p->strategy.staleness_exponent = 1; },
      [](auto* p) { p->strategy.cluster_distance = 0.5; },
      [](auto* p) { p->rule = "mean"; },
      [](auto* p) { p->faulty = 0.2; },
      [](auto* p) { p->quorum = 0.25; },
      [](auto* p) { p->outer.kind = federation::OuterOptions::Kind::kMomentum; },
      [](auto* p) { p->outer.step = 0.5; },
      [](auto* p) { p->outer.momentum = 0.5; },
      [](auto* p) { p->outer.nesterov = true; },
      [](auto* p) { p->outer.beta1 = 0.5; },
      [](auto* p) { p->outer.beta2 = 0.5; },
      [](auto* p) { p->outer.epsilon = 0.5; },
      [](auto* p) { p->max_norm = 2; },
      [](auto* p) { p->schedule = MaskedIn(0, 4); },
      [](auto* p) { p->local.learning_rate = 1e-3; },
      [](auto* p) { ++p->local.steps; },
      [](auto* p) { ++p->local.batch; },
      [](auto* p) { p->local.prox = 0.1; },
      [](auto* p) { p->local.hold = 60; },
      [](auto* p) { p->clip_norm = 1; },
      [](auto* p) { --p->grid.exponent; },
      [](auto* p) { ++p->grid.clip_units; },
      [](auto* p) { ++p->grid.sigma_units; },
      [](auto* p) { ++p->nominal_batch; },
      [](auto* p) { p->unit = privacy::PrivacyUnit::kUser; },
      [](auto* p) { p->unit = privacy::PrivacyUnit::kNode; }};
  std::set<Digest> ids = {plan.Id()};
  for (const auto& change : changes) {
    LearnerPlan changed = plan;
    change(&changed);
    ids.insert(changed.Id());
  }
  EXPECT_EQ(ids.size(), changes.size() + 1);
  LearnerPlan longer = plan;
  ++longer.values_per_bank;
  EXPECT_EQ(longer.Id(), plan.Id());
}

TEST(LearnerPlan, CheckNamesTheFieldThatIsOutOfRange) {
  struct Case {
    const char* said;
    std::function<void(LearnerPlan*)> change;
  };
  const std::vector<Case> cases = {
      {"rank", [](auto* p) { p->rank = 0; }},
      {"boundaries", [](auto* p) { p->boundaries = {0.5F, 0.5F}; }},
      {"boundaries", [](auto* p) { p->boundaries = {1}; }},
      {"values", [](auto* p) { p->values_per_bank = 0; }},
      {"values", [](auto* p) { p->values_per_bank = 2'000'000; }},
      {"schedule", [](auto* p) { p->schedule = {}; }},
      {"round", [](auto* p) { p->round_ms = 0; }},
      {"window", [](auto* p) { p->window = 0; }},
      {"window", [](auto* p) { p->window = 1000; }},
      {"staleness_exponent", [](auto* p) { p->strategy.staleness_exponent = 0.3; }},
      {"rule", [](auto* p) { p->rule = "best"; }},
      {"faulty", [](auto* p) { p->faulty = 0.5; }},
      {"quorum", [](auto* p) { p->quorum = 1.5; }},
      {"quorum", [](auto* p) { p->quorum = NAN; }},
      {"max_norm", [](auto* p) { p->max_norm = NAN; }},
      {"outer step", [](auto* p) { p->outer.step = 2; }},
      {"clip_norm", [](auto* p) { p->clip_norm = 0; }},
      {"nominal_batch", [](auto* p) { p->nominal_batch = 0; }},
      {"hold is -1", [](auto* p) { p->local.hold = -1; }},
      {"hold is nan", [](auto* p) { p->local.hold = NAN; }},
      {"Fisher information of 0 of 74 values", [](auto* p) { p->local.hold = 2; }},
      {"Fisher information of 73 of 74 values",
       [](auto* p) {
         p->local.hold = 2;
         p->fisher = std::make_shared<const std::vector<float>>(73, 0.5F);
       }},
      {"only Adam",
       [](auto* p) {
         p->local.hold = 2;
         p->outer = {};
       }},
      {"grid", [](auto* p) { p->grid.clip_units = 1; }},
      {"grid", [](auto* p) { p->grid.exponent = 65; }}};
  ASSERT_TRUE(GradientPlan().Check().ok()) << GradientPlan().Check();
  ASSERT_TRUE(DeltaPlan().Check().ok()) << DeltaPlan().Check();
  for (const Case& one : cases) {
    LearnerPlan plan = GradientPlan();
    one.change(&plan);
    EXPECT_NE(MessageOf(plan.Check()).find(one.said), std::string::npos)
        << one.said << ": " << plan.Check();
  }
  LearnerPlan local = DeltaPlan();
  local.local.steps = 0;
  EXPECT_FALSE(local.Check().ok());
  for (const double hold : {-1.0, double{NAN}, double{INFINITY}}) {
    local = DeltaPlan();
    local.local.hold = hold;
    EXPECT_NE(MessageOf(local.Check()).find("hold"), std::string::npos) << hold;
  }
}

TEST(LearnerPlan, PrivateTiersHaveNoQuality) {
  for (LearnerPlan plan : {DeltaPlan(), GradientPlan()}) {
    const bool open = plan.kind == ContributionKind::kDelta;
    plan.strategy = {.strategy = federation::Strategy::kQualityWeighted};
    EXPECT_EQ(plan.Check().ok(), open);
    plan.strategy = {.strategy = federation::Strategy::kHybrid};
    EXPECT_EQ(plan.Check().ok(), open);
    plan.strategy.quality_weight = 0;
    EXPECT_TRUE(plan.Check().ok());
  }
}

TEST(LearnerPlan, RoundsFollowTheClock) {
  LearnerPlan plan;
  plan.round_ms = 1000;
  EXPECT_EQ(federation::RoundAt(plan, -5), 0u);
  EXPECT_EQ(federation::RoundAt(plan, 999), 0u);
  EXPECT_EQ(federation::RoundAt(plan, 1000), 1u);
  EXPECT_EQ(federation::RoundAt(plan, 1'999'999), 1999u);
  EXPECT_EQ(federation::ContributionKindByName("delta"), ContributionKind::kDelta);
  EXPECT_EQ(federation::ContributionKindByName("gradient"), ContributionKind::kGradient);
  EXPECT_EQ(federation::ContributionKindByName("Delta"), std::nullopt);
}

}  // namespace
}  // namespace ruvd::test
