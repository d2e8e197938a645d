// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests the path of an update out of the node: what must be agreed, in which order it is charged,
// and which bytes leave.

#include "privacy/release/update_release.h"

#include <gmock/gmock.h>

#include <cmath>

#include "privacy/dp/rdp_curve.h"
#include "privacy/dp/snr.h"
#include "privacy/dp/zcdp.h"
#include "privacy/limits.h"
#include "privacy/masking/masked_sum.h"
#include "privacy/reasons.h"
#include "privacy/release/release_payload.h"
#include "tests/privacy/release_fixture.h"

namespace ruvd::privacy {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class UpdateReleaseTest : public testing::Test {
 protected:
  // Returns the reason of a refusal, which must have spent nothing and drawn no noise.
  std::string Refusal() {
    const absl::Status status = world_.Prepare().status();
    EXPECT_THAT(world_.events, IsEmpty());
    return ReasonOf(status);
  }
  ReleaseWorld world_;
};

TEST_F(UpdateReleaseTest, PaysBeforeItDrawsNoiseAndBeforeBytesExist) {
  const PreparedRelease release = world_.Prepare().value();
  EXPECT_THAT(world_.events, ElementsAre("reserve", "noise", "spend"));
  EXPECT_EQ(release.reservation, 1U);
  EXPECT_EQ(world_.ledger.charges[0], release.forecast.charge);
  const LedgerCharge& charge = release.forecast.charge;
  EXPECT_EQ(charge.unit, PrivacyUnit::kLesson);
  EXPECT_EQ(charge.mechanism, PrivacyMechanism::kDiscreteGaussian);
  EXPECT_EQ(charge.sigma, world_.terms.layout.grid.NoiseMultiplier());
  EXPECT_EQ(charge.curve, dp::ZcdpCurve(dp::GaussianRho(charge.sigma)).value());
  EXPECT_EQ(charge.epsilon, dp::EpsilonOf(charge.curve, 1e-6).value().value);
  EXPECT_EQ(charge.rho_q32, 0U);
  world_.terms.unit = PrivacyUnit::kNode;
  const std::array<std::span<float>, 2> banks = {world_.values[0], world_.values[1]};
  const LedgerCharge of_node = CheckRelease(world_.terms, world_.Guards(),
                                            {.banks = banks, .contributors = world_.contributors})
                                   .value()
                                   .charge;
  EXPECT_EQ(of_node.rho_q32, dp::FixedPointRho(dp::GaussianRho(charge.sigma)).value());
  EXPECT_EQ(of_node.curve, dp::RdpCurve());
  EXPECT_LE(of_node.epsilon, charge.epsilon);
  EXPECT_NEAR(release.forecast.snr, 4 / (charge.sigma * std::sqrt(2.0)), 1e-9);
}

TEST_F(UpdateReleaseTest, TheBytesAreThePayload) {
  const PreparedRelease release = world_.Prepare().value();
  const ReleasePayload payload = ReleasePayload::Parse(AsBytes(release.bytes)).value();
  EXPECT_EQ(payload.Encode(), release.bytes);
  EXPECT_EQ(payload.layout, world_.terms.layout.Hash());
  EXPECT_EQ(payload.units.size(), 2U);
  EXPECT_EQ(payload.clip_units, world_.terms.layout.grid.clip_units);
  EXPECT_EQ(payload.sigma_units, world_.terms.layout.grid.sigma_units);
}

// What leaves contains neither the contributors nor any float of the update.
TEST_F(UpdateReleaseTest, NoNameAndNoRawValueLeaves) {
  world_.terms.layout.bank_values = {64, 64};
  world_.terms.layout.grid = dp::MakeNoiseGrid(1, 0.05, 128).value();
  for (std::vector<float>& bank : world_.values) {
    bank.assign(64, 0.0625F);
  }
  const std::string bytes = world_.Prepare().value().bytes;
  EXPECT_EQ(bytes.find("ann"), std::string::npos);
  EXPECT_EQ(bytes.find("support"), std::string::npos);
  constexpr float kRaw = 0.0625F;
  EXPECT_EQ(bytes.find(std::string(reinterpret_cast<const char*>(&kRaw), sizeof(kRaw))),
            std::string::npos);
}

TEST_F(UpdateReleaseTest, WithoutEverybodysConsentNothingHappens) {
  world_.contributors.push_back({.user = "bob", .session = ""});
  EXPECT_EQ(Refusal(), reasons::kConsentMissing);
  world_.contributors.clear();
  EXPECT_EQ(Refusal(), reasons::kConsentMissing);
}

TEST_F(UpdateReleaseTest, ConsentIsAskedAgainAtTheRelease) {
  ASSERT_TRUE(world_.consents
                  .RequireAll(world_.contributors, consent_purposes::kTraining, ConsentTier::kDp,
                              world_.now_ms)
                  .ok());
  ASSERT_TRUE(
      world_.consents
          .Put({.subject = {.id = "ann"}, .purposes = 0, .granted_ms = 1999, .expires_ms = 5000})
          .ok());
  EXPECT_EQ(Refusal(), reasons::kConsentMissing);
}

TEST_F(UpdateReleaseTest, AConsentThatEndedIsNone) {
  world_.now_ms = 5000;
  EXPECT_EQ(Refusal(), reasons::kConsentMissing);
}

TEST_F(UpdateReleaseTest, TheOperatorsTierAndTheSitesPolicyDecideFirst) {
  for (const ConsentTier tier : {ConsentTier::kPrivate, ConsentTier::kMasked}) {
    world_.tier = tier;
    EXPECT_EQ(Refusal(), reasons::kConsentMissing);
  }
  world_.tier = ConsentTier::kDp;
  world_.terms.scope = "sales";
  EXPECT_EQ(Refusal(), reasons::kScopeUnknown);
  world_.terms.scope = "support";
  world_.policy = SitePolicy::Parse(
                      "version = 1\n[scope.support]\ntiers = [\"masked\"]\n"
                      "purposes = [\"training\", \"sharing\"]\n")
                      .value();
  EXPECT_EQ(Refusal(), reasons::kPolicyRefuses);
}

TEST_F(UpdateReleaseTest, AReleaseThatItsNoiseWouldBuryIsRefusedWithTheFigure) {
  world_.terms.contributors = 1;
  world_.terms.signal = 0.1;
  const absl::Status status = world_.Prepare().status();
  EXPECT_EQ(ReasonOf(status), reasons::kSignalTooWeak);
  EXPECT_THAT(MessageOf(status), HasSubstr("0.07"));
  EXPECT_THAT(MessageOf(status), HasSubstr("masked clique"));
  EXPECT_THAT(world_.events, IsEmpty());
}

TEST_F(UpdateReleaseTest, AnUpdateOfAnotherShapeCostsNothing) {
  world_.values[1] = {1, 2};
  EXPECT_EQ(Refusal(), reasons::kUpdateInvalid);
  world_.values[1] = {NAN};
  EXPECT_EQ(Refusal(), reasons::kUpdateInvalid);
  world_.values[1] = {0};
  world_.terms.layout.grid.clip_units = limits::kMaxGridUnits + 1;
  EXPECT_EQ(Refusal(), reasons::kInvalidArgument);
  world_.terms.layout.grid = {};
  EXPECT_EQ(Refusal(), reasons::kInvalidArgument);
}

TEST_F(UpdateReleaseTest, AtTheLimitNothingIsNoised) {
  world_.ledger.budget = UnitBudget::Within(PrivacyUnit::kLesson, 1, 1e-6).value();
  EXPECT_EQ(Refusal(), reasons::kPrivacyBudgetSpent);
}

TEST_F(UpdateReleaseTest, WithoutTheSpendOnDiskNoBytesComeOut) {
  world_.ledger.fail_spend = true;
  EXPECT_FALSE(world_.Prepare().ok());
  EXPECT_NE(world_.ledger.spent, dp::RdpCurve());  // and what was reserved stays spent
}

TEST_F(UpdateReleaseTest, PayloadsThatAreNoneAreRefused) {
  const std::string good = world_.Prepare().value().bytes;
  const auto reason = [&good](size_t offset, char value) {
    std::string bad = good;
    bad[offset] = value;
    return ReasonOf(ReleasePayload::Parse(AsBytes(bad)).status());
  };
  EXPECT_EQ(reason(0, 2), reasons::kUpdateInvalid);        // version
  EXPECT_EQ(reason(2, 4), reasons::kUpdateInvalid);        // unit
  EXPECT_EQ(reason(38, 1), reasons::kUpdateInvalid);       // exponent
  EXPECT_EQ(reason(42, '\x7F'), reasons::kUpdateInvalid);  // clip
  EXPECT_EQ(reason(46, '\x7F'), reasons::kUpdateInvalid);  // noise
  EXPECT_EQ(reason(50, '\x7F'), reasons::kLimitExceeded);  // count
  for (size_t length = 0; length < good.size(); ++length) {
    EXPECT_FALSE(ReleasePayload::Parse(AsBytes(good).first(length)).ok()) << length;
  }
  EXPECT_FALSE(ReleasePayload::Parse(AsBytes(good + '\0')).ok());
}

// Four nodes, each with its own ledger, and the forecast of their sum.
class MaskedReleaseTest : public testing::Test {
 protected:
  static constexpr size_t kNodes = 4;

