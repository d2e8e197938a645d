// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/compute_round.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/text_model.h"

namespace ruvd::serving {
namespace {

using test::TinyTextModel;
using ::testing::ElementsAre;

// A completion whose window and prompt have `rows` tokens in total, which is the cost of its
// diffusion step.
class CompletionTask final : public ComputeTask {
 public:
  explicit CompletionTask(int rows) {
    generation_ =
        inference::Generation::Create(
            *TinyTextModel(), std::vector<inference::TokenId>(static_cast<size_t>(rows) - 2, 65),
            {.mode = inference::DecodingMode::kDiffusion,
             .max_tokens = 2,
             .ignore_end_of_text = true},
            nullptr)
            .value();
  }
  bool RunSlice(inference::Transformer&) override { return true; }
  void Fail(const absl::Status&) override {}
  bool EndIfCancelled() override { return cancelled; }
  inference::Generation* generation() override { return generation_.get(); }
  bool OnForwardRound(inference::ForwardRoundResult round) override {
    RUVD_CHECK(round.ok());
    ++rounds;
    return generation_->done();
  }

  bool cancelled = false;
  int rounds = 0;

 private:
  std::unique_ptr<inference::Generation> generation_;
};

// A score or embedding.
class SliceTask final : public ComputeTask {
 public:
  bool RunSlice(inference::Transformer&) override { return true; }
  void Fail(const absl::Status&) override {}
};

class ComputeRoundTest : public ::testing::Test {
 protected:
  ComputeRoundOutcome Run(const std::vector<ComputeTask*>& tasks, size_t most_rows) {
    std::vector<ComputeRoundTask> entries;
    for (ComputeTask* task : tasks) {
      entries.push_back({.task = task, .number = entries.size()});
    }
    return RunComputeRound(entries, most_rows, transformer_, &scratch_);
  }

  inference::CpuTransformer transformer_{TinyTextModel(), SerialRunner()};
  inference::StepScratch scratch_;
};

TEST_F(ComputeRoundTest, CompletionsShareAForward) {
  CompletionTask a(10);
  CompletionTask b(20);
  const ComputeRoundOutcome outcome = Run({&a, &b}, 100);
  EXPECT_EQ(outcome.batch, 2U);
  EXPECT_EQ(outcome.rows, 30U);
  EXPECT_THAT(outcome.turns, ElementsAre(TaskProgress::kServed, TaskProgress::kServed));
  EXPECT_THAT(Run({&a, &b}, 100).turns, ElementsAre(TaskProgress::kEnded, TaskProgress::kEnded));
}

TEST_F(ComputeRoundTest, TheFirstIsServedWhateverItsSizeAndOthersWhereTheyFit) {
  CompletionTask large(40);
  CompletionTask medium(20);
  CompletionTask little(5);
  EXPECT_THAT(Run({&large, &little}, 30).turns,
              ElementsAre(TaskProgress::kServed, TaskProgress::kWaiting));
  EXPECT_THAT(Run({&little, &large, &medium}, 30).turns,
              ElementsAre(TaskProgress::kServed, TaskProgress::kWaiting, TaskProgress::kServed));
}

TEST_F(ComputeRoundTest, OneSliceARound) {
  SliceTask first;
  SliceTask second;
  CompletionTask completion(10);
  const ComputeRoundOutcome outcome = Run({&first, &second, &completion}, 100);
  EXPECT_THAT(outcome.turns,
              ElementsAre(TaskProgress::kEnded, TaskProgress::kWaiting, TaskProgress::kServed));
  EXPECT_EQ(outcome.batch, 1U);
}

TEST_F(ComputeRoundTest, TheUnwantedEndWithoutAForward) {
  CompletionTask a(10);
  a.cancelled = true;
  const ComputeRoundOutcome outcome = Run({&a}, 100);
  EXPECT_THAT(outcome.turns, ElementsAre(TaskProgress::kEnded));
  EXPECT_EQ(outcome.batch, 0U);
  EXPECT_EQ(a.rounds, 0);
}

}  // namespace
}  // namespace ruvd::serving
