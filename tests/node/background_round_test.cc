// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What users change while a round trains for minutes is not undone by what it learned.

#include "node/actors/background_round.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>

#include "base/bytes.h"
#include "base/parallel.h"
#include "base/status.h"
#include "inference/adapter/bank.h"
#include "inference/model/cpu_transformer.h"
#include "node/actors/pattern_payload.h"
#include "tests/node/database_fixture.h"
#include "tests/node/node_fixture.h"

namespace ruvd {
namespace {

constexpr PatternId kId{1, 2, 3};

class BackgroundRoundTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    model_ = Model::Load(kSmallModel).value();
    const auto width = static_cast<uint32_t>(model_->config().width);
    transformer_ = std::make_unique<CpuTransformer>(model_, SerialRunner());
    patterns_ = PatternStore::Open(*database_, {.dimension = width}).value();
    trajectories_ = TrajectoryStore::Open(*database_, {}).value();
    embedding_.assign(width, 1 / std::sqrt(static_cast<float>(width)));
    ASSERT_TRUE(trajectories_
                    ->Put({.response_id = "r",
                           .prompt = "The lighthouse keeper",
                           .completion = " counted the ships every evening.",
                           .embedding = embedding_,
                           .embedded_by = std::string(AsText(Digest{})),
                           .created_ms = clock_.WallMillis(),
                           .accepted = true})
                    .ok());
    ASSERT_TRUE(patterns_
                    ->Put({.id = kId,
                           .embedding = embedding_,
                           .bank = static_cast<uint32_t>(BankOf(1)),
                           .task = "walks",
                           .created_ms = clock_.WallMillis(),
                           .updated_ms = clock_.WallMillis() + 1000,
                           .adapter_version = 4})
                    .ok());
  }
  // A round; `meanwhile` happens once while it trains.
  LearnedPattern Learn(const std::function<void()>& meanwhile) {
    int calls = 0;
    constexpr int kCallsBeforePatternsAreRead = 2;
    const BackgroundServices services{.clock = &clock_,
                                      .transformer = transformer_.get(),
                                      .trajectories = trajectories_.get(),
                                      .patterns = patterns_.get(),
                                      .cancelled = [&] {
                                        if (++calls == kCallsBeforePatternsAreRead + 1) {
                                          meanwhile();
                                        }
                                        return false;
                                      }};
    Random random(1);
    const auto learned =
        RunBackgroundRound(services, {.steps = 3, .min_improvement = -100}, {"r"}, random);
    EXPECT_TRUE(learned.ok()) << learned.status();
    EXPECT_GT(calls, kCallsBeforePatternsAreRead);
    EXPECT_TRUE(learned.ok() && learned->size() == 1);
    return learned.ok() && !learned->empty() ? learned->front() : LearnedPattern{};
  }

  std::shared_ptr<const Model> model_;
  std::unique_ptr<CpuTransformer> transformer_;
  std::unique_ptr<PatternStore> patterns_;
  std::unique_ptr<TrajectoryStore> trajectories_;
  std::vector<float> embedding_;
};

TEST_F(BackgroundRoundTest, WhatAUserSaysWhileARoundTrainsStays) {
  const int64_t expires_ms = clock_.WallMillis() + 1'000'000;
  const LearnedPattern learned = Learn([&] {
    Pattern pattern = *patterns_->Get(kId);
    pattern.task = "runs";
    pattern.expires_ms = expires_ms;
    pattern.payload = EncodePatternPayload({.withheld = true});
    ASSERT_TRUE(patterns_->Put(pattern).ok());
    ASSERT_TRUE(patterns_->RecordUse(kId).ok());
  });
  EXPECT_TRUE(learned.kept);
  const Pattern stored = *patterns_->Get(kId);
  EXPECT_EQ(stored.task, "runs");
  EXPECT_EQ(stored.expires_ms, expires_ms);
  EXPECT_EQ(stored.uses, 1U);
  EXPECT_TRUE(DecodePatternPayload(stored.payload)->withheld);
  EXPECT_FALSE(DecodePatternPayload(stored.payload)->adapter.empty());
  EXPECT_EQ(stored.adapter_version, 5U);
  EXPECT_EQ(stored.updated_ms, clock_.WallMillis() + 1001) << "later, though the clock went back";
}

TEST_F(BackgroundRoundTest, APatternThatIsDeletedWhileARoundTrainsStaysDeleted) {
  const LearnedPattern learned = Learn([&] { ASSERT_TRUE(patterns_->Delete(kId).ok()); });
  EXPECT_FALSE(learned.kept);
  EXPECT_TRUE(*patterns_->WasDeleted(kId));
}

}  // namespace
}  // namespace ruvd
