// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests this node's shares of masked sums, with real stores, a real ledger and a real model.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/transformer/cpu_transformer.h"
#include "node/reasons.h"
#include "node/sharing/lesson_trainer.h"
#include "node/sharing/local_contributor.h"
#include "privacy/dp/distributed_gaussian.h"
#include "privacy/reasons.h"
#include "storage/reasons.h"
#include "tests/node/node_fixture.h"
#include "tests/node/sharing/round_lessons_fixture.h"

namespace ruvd::sharing {
namespace {

using federation::LearnerPlan;
using privacy::ConsentTier;
using privacy::PrivacyUnit;

constexpr double kDelta = 1e-6;
constexpr double kEpsilon = 8;

class MaskedContributorTest : public RoundLessonsTest {
 protected:
  void SetUp() override {
    RoundLessonsTest::SetUp();
    model_ = inference::Model::Load(kSmallModel).value();
    transformer_ = std::make_unique<inference::CpuTransformer>(model_, SerialRunner());
    frame_ = std::make_shared<const inference::FrameSet>(
        inference::RandomFrameSet(
            *model_, inference::LinearTargets(*model_, inference::Modules::kQv, 2), 2, 1)
            .value());
    plan_.frame_id = frame_->id;
    plan_.rank = 2;
    plan_.values_per_bank =
        static_cast<uint32_t>(CoreShapeOf(*frame_, 2, {}).value().values_per_bank());
    plan_.kind = federation::ContributionKind::kGradient;
    plan_.grid = {.exponent = -7, .clip_units = 256, .sigma_units = 512};
    OpenLedger();
  }
  void OpenLedger(PrivacyUnit unit = PrivacyUnit::kLesson) {
    ledger_.reset();
    privacy::UnitBudget budget = privacy::UnitBudget::Within(unit, kEpsilon, kDelta).value();
    budget.rounds = 3;
    ledger_ =
        storage::PrivacyLedgerStore::Open(*database_, {.budgets = {budget}, .key = &key_}).value();
    options_ = {.frame = frame_,
                .policy = privacy::SitePolicy::Parse("version = 1\n[scope.lab]\n"
                                                     "tiers = [\"masked\", \"public\"]\n"
                                                     "purposes = [\"training\", \"sharing\"]\n")
                              .value(),
                .scope = "lab",
                .budgets = {budget},
                .ledger = ledger_.get(),
                .random = test::EntropyOf(++seed_),
                .min_snr = 0};
  }
  uint64_t Round() const { return RoundAt(plan_, clock_.WallMillis()); }
  void NextRound() { clock_.Advance(std::chrono::milliseconds(plan_.round_ms)); }
  learning::LearningServices WithModel() {
    learning::LearningServices services = Services();
    services.transformer = transformer_.get();
    return services;
  }
  ContributionRequest Request(ConsentTier tier = ConsentTier::kMasked) {
    state_ = federation::EmptyState(plan_, Round());
    return {.plan = &plan_, .round = Round(), .base = &state_, .tier = tier, .nodes = 5};
  }
  absl::StatusOr<PreparedSum> MakeSum() {
    return LocalContributor(options_).MakeSum(WithModel(), Request());
  }
  // Noises a share of this sum and pays for it.
  absl::StatusOr<NoisedShare> Release(const PreparedSum& sum, size_t members = 5) {
    privacy::masking::Clique clique{.round = {.cluster = {5}, .round = sum.round},
                                    .layout = federation::LayoutOfSums(plan_).Hash()};
    for (uint8_t i = 1; i <= members; ++i) {
      clique.members.push_back({.id = {i}, .key = {i}});
    }
    const LocalContributor contributor(options_);
    ASSIGN_OR_RETURN(NoisedShare share, contributor.NoiseShare(WithModel(), plan_, sum, clique));
    EXPECT_EQ(reservation_, contributor.last_reservation()) << "noise costs nothing";
    ASSIGN_OR_RETURN(reservation_, contributor.PayForShare(WithModel(), plan_, sum, share.charge));
    reservation_ = contributor.last_reservation();
    return share;
  }
  double Spent() const { return ledger_->LargestEpsilon(plan_.unit, kDelta).value(); }

