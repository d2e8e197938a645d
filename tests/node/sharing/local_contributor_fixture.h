// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/learner/rounds.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/transformer/cpu_transformer.h"
#include "node/sharing/lesson_trainer.h"
#include "node/sharing/local_contributor.h"
#include "tests/node/sharing/round_lessons_fixture.h"
#include "tests/paths.h"

namespace ruvd::sharing {

using federation::ContributionKind;
using federation::LearnerPlan;
using privacy::ConsentTier;
using privacy::PrivacyUnit;

inline constexpr double kRoundDelta = 1e-6;
inline constexpr double kRoundEpsilon = 8;

// A contributor with real stores, a real ledger and a real model.
class LocalContributorTest : public RoundLessonsTest {
 protected:
  void SetUp() override {
    RoundLessonsTest::SetUp();
    model_ =
        inference::Model::Load(test::SourceDir() + "/deploy/models/ruvdllm-5m.q8_0.gguf").value();
    transformer_ = std::make_unique<inference::CpuTransformer>(model_, SerialRunner());
    frame_ = std::make_shared<const inference::FrameSet>(
        inference::RandomFrameSet(
            *model_, inference::LinearTargets(*model_, inference::Modules::kQv, 2), 2, 1)
            .value());
    plan_ = PlanOf(ContributionKind::kGradient);
    OpenLedger(PrivacyUnit::kLesson);
  }
  // Every unit may take part in three rounds, which cost less than its budget without sampling. A
  // node has `node_epsilon_`.
  void OpenLedger(PrivacyUnit unit) { OpenLedger(std::vector<PrivacyUnit>{unit}); }
  void OpenLedger(const std::vector<PrivacyUnit>& units) {
    ledger_.reset();
    std::vector<privacy::UnitBudget> budgets;
    for (const PrivacyUnit unit : units) {
      const double epsilon = unit == PrivacyUnit::kNode ? node_epsilon_ : kRoundEpsilon;
      budgets.push_back(privacy::UnitBudget::Within(unit, epsilon, kRoundDelta).value());
      budgets.back().rounds = 3;
      budgets.back().key = unit == PrivacyUnit::kNode ? "privacy.node_epsilon" : budgets.back().key;
    }
    ledger_ = storage::PrivacyLedgerStore::Open(
                  *database_, {.budgets = budgets,
                               .key = &key_,
                               .counter_file = (folder_ / "counter").string(),
                               .write_file =
                                   [this](const std::string& path, std::string_view text) {
                                     return writes_left_-- > 0
                                                ? WriteFileAtomically(path, text, 0600)
                                                : absl::Status(Error(absl::StatusCode::kUnavailable,
                                                                     reasons::kDiskFull, "full"));
                                   }})
                  .value();
    options_ = {.frame = frame_,
                .policy = privacy::SitePolicy::Parse("version = 1\n[scope.lab]\n"
                                                     "tiers = [\"masked\", \"dp\", \"public\"]\n"
                                                     "purposes = [\"training\", \"sharing\"]\n")
                              .value(),
                .scope = "lab",
                .budgets = std::move(budgets),
                .ledger = ledger_.get(),
                .random = Counted(),
                .min_snr = 0};
  }
  // Notes how many bytes were drawn before and after the ledger had an entry.
  privacy::dp::RandomBytes Counted() {
    return [this, entropy = test::EntropyOf(++seed_)](std::span<uint8_t> out) mutable {
      (ledger_->head().sequence == before_ ? coins_ : noise_) += out.size();
      entropy(out);
    };
  }
  LearnerPlan PlanOf(ContributionKind kind) const {
    const auto shape = CoreShapeOf(*frame_, 2, {0.5F}).value();
    LearnerPlan plan;
    plan.frame_id = frame_->id;
    plan.rank = 2;
    plan.boundaries = {0.5F};
    plan.values_per_bank = static_cast<uint32_t>(shape.values_per_bank());
    plan.kind = kind;
    plan.local = {.learning_rate = 3e-3, .steps = 2, .batch = 2};
    plan.grid = {.exponent = -7, .clip_units = 256, .sigma_units = 512};
    EXPECT_TRUE(plan.Check().ok()) << plan.Check();
    return plan;
  }
  uint64_t Round() const { return RoundAt(plan_, clock_.WallMillis()); }
  void NextRound() {
    clock_.Advance(std::chrono::milliseconds(plan_.round_ms));
    coins_ = noise_ = 0;
    before_ = ledger_->head().sequence;
  }
  absl::StatusOr<std::optional<LocalContribution>> Make(ConsentTier tier) {
    learning::LearningServices services = Services();
    services.transformer = transformer_.get();
    state_ = federation::EmptyState(plan_, Round());
    return LocalContributor(options_).Make(
        services, {.plan = &plan_, .round = Round(), .base = &state_, .tier = tier});
  }
  // Returns a contribution that must come and be valid.
  LocalContribution Made(ConsentTier tier) {
    const auto made = Make(tier);
    EXPECT_TRUE(made.ok() && made->has_value()) << made.status();
    if (!made.ok() || !made->has_value()) {
      return {};
    }
    EXPECT_TRUE(CheckContribution((*made)->contribution, plan_, Round()).ok());
    EXPECT_EQ((*made)->contribution.base, state_.DigestOf(plan_));
    return **made;
  }
  std::string Refusal(ConsentTier tier) {
    const auto made = Make(tier);
    message_ = MessageOf(made.status());
    EXPECT_EQ(noise_, 0U) << "a refusal draws no noise";
    return ReasonOf(made.status());
  }
  double Spent() const { return ledger_->LargestEpsilon(plan_.unit, kRoundDelta).value(); }
  // Adds lessons that must never be trained on under a tier that is not looser than dp.
  void AddLessonsThatStay() {
    Say("private", ConsentTier::kPrivate);
    AddCompletion("nobody asked");
    AddCompletion("private");
    AddTexts("diary", 2, "", static_cast<uint32_t>(ConsentTier::kPrivate));
    AddTexts("letters", 2, "nobody asked");
    AddCompletion("", /*judges=*/true);
    Say("left", ConsentTier::kPublic);
    clock_.Advance(std::chrono::milliseconds(1));
    ASSERT_TRUE(book_->Withdraw("left", clock_.WallMillis()).ok());
    AddTexts("withdrawn", 2, "left");
  }

  std::shared_ptr<const inference::Model> model_;
  std::unique_ptr<inference::CpuTransformer> transformer_;
  std::shared_ptr<const inference::FrameSet> frame_;
  LearnerPlan plan_;
  federation::GlobalState state_;
  std::unique_ptr<storage::PrivacyLedgerStore> ledger_;
  LocalContributorOptions options_;
  double node_epsilon_ = kRoundEpsilon;
  std::string message_;
  int writes_left_ = 1'000'000;
  uint64_t seed_ = 0;
  uint64_t before_ = 0;  // entries of the ledger at the round's begin
  size_t coins_ = 0;
  size_t noise_ = 0;
};

}  // namespace ruvd::sharing
