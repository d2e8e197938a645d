// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/engine/step_together.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/limits.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/counting_transformer.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference {
namespace {

using test::CountingTransformer;
using test::TextModel;
using test::TinyTextModel;

std::vector<TokenId> RandomPrompt(size_t length, uint64_t seed) {
  Random random(seed);
  std::vector<TokenId> prompt(length);
  for (TokenId& token : prompt) {
    token = static_cast<TokenId>(random.Below(256));
  }
  return prompt;
}

std::shared_ptr<const Adapter> SomeAdapter(uint64_t seed) {
  const auto model = TinyTextModel();
  return test::RandomAdapter(
      *model, {{"blk.0.attn_v.weight", FindMatrix(*model, "blk.0.attn_v.weight")}}, seed);
}

// A completion of any kind, drawn from the seed.
struct Request {
  std::vector<TokenId> prompt;
  SamplingOptions options;
  std::shared_ptr<const Adapter> adapter;  // or null

  std::unique_ptr<Generation> Make() const {
    Generation::AdapterPolicy policy;
    if (adapter != nullptr) {
      policy = [adapter = adapter](float t) { return AdapterMix{.parts = {{adapter, t}}}; };
    }
    auto generation = Generation::Create(*TinyTextModel(), prompt, options, policy);
    RUVD_CHECK(generation.ok());
    return *std::move(generation);
  }
};

Request AnyRequest(uint64_t seed) {
  Random random(seed);
  Request request;
  request.prompt = RandomPrompt(1 + random.Below(30), seed);
  request.options.mode = static_cast<DecodingMode>(random.Below(3));
  request.options.max_tokens = static_cast<int>(1 + random.Below(20));
  request.options.ignore_end_of_text = true;
  request.options.seed = seed;
  request.options.temperature = random.Bernoulli(0.5) ? 1.0F : 0.0F;
  request.options.logprobs = static_cast<int>(random.Below(3)) - 1;
  if (request.options.mode != DecodingMode::kAutoregressive) {
    request.options.sampler = static_cast<SamplerKind>(random.Below(11));
    request.options.steps = static_cast<int>(random.Below(12));
    request.options.guidance_scale = random.Bernoulli(0.3) ? 1.5F : 0.0F;
  }
  if (random.Bernoulli(0.4)) {
    request.adapter = SomeAdapter(seed % 3);
  }
  return request;
}

struct Outcome {
  std::vector<TokenId> tokens;
  std::string text;
  int steps = 0;
  int forwards = 0;
  std::vector<float> confidences;
  bool operator==(const Outcome&) const = default;
};

void Note(const StepResult& step, Outcome* outcome) {
  for (const Commit& commit : step.commits) {
    outcome->confidences.push_back(commit.confidence);
    outcome->confidences.push_back(commit.logprob);
  }
}

void NoteEnd(const Generation& generation, Outcome* outcome) {
  outcome->tokens = generation.tokens();
  outcome->text = generation.text();
  outcome->steps = generation.steps();
  outcome->forwards = generation.forwards();
}

Outcome RunAlone(const Request& request, Transformer& transformer) {
  const auto generation = request.Make();
  Outcome outcome;
  while (!generation->done()) {
    Note(generation->Step(transformer).value(), &outcome);
  }
  NoteEnd(*generation, &outcome);
  return outcome;
}

RC_GTEST_PROP(StepTogetherTest, GivesEveryOneWhatItWouldHaveGotAlone, (uint64_t seed)) {
  CpuTransformer transformer(TinyTextModel(), SerialRunner());
  const size_t count = *rc::gen::inRange<size_t>(1, 6);
  std::vector<Request> requests;
  std::vector<std::unique_ptr<Generation>> generations;
  for (size_t i = 0; i < count; ++i) {
    requests.push_back(AnyRequest(seed + i * 1000));
    generations.push_back(requests.back().Make());
  }
  std::vector<Outcome> outcomes(count);
  StepScratch scratch;
  while (true) {
    std::vector<Generation*> running;
    std::vector<size_t> numbers;
    for (size_t i = 0; i < count; ++i) {
      if (!generations[i]->done()) {
        running.push_back(generations[i].get());
        numbers.push_back(i);
      }
    }
    if (running.empty()) {
      break;
    }
    const std::vector<ForwardRoundResult> results = StepTogether(running, transformer, &scratch);
    for (size_t i = 0; i < results.size(); ++i) {
      RC_ASSERT(results[i].ok());
      if (results[i]->has_value()) {
        Note(**results[i], &outcomes[numbers[i]]);
      }
    }
  }
  for (size_t i = 0; i < count; ++i) {
    NoteEnd(*generations[i], &outcomes[i]);
    RC_ASSERT(outcomes[i] == RunAlone(requests[i], transformer));
  }
}

TEST(StepTogetherTest, OneForwardServesAllAndLogitsComeInBoundedChunks) {
  CpuTransformer inner(TinyTextModel(), SerialRunner());
  CountingTransformer transformer(inner);
  SamplingOptions options{.mode = DecodingMode::kDiffusion, .max_tokens = 30};
  auto a = Generation::Create(*TinyTextModel(), RandomPrompt(3, 1), options, nullptr).value();
  auto b = Generation::Create(*TinyTextModel(), RandomPrompt(5, 2), options, nullptr).value();
  std::vector<Generation*> both = {a.get(), b.get()};
  StepScratch scratch;
  StepTogether(both, transformer, &scratch);
  EXPECT_THAT(transformer.sequences, ::testing::ElementsAre(2));
  EXPECT_EQ(transformer.wanted_rows, 60U);  // masked positions, not the prompt
  EXPECT_THAT(transformer.logit_rows,
              ::testing::ElementsAre(limits::kLogitRows, 60 - limits::kLogitRows));
}

TEST(StepTogetherTest, AutoregressiveDecodingComputesTheLastRowOnly) {
  CpuTransformer inner(TinyTextModel(), SerialRunner());
  CountingTransformer transformer(inner);
  auto generation =
      Generation::Create(*TinyTextModel(), RandomPrompt(20, 1),
                         {.mode = DecodingMode::kAutoregressive, .max_tokens = 3}, nullptr)
          .value();
  ASSERT_TRUE(generation->Step(transformer).ok());
  EXPECT_EQ(transformer.wanted_rows, 1U);
  EXPECT_THAT(transformer.logit_rows, ::testing::ElementsAre(1));
}

// Found by review: logits that are not numbers committed the mask token for ever.
TEST(StepTogetherTest, LogitsThatAreNoNumbersEndOneCompletionOnly) {
  const std::string target = "blk.0.attn_output.weight";
  auto poison = std::make_shared<Adapter>(
      *test::RandomAdapter(*TinyTextModel(), {{target, FindMatrix(*TinyTextModel(), target)}}, 1));
  for (auto& [name, change] : poison->targets) {
    std::fill(change.a.begin(), change.a.end(), 3e38F);
    std::fill(change.b.begin(), change.b.end(), 3e38F);
  }
  for (const DecodingMode mode :
       {DecodingMode::kDiffusion, DecodingMode::kBlock, DecodingMode::kAutoregressive}) {
    Request good;
    good.prompt = RandomPrompt(9, 1);
    good.options = {.mode = mode, .max_tokens = 8, .ignore_end_of_text = true};
    Request bad = good;
    bad.adapter = poison;
    CpuTransformer transformer(TinyTextModel(), SerialRunner());
    const auto a = good.Make();
    const auto b = bad.Make();
    std::vector<Generation*> both = {b.get(), a.get()};
    StepScratch scratch;
    absl::Status ended;
    while (ended.ok() && !b->done()) {
      ended = StepTogether(both, transformer, &scratch)[0].status();
    }
    EXPECT_EQ(ReasonOf(ended), reasons::kModelCorrupt) << ended;
    while (!a->done()) {
      ASSERT_TRUE(a->Step(transformer).ok());
    }
    Outcome outcome;
    NoteEnd(*a, &outcome);
    EXPECT_EQ(outcome.tokens, RunAlone(good, transformer).tokens);
  }
}

// A mix that the model refuses fails only the completion that asked for it.
TEST(StepTogetherTest, AFailureStaysWithWhoCausedIt) {
  auto wrong = std::make_shared<Adapter>(*SomeAdapter(1));
  wrong->targets.emplace("blk.99.attn_v.weight", wrong->targets.begin()->second);
  Request good = AnyRequest(3);
  good.adapter = nullptr;
  Request bad = good;
  bad.adapter = wrong;
  CpuTransformer transformer(TinyTextModel(), SerialRunner());
  const auto a = good.Make();
  const auto b = bad.Make();
  const auto c = good.Make();
  std::vector<Generation*> all = {a.get(), b.get(), c.get()};
  StepScratch scratch;
  const std::vector<ForwardRoundResult> results = StepTogether(all, transformer, &scratch);
  EXPECT_TRUE(results[0].ok());
  EXPECT_EQ(ReasonOf(results[1].status()), reasons::kAdapterInvalid);
  EXPECT_TRUE(results[2].ok());
  Outcome outcome;
  while (!a->done()) {
    ASSERT_TRUE(a->Step(transformer).ok());
  }
  EXPECT_EQ(a->tokens(), RunAlone(good, transformer).tokens);
}

TEST(StepTogetherTest, LongPrefixesComeInPieces) {
  test::TinyModel::Options big = TextModel::Defaults();
  big.context = 1024;
  const auto model = std::make_shared<const TextModel>(big);
  for (const DecodingMode mode : {DecodingMode::kBlock, DecodingMode::kAutoregressive}) {
    CpuTransformer inner(model, SerialRunner());
    CountingTransformer transformer(inner);
    SamplingOptions options{.mode = mode, .max_tokens = 4};
    if (mode == DecodingMode::kBlock) {  // from left to right the first token may need no forward
      options.sampler = SamplerKind::kLowConfidence;
    }
    auto generation =
        Generation::Create(*model, RandomPrompt(2 * limits::kPrefillRows + 8, 1), options, nullptr)
            .value();
    EXPECT_EQ(NextForwardRows(*generation), limits::kPrefillRows);
    ASSERT_TRUE(generation->Step(transformer).ok());
    EXPECT_EQ(transformer.sequences.size(), mode == DecodingMode::kBlock ? 4U : 3U);
  }
}

}  // namespace
}  // namespace ruvd::inference