  std::shared_ptr<const inference::Model> model_;
  std::unique_ptr<inference::CpuTransformer> transformer_;
  std::shared_ptr<const inference::FrameSet> frame_;
  LearnerPlan plan_;
  federation::GlobalState state_;
  std::unique_ptr<storage::PrivacyLedgerStore> ledger_;
  LocalContributorOptions options_;
  uint64_t seed_ = 0;
  uint64_t reservation_ = 0;  // newest entry of the ledger
};

// Found by review: a sum that was made before a pause was released after it.
TEST_F(MaskedContributorTest, ASumIsNotReleasedWhileLearningIsPaused) {
  AddTexts("notes", 4);
  NextRound();
  PreparedSum sum = MakeSum().value();
  ASSERT_TRUE(changes_->SetPaused(true).ok());
  EXPECT_EQ(ReasonOf(Release(sum).status()), reasons::kLearningPaused);
  EXPECT_EQ(ledger_->head().sequence, 0U);
}

TEST_F(MaskedContributorTest, ASumCostsNothingAndItsShareIsPaid) {
  AddTexts("notes", 3);
  Say("ann", ConsentTier::kMasked);
  AddTexts("more", 1, "ann");
  Say("bob", ConsentTier::kPrivate);
  AddTexts("diary", 2, "bob");
  NextRound();
  EXPECT_TRUE(LocalContributor(options_).CheckLessons(WithModel(), Request()).ok());
  absl::StatusOr<PreparedSum> sum = MakeSum();
  ASSERT_TRUE(sum.ok()) << sum.status();
  EXPECT_EQ(sum->round, Round());
  EXPECT_EQ(sum->sampling.names.size(), 4U);
  EXPECT_EQ(sum->sampling.rate, 1) << "three whole rounds are within the budget";
  EXPECT_EQ(ledger_->head().sequence, 0U);
  EXPECT_EQ(LocalContributor(options_).last_reservation(), 0U);
  const std::vector<int32_t> plain = sum->sum.Plain();
  const absl::StatusOr<NoisedShare> share = Release(*sum);
  ASSERT_TRUE(share.ok()) << share.status();
  EXPECT_EQ(share->lessons, 4U);
  EXPECT_EQ(share->input.contributors, 5U);
  EXPECT_GT(LocalContributor(options_).last_reservation(), 0U);
  EXPECT_GT(share->charge.epsilon, 0);
  EXPECT_EQ(Spent(), share->charge.epsilon);
  EXPECT_LT(Spent(), kEpsilon);
  // The share is minus the sum, with a share of the noise: one of five, of which two may collude.
  const auto split = privacy::dp::SplitNoise(plan_.grid, 5, 2, plain.size()).value();
  double squares = 0;
  for (size_t i = 0; i < plain.size(); ++i) {
    squares += std::pow(share->input.units[i] + plain[i], 2);
  }
  const double deviation = std::sqrt(squares / static_cast<double>(plain.size()));
  EXPECT_GT(deviation, 0.6 * split.share_units);
  EXPECT_LT(deviation, 1.6 * split.share_units);
  ASSERT_TRUE(ledger_
                  ->ForEach([&](const privacy::LedgerEntry& entry) {
                    if (entry.charge) {
                      EXPECT_EQ(entry.charge->mechanism,
                                privacy::PrivacyMechanism::kDistributedGaussian);
                      EXPECT_EQ(entry.charge->subject, fmt::format("round {}", Round()));
                    }
                    return true;
                  })
                  .ok());
}

TEST_F(MaskedContributorTest, ARoundIsPaidOnce) {
  AddTexts("notes", 2);
  NextRound();
  PreparedSum sum = MakeSum().value();
  const PreparedSum copy = sum;
  ASSERT_TRUE(Release(sum).ok());
  const double spent = Spent();
  EXPECT_EQ(ReasonOf(Release(copy).status()), reasons::kPrivacyBudgetSpent);
  EXPECT_EQ(ReasonOf(MakeSum().status()), reasons::kPrivacyBudgetSpent);
  OpenLedger();
  EXPECT_EQ(ReasonOf(Release(copy).status()), reasons::kPrivacyBudgetSpent)
      << "also after a restart";
  EXPECT_EQ(Spent(), spent);
  NextRound();
  ASSERT_TRUE(Release(MakeSum().value()).ok());
  EXPECT_GT(Spent(), spent);
  EXPECT_LE(Spent(), kEpsilon);
}

// However many members a clique has in the end, no lesson exceeds its budget in all its rounds.
TEST_F(MaskedContributorTest, LessonsRetireWithinTheirBudget) {
  options_.budgets[0].epsilon = 2;
  AddTexts("notes", 8);
  for (const size_t members : {4, 16, 6}) {
    NextRound();
    PreparedSum sum = MakeSum().value();
    EXPECT_LT(sum.sampling.rate, 1);
    EXPECT_TRUE(Release(sum, members).ok());
  }
  EXPECT_LE(Spent(), 2);
  EXPECT_GT(Spent(), 1.9);
  NextRound();
  EXPECT_EQ(ReasonOf(MakeSum().status()), reasons::kConsentMissing);
}

TEST_F(MaskedContributorTest, AWholeNodeIsOneUnitOfASum) {
  plan_.unit = PrivacyUnit::kNode;
  EXPECT_EQ(ReasonOf(MakeSum().status()), reasons::kPrivacyBudgetSpent) << "it has no budget here";
  OpenLedger(PrivacyUnit::kNode);
  AddTexts("notes", 5);
  for (int round = 0; round < 3; ++round) {
    NextRound();
    EXPECT_TRUE(LocalContributor(options_).CheckLessons(WithModel(), Request()).ok());
    PreparedSum sum = MakeSum().value();
    EXPECT_EQ(sum.sampling.units, federation::LessonUnits({{0, 1, 2, 3, 4}}));
    EXPECT_EQ(sum.sum.units(), 1U);
    ASSERT_TRUE(Release(sum).ok());
  }
  EXPECT_EQ(ledger_->totals(PrivacyUnit::kNode).shares, 3U);
  EXPECT_LE(Spent(), kEpsilon);
  NextRound();
  for (const absl::Status& refused :
       {LocalContributor(options_).CheckLessons(WithModel(), Request()), MakeSum().status()}) {
    EXPECT_EQ(ReasonOf(refused), reasons::kPrivacyBudgetSpent);
  }
}

TEST_F(MaskedContributorTest, AWithdrawalBeforeTheShareEndsTheRound) {
  Say("ann", ConsentTier::kMasked);
  AddTexts("notes", 2, "ann");
  const storage::LessonSourceId others = AddTexts("others", 2);
  NextRound();
  PreparedSum sum = MakeSum().value();
  clock_.Advance(std::chrono::milliseconds(1));
  ASSERT_TRUE(book_->Withdraw("ann", clock_.WallMillis()).ok());
  EXPECT_EQ(ReasonOf(Release(sum).status()), reasons::kChanged);
  PreparedSum next = MakeSum().value();
  ASSERT_TRUE(lessons_->WithdrawSource(others).ok());
  EXPECT_EQ(ReasonOf(Release(next).status()), reasons::kChanged);
  EXPECT_EQ(ledger_->head().sequence, 0U);
}

TEST_F(MaskedContributorTest, RefusalsCostNothing) {
  EXPECT_EQ(ReasonOf(MakeSum().status()), reasons::kConsentMissing);
  AddTexts("notes", 2);
  NextRound();
  const LocalContributor contributor(options_);
  EXPECT_EQ(ReasonOf(contributor.Make(WithModel(), Request()).status()), reasons::kInvalidArgument)
      << "nothing leaves without a clique";
  for (const ConsentTier tier : {ConsentTier::kPrivate, ConsentTier::kPublic, ConsentTier::kDp}) {
    EXPECT_EQ(ReasonOf(contributor.MakeSum(WithModel(), Request(tier)).status()),
              reasons::kInvalidArgument);
  }
  EXPECT_EQ(ReasonOf(Release(MakeSum().value(), 3).status()), reasons::kCliqueInvalid);
  options_.min_snr = 1;
  EXPECT_EQ(ReasonOf(MakeSum().status()), reasons::kSignalTooWeak);
  options_.ledger = nullptr;
  options_.unavailable =
      Error(absl::StatusCode::kDataLoss, reasons::kLedgerBroken, "the ledger has a gap");
  EXPECT_EQ(ReasonOf(MakeSum().status()), reasons::kLedgerBroken);
  EXPECT_EQ(ledger_->head().sequence, 0U);
}

}  // namespace
}  // namespace ruvd::sharing