  void SetUp() override {
    for (size_t node = 0; node < kNodes; ++node) {
      ReleaseWorld& world = worlds_[node];
      world.random = Random(node + 1);
      world.tier = ConsentTier::kMasked;
      world.terms.layout.colluders = 1;
      world.terms.layout.grid = dp::MakeNoiseGrid(1, 0.6, 2).value();
      ids_.push_back(NodeId{static_cast<uint8_t>(node + 1)});
      sessions_.push_back(masking::MaskingSession::Begin({.round = 1}, world.terms.layout,
                                                         ids_.back(), 0, world.Guards().random)
                              .value());
      world.events.clear();
    }
    for (masking::MaskingSession& to : sessions_) {
      for (size_t from = 0; from < kNodes; ++from) {
        ASSERT_TRUE(to.AddOffer(ids_[from], sessions_[from].offer()).ok());
      }
    }
    clique_ = sessions_[0].CliqueOf(std::span(ids_).subspan(1)).value();
  }

  std::array<ReleaseWorld, kNodes> worlds_;
  std::vector<NodeId> ids_;
  std::vector<masking::MaskingSession> sessions_;
  masking::Clique clique_;
};

TEST_F(MaskedReleaseTest, EveryMemberPaysForTheSum) {
  masking::MaskedSum sum = masking::MaskedSum::Begin(clique_, worlds_[0].terms.layout).value();
  for (size_t node = 0; node < kNodes; ++node) {
    PreparedMaskInput prepared = worlds_[node].PrepareMasked(clique_).value();
    EXPECT_THAT(worlds_[node].events, ElementsAre("reserve", "noise", "spend"));
    EXPECT_EQ(prepared.forecast.charge.mechanism, PrivacyMechanism::kDistributedGaussian);
    EXPECT_GE(prepared.forecast.noise_multiplier, 0.6);
    EXPECT_NEAR(prepared.forecast.charge.sigma, 0.6, 0.05);  // of the sum, not of one share
    ASSERT_TRUE(
        sum.Add(ids_[node], sessions_[node].Mask(clique_, std::move(prepared.input)).value()).ok());
  }
  // The sum is four times 0.5 and -0.25 of a clip norm of 1, with noise of 0.6 * sqrt(4 / 3).
  const std::vector<int32_t> units = sum.Result().value();
  const double unit = std::ldexp(1, worlds_[0].terms.layout.grid.exponent);
  EXPECT_NEAR(units[0] * unit, 2, 4 * 0.7);
  EXPECT_NEAR(units[1] * unit, -1, 4 * 0.7);
}

TEST_F(MaskedReleaseTest, ANodeOfTheDpTierIsNoMember) {
  worlds_[0].tier = ConsentTier::kDp;  // the guarantees exclude each other
  EXPECT_EQ(ReasonOf(worlds_[0].PrepareMasked(clique_).status()), reasons::kConsentMissing);
  worlds_[0].tier = ConsentTier::kMasked;
  worlds_[0].terms.layout.frame_id[0] = 1;
  EXPECT_EQ(ReasonOf(worlds_[0].PrepareMasked(clique_).status()), reasons::kMaskLayoutMismatch);
  EXPECT_THAT(worlds_[0].events, IsEmpty());
}

// A clique makes a release possible that a node alone must not make.
TEST_F(MaskedReleaseTest, ACliqueIsTheWayOutOfAWeakSignal) {
  ReleaseWorld& world = worlds_[0];
  world.terms.signal = 0.35;
  world.terms.contributors = kNodes;
  world.tier = ConsentTier::kDp;
  EXPECT_EQ(ReasonOf(world.Prepare().status()), reasons::kSignalTooWeak);
  world.tier = ConsentTier::kMasked;
  EXPECT_TRUE(world.PrepareMasked(clique_).ok());
}

}  // namespace
}  // namespace ruvd::privacy
