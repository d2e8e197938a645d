// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/sampler/diffusion_loop.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/paths.h"

namespace ruvd::inference {
namespace {

constexpr int kVocabulary = 50;
constexpr TokenId kMaskToken = 49;

// Random but fixed logits that depend on the whole window, like a model's.
WindowLogits FakeModel() {
  return [](std::span<const TokenId> tokens, std::span<const int> rows, std::span<float> logits) {
    uint64_t state = 17;
    for (const TokenId token : tokens) {
      state = state * 1000003 + token;
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      Random random(state + static_cast<uint64_t>(rows[i]) * 7919);
      for (size_t v = 0; v < kVocabulary; ++v) {
        logits[i * kVocabulary + v] = static_cast<float>(random.Normal());
      }
    }
    return absl::OkStatus();
  };
}

DiffusionRun Timestep(int steps) {
  return {.steps = steps, .eps = 0.001, .vocabulary = kVocabulary, .mask = kMaskToken};
}

// With more steps than masks most forwards would commit nothing, as they do in llama.cpp.
TEST(PeerDefectTest, StepsThatCommitNothingNeedNoForward) {
  const std::vector<TokenId> prompt = {1, 2, 3};
  const auto trace = DecodeTrace(FakeModel(), Timestep(32), prompt, 16);
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace->steps.size(), 32U);
  EXPECT_LE(trace->forwards, 13);
  const auto idle = std::count_if(trace->steps.begin(), trace->steps.end(),
                                  [](const auto& step) { return step.committed.empty(); });
  EXPECT_EQ(trace->forwards, 32 - idle);
}

RC_GTEST_PROP(DecodeTraceTest, CommitsEveryPositionOnceAndNeverAMask, ()) {
  DiffusionRun run = Timestep(*rc::gen::inRange(1, 40));
  run.order = static_cast<CommitOrder>(*rc::gen::inRange(0, 4));
  if (*rc::gen::arbitrary<bool>()) {
    run.schedule = DiffusionScheduleKind::kBlock;
    run.block = *rc::gen::inRange(1, 12);
  }
  run.shift = *rc::gen::arbitrary<bool>();
  const std::vector<TokenId> prompt(*rc::gen::inRange<size_t>(0, 8), 5);
  const int length = static_cast<int>(prompt.size()) + *rc::gen::inRange(0, 24);
  const auto trace = DecodeTrace(FakeModel(), run, prompt, length);
  RC_ASSERT(trace.ok());
  std::vector<int> committed;
  for (const auto& step : trace->steps) {
    for (const int position : step.committed) {
      RC_ASSERT(step.before[static_cast<size_t>(position)] == kMaskToken);
      committed.push_back(position);
    }
  }
  std::sort(committed.begin(), committed.end());
  RC_ASSERT(std::adjacent_find(committed.begin(), committed.end()) == committed.end());
  RC_ASSERT(committed.size() == static_cast<size_t>(length) - prompt.size());
  RC_ASSERT(std::find(trace->final.begin(), trace->final.end(), kMaskToken) == trace->final.end());
  RC_ASSERT(std::equal(prompt.begin(), prompt.end(), trace->final.begin()));
}

TEST(DecodeTraceTest, BlocksAreFinishedFromLeftToRight) {
  DiffusionRun run = Timestep(2);
  run.schedule = DiffusionScheduleKind::kBlock;
  run.block = 4;
  const auto trace = DecodeTrace(FakeModel(), run, std::vector<TokenId>{1, 2}, 12);
  ASSERT_TRUE(trace.ok());
  ASSERT_EQ(trace->steps.size(), 6U);
  for (size_t step = 0; step < 6; ++step) {
    for (const int position : trace->steps[step].committed) {
      EXPECT_EQ((position - 2) / 4, static_cast<int>(step / 2));
    }
  }
}

TEST(DecodeTraceTest, RefusesImpossibleRuns) {
  DiffusionRun run = Timestep(0);
  EXPECT_EQ(ReasonOf(DecodeTrace(FakeModel(), run, {}, 4).status()), reasons::kInvalidArgument);
  run = Timestep(3);
  EXPECT_EQ(ReasonOf(DecodeTrace(FakeModel(), run, std::vector<TokenId>{1, 2}, 1).status()),
            reasons::kInvalidArgument);
  std::vector<TokenId> tokens(4, kMaskToken);
  EXPECT_EQ(ReasonOf(DenoiseStep(FakeModel(), run, 0, 3, &tokens).status()),
            reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(DenoiseStep(FakeModel(), run, 0, -1, &tokens).status()),
            reasons::kInvalidArgument);
}

// The conformance traces (fixtures README, section "diffusion"), on the dream F32 model.
class FixtureTraceTest : public testing::TestWithParam<const char*> {};

const std::string kFixtures = test::SourceDir() + "/../shared/fixtures";

CommitOrder OrderFrom(const std::string& name) {
  return name == "confidence" ? CommitOrder::kConfidence
         : name == "margin"   ? CommitOrder::kMargin
         : name == "entropy"  ? CommitOrder::kEntropy
                              : CommitOrder::kPosition;
}

TEST_P(FixtureTraceTest, EqualsTheReference) {
  const std::string path = kFixtures + "/diffusion/" + GetParam();
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "the shared fixtures are not here";
  }
  const auto json = nlohmann::json::parse(ReadFile(path, 1 << 24).value());
  const auto model = Model::Load(kFixtures + "/" + json.at("model").get<std::string>());
  ASSERT_TRUE(model.ok()) << model.status();
  CpuTransformer transformer(*model, SerialRunner());
  const bool block = json.at("schedule") == "block";
  const DiffusionRun run = {
      .schedule = block ? DiffusionScheduleKind::kBlock : DiffusionScheduleKind::kTimestep,
      .steps = json.at("steps").get<int>(),
      .eps = block ? 0.0 : json.at("eps").get<double>(),
      .block = block ? json.at("block").get<int>() : 0,
      .order = OrderFrom(json.at("order").get<std::string>()),
      .vocabulary = (*model)->config().vocabulary,
      .mask = json.at("mask_id").get<TokenId>(),
      .shift = json.at("shift").get<bool>()};
  const int prompt_length = json.at("prompt_length").get<int>();
  const WindowLogits logits = BidirectionalLogits(transformer);
  auto tokens = json.at("trace")[0].at("before").get<std::vector<TokenId>>();
  const bool forced = json.at("forced").get<bool>();
  for (const auto& step : json.at("trace")) {
    auto before = step.at("before").get<std::vector<TokenId>>();
    if (!forced) {
      ASSERT_EQ(tokens, before);
    }
    const auto committed =
        DenoiseStep(logits, run, prompt_length, step.at("step").get<int>(), &before);
    ASSERT_TRUE(committed.ok()) << committed.status();
    EXPECT_EQ(*committed, step.at("committed").get<std::vector<int>>()) << step.at("step");
    tokens = before;
  }
  if (!forced) {
    EXPECT_EQ(tokens, json.at("final").get<std::vector<TokenId>>());
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, FixtureTraceTest,
                         testing::Values("dream-block-confidence.json",
                                         "dream-timestep-confidence.json",
                                         "dream-timestep-entropy.json",
                                         "dream-timestep-margin-more-steps-than-masks.json",
                                         "peer-dream-block-position.json",
                                         "peer-dream-timestep-margin-forced.json",
                                         "peer-dream-timestep-position.json"),
                         [](const auto& trace) {
                           std::string name = trace.param;
                           name.resize(name.size() - 5);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace ruvd::inference
