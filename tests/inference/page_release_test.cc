// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Completions that give their keys and values back and compute them again give the same result.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/engine/step_together.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference {
namespace {

using test::TinyTextModel;

std::shared_ptr<PrefixTree> Tree(uint64_t pages) {
  const ModelConfig& config = TinyTextModel()->config();
  constexpr KvFormat kFormat = KvFormat::kQ8;  // rounding again must give the same values
  return std::make_shared<PrefixTree>(
      KvPool::Create(config, kFormat, pages * KvLayout(config, kFormat).page_bytes()).value());
}

struct Request {
  std::vector<TokenId> prompt;
  SamplingOptions options;
  std::shared_ptr<const Adapter> adapter;  // or null; its weight changes from step to step
};

Request AnyRequest(uint64_t seed) {
  Random random(seed);
  Request request;
  request.prompt.resize(1 + random.Below(40));
  for (TokenId& token : request.prompt) {
    token = static_cast<TokenId>(random.Below(256));
  }
  SamplingOptions& options = request.options;
  options.mode = static_cast<DecodingMode>(random.Below(3));
  options.max_tokens = static_cast<int>(1 + random.Below(24));
  options.ignore_end_of_text = true;
  options.seed = seed;
  options.temperature = random.Bernoulli(0.5) ? 1.0F : 0.0F;
  if (*options.mode != DecodingMode::kAutoregressive) {
    options.steps = static_cast<int>(random.Below(10));
    options.guidance_scale = random.Bernoulli(0.3) ? 1.5F : 0.0F;
  }
  if (*options.mode == DecodingMode::kDiffusion) {
    options.approximate_cache_steps = static_cast<int>(1 + random.Below(6));
    options.block_length = static_cast<int>(1 + random.Below(12));
  }
  if (random.Bernoulli(0.3)) {
    request.adapter = test::RandomAdapter(
        *TinyTextModel(),
        {{"blk.0.attn_v.weight", FindMatrix(*TinyTextModel(), "blk.0.attn_v.weight")}}, seed % 3);
  }
  return request;
}

std::unique_ptr<Generation> Begin(const Request& request, const std::shared_ptr<PrefixTree>& tree) {
  Generation::AdapterPolicy policy;
  if (request.adapter != nullptr) {
    policy = [adapter = request.adapter](float t) {
      return AdapterMix{.parts = {{adapter, t > 0.5F ? 1.0F : 0.5F}}};
    };
  }
  return Generation::Create(*TinyTextModel(), request.prompt, request.options, policy, tree)
      .value();
}

struct Outcome {
  std::vector<TokenId> tokens;
  std::vector<float> confidences;
  std::string text;
  bool operator==(const Outcome&) const = default;
};

// `release(round)` says whether the pages go back before that round; with `prepared`, after the
// forward was asked for.
template <typename Release>
Outcome RunToEnd(const Request& request, const Release& release) {
  const auto tree = Tree(100);
  const auto generation = Begin(request, tree);
  CpuTransformer transformer(TinyTextModel(), SerialRunner());
  StepScratch scratch;
  Generation* const one = generation.get();
  Outcome outcome;
  for (int round = 0; !generation->done(); ++round) {
    if (release(round)) {
      if (round % 2 == 0) {
        (void)generation->NextForward();
      }
      generation->ReleasePages();
      RUVD_CHECK(generation->pages_held() == 0);
      tree->Evict(round % 3 == 0 ? 100 : 0);
    }
    const auto results = StepTogether(std::span(&one, 1), transformer, &scratch);
    for (const Commit& commit : results.front().value().value_or(StepResult()).commits) {
      outcome.confidences.push_back(commit.confidence);
    }
  }
  outcome.tokens = generation->tokens();
  outcome.text = generation->text();
  return outcome;
}

RC_GTEST_PROP(ReleasePagesTest, ChangesNothing, (uint64_t seed)) {
  const Request request = AnyRequest(seed);
  const Outcome whole = RunToEnd(request, [](int) { return false; });
  Random random(seed + 1);
  int released = 0;
  const Outcome interrupted = RunToEnd(request, [&](int) {
    const bool release = released < 20 && random.Bernoulli(0.4);
    released += release ? 1 : 0;
    return release;
  });
  RC_ASSERT(interrupted == whole);
}

TEST(ReleasePagesTest, AStepWithoutMemoryMayBeTriedAgain) {
  const auto tree = Tree(4);
  const Request request = {.prompt = std::vector<TokenId>(30, 'a'),
                           .options = {.mode = DecodingMode::kAutoregressive,
                                       .max_tokens = 10,
                                       .ignore_end_of_text = true},
                           .adapter = nullptr};
  Request other = request;
  other.prompt.assign(30, 'b');
  CpuTransformer transformer(TinyTextModel(), SerialRunner());
  const auto first = Begin(request, tree);
  ASSERT_TRUE(first->Step(transformer).ok());
  const auto second = Begin(other, tree);
  absl::Status status;
  while (status.ok() && !second->done()) {
    status = second->Step(transformer).status();
  }
  EXPECT_EQ(ReasonOf(status), reasons::kKvBudgetExceeded);
  EXPECT_GT(first->pages_held(), 0U);
  first->ReleasePages();
  while (!second->done()) {
    ASSERT_TRUE(second->Step(transformer).ok());
  }
}

}  // namespace
}  // namespace ruvd::inference
