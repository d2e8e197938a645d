// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests which global adapters a node serves, with a real model.

#include "node/sharing/global_gate.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "node/limits.h"
#include "tests/inference/counting_transformer.h"
#include "tests/node/global_cores.h"
#include "tests/node/judging_fixture.h"

namespace ruvd::sharing {
namespace {

class GlobalGateTest : public JudgingTest {
 protected:
  void SetUp() override {
    JudgingTest::SetUp();
    cores_ = std::make_unique<test::GlobalCores>(model_);
    counting_ = std::make_unique<test::CountingTransformer>(*transformer_);
    catalog_ = std::make_unique<serving::AdapterCatalog>(*model_, serving::AdapterCatalogOptions());
  }
  // Returns cores that were taught the text of the lessons.
  test::GlobalCores::Values Taught(uint64_t steps = 8) const {
    return cores_->Train("The lighthouse keeper of house 7", kJudged, steps);
  }
  absl::StatusOr<GlobalVerdict> TryToJudge(std::shared_ptr<const inference::Talora> served,
                                           std::shared_ptr<const inference::Talora> candidate) {
    learning::LearningServices services = Services();
    services.transformer = counting_.get();
    services.catalog = catalog_.get();
    counting_->sequences.clear();
    return gate_.Judge(services, served, candidate);
  }
  GlobalVerdict Judge(std::shared_ptr<const inference::Talora> served,
                      std::shared_ptr<const inference::Talora> candidate) {
    const auto verdict = TryToJudge(std::move(served), std::move(candidate));
    EXPECT_TRUE(verdict.ok()) << verdict.status();
    return verdict.value_or(GlobalVerdict());
  }
  size_t Forwards() const { return counting_->sequences.size(); }

  std::unique_ptr<test::GlobalCores> cores_;
  std::unique_ptr<test::CountingTransformer> counting_;
  std::unique_ptr<serving::AdapterCatalog> catalog_;
  GlobalGate gate_{{}};
};

TEST_F(GlobalGateTest, WhatHelpsTheLessonsIsServedAndItsOppositeIsHeldBack) {
  AddJudges(8);
  const test::GlobalCores::Values values = Taught();
  const GlobalVerdict good = Judge(nullptr, cores_->Adapter(values));
  EXPECT_TRUE(good.judged_by_lessons);
  EXPECT_EQ(good.lessons, 8u);
  EXPECT_GT(good.gain, 2 * good.standard_error);
  EXPECT_EQ(good.gain, good.gain_over_none);
  EXPECT_LE(good.general_after, 1.005 * good.general_before);
  EXPECT_TRUE(good.serve);
  const GlobalVerdict flipped =
      Judge(cores_->Adapter(values), cores_->Adapter(test::GlobalCores::Times(values, -1), 2));
  EXPECT_LT(flipped.gain, -2 * flipped.standard_error);
  EXPECT_LT(flipped.gain, flipped.gain_over_none);
  EXPECT_FALSE(flipped.serve);
}

// What is better than nothing may still be worse than what is served, and the other way round.
TEST_F(GlobalGateTest, ACandidateMustNotLoseToTheServedOneNorToNone) {
  AddJudges(8);
  const test::GlobalCores::Values values = Taught();
  const auto at = [&](float factor) {
    return cores_->Adapter(test::GlobalCores::Times(values, factor));
  };
  const GlobalVerdict back = Judge(at(1), at(0.5F));
  EXPECT_GT(back.gain_over_none, 0);
  EXPECT_LT(back.gain, 0);
  EXPECT_FALSE(back.serve);
  const GlobalVerdict less_bad = Judge(at(-1), at(-0.5F));
  EXPECT_GT(less_bad.gain, 0);
  EXPECT_LT(less_bad.gain_over_none, 0);
  EXPECT_FALSE(less_bad.serve);
}

TEST_F(GlobalGateTest, WithTooFewLessonsGeneralTextDecides) {
  AddJudges(4);
  const test::GlobalCores::Values values = Taught();
  const GlobalVerdict flipped =
      Judge(nullptr, cores_->Adapter(test::GlobalCores::Times(values, -0.05F)));
  EXPECT_FALSE(flipped.judged_by_lessons);
  EXPECT_EQ(flipped.lessons, 4u);
  EXPECT_EQ(flipped.gain, 0);
  EXPECT_TRUE(flipped.serve) << flipped.general_before << " " << flipped.general_after;
  const GlobalVerdict loud = Judge(nullptr, cores_->Adapter(cores_->Random(1, 3)));
  EXPECT_GT(loud.general_after, 1.005 * loud.general_before);
  EXPECT_FALSE(loud.serve);
}

TEST_F(GlobalGateTest, GeneralTextIsHeldAgainstWhatHelpsTheLessons) {
  AddJudges(8);
  test::GlobalCores::Values values = Taught();
  const test::GlobalCores::Values noise = cores_->Random(1, 0.5);
  const auto candidate = [&] {
    for (size_t i = 0; i < values[0].size(); ++i) {
      values[0][i] += noise[0][i];
    }
    return cores_->Adapter(values);
  }();
  const GlobalVerdict verdict = Judge(nullptr, candidate);
  EXPECT_GT(verdict.general_after, 1.005 * verdict.general_before);
  EXPECT_FALSE(verdict.serve);
}

TEST_F(GlobalGateTest, OnlyTheCandidateIsScoredWhereTheOthersAreKnown) {
  AddJudges(6);
  const auto first = cores_->Adapter(Taught(2), 1);
  const auto second = cores_->Adapter(Taught(3), 2);
  Judge(nullptr, first);
  const size_t both = Forwards();  // none and the first
  const GlobalVerdict verdict = Judge(first, second);
  EXPECT_EQ(Forwards(), both / 2);
  EXPECT_EQ(Judge(first, second).gain, verdict.gain);
  EXPECT_EQ(Forwards(), 0u);
}

// Other adapters change what the candidate is worth, so scores without them do not count.
TEST_F(GlobalGateTest, ItIsJudgedBeneathTheOtherAdaptersOfRequests) {
  AddJudges(6);
  const auto candidate = cores_->Adapter(Taught());
  const GlobalVerdict alone = Judge(nullptr, candidate);
  storage::StateStore state(*database_);
  catalog_ = std::make_unique<serving::AdapterCatalog>(
      *model_, serving::AdapterCatalogOptions{.state = &state});
  auto deep = std::make_shared<inference::Talora>(*cores_->Adapter(Taught()));
  auto trunk = std::make_shared<inference::Adapter>(*deep->trunk);
  trunk->name = deep->name = serving::kDeepAdapter;
  deep->trunk = trunk;
  ASSERT_TRUE(catalog_->Publish(deep, 1).ok());
  catalog_->SetGlobal(candidate);  // it is not counted twice
  const GlobalVerdict beneath = Judge(nullptr, candidate);
  EXPECT_LT(beneath.gain, alone.gain) << "the lessons are known already";
  EXPECT_NE(beneath.general_before, alone.general_before);
}

TEST_F(GlobalGateTest, AStopEndsItBetweenTwoForwards) {
  AddJudges(6);
  cancelled_ = true;
  EXPECT_TRUE(absl::IsCancelled(TryToJudge(nullptr, cores_->Adapter(Taught(1))).status()));
  EXPECT_EQ(Forwards(), 0u);
  cancelled_ = false;
  EXPECT_TRUE(TryToJudge(nullptr, cores_->Adapter(Taught(1))).ok());
}

}  // namespace
}  // namespace ruvd::sharing
