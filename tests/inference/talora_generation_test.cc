// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Completions whose adapter changes with the masked share t.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "base/status.h"
#include "inference/adapter/talora.h"
#include "inference/engine/generation.h"
#include "inference/prefix/prefix_tree.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/cache_free_decode.h"
#include "tests/inference/finished_generation.h"
#include "tests/inference/talora_fixture.h"

namespace ruvd::inference {
namespace {

using test::RandomTalora;
using test::TinyTextModel;

constexpr BankStrategy kAllStrategies[] = {BankStrategy::kDiscrete, BankStrategy::kLinear,
                                           BankStrategy::kAttention, BankStrategy::kSoftBoundary};

std::vector<TokenId> Prompt(size_t length, uint64_t seed) {
  Random random(seed);
  std::vector<TokenId> prompt(length);
  for (TokenId& token : prompt) {
    token = static_cast<TokenId>(random.Below(256));
  }
  return prompt;
}

std::vector<float> Query(const Model& model, uint64_t seed) {
  Random random(seed);
  std::vector<float> query(static_cast<size_t>(model.config().width));
  for (float& value : query) {
    value = static_cast<float>(random.Normal());
  }
  return query;
}

Generation::AdapterPolicy PolicyOf(const Talora& talora, std::vector<float> query) {
  return [&talora, query = std::move(query)](float t) {
    AdapterMix mix;
    AppendMix(talora, t, query, 1, &mix);
    return mix;
  };
}

SamplingOptions Options(DecodingMode mode, int tokens) {
  SamplingOptions options;
  options.mode = mode;
  options.max_tokens = tokens;
  if (mode != DecodingMode::kAutoregressive) {
    options.sampler = SamplerKind::kLowConfidence;
  }
  options.ignore_end_of_text = true;
  return options;
}

std::vector<TokenId> Tokens(const std::shared_ptr<const Model>& model,
                            const std::vector<TokenId>& prompt, const SamplingOptions& options,
                            const Generation::AdapterPolicy& policy,
                            std::shared_ptr<PrefixTree> prefixes = nullptr) {
  CpuTransformer transformer(model, SerialRunner());
  auto generation =
      Generation::Create(*model, prompt, options, policy, std::move(prefixes)).value();
  return test::RunToEnd(*generation, transformer)->tokens;
}

// Tests every strategy with fewer caches than mixes: the cached decode is equal to one without any
// cache.
RC_GTEST_PROP(TaloraGenerationTest, CachesChangeNothing, (uint64_t seed)) {
  const auto model = TinyTextModel();
  const Talora talora =
      RandomTalora(*model, kAllStrategies[*rc::gen::inRange<size_t>(0, 4)], seed % 1000);
  const auto policy = PolicyOf(talora, Query(*model, seed));
  const auto prompt = Prompt(*rc::gen::inRange<size_t>(0, 14), seed);
  SamplingOptions options = Options(DecodingMode::kBlock, *rc::gen::inRange(1, 20));
  options.block_length = *rc::gen::inRange(1, 9);
  RC_ASSERT(Tokens(model, prompt, options, policy) ==
            test::CacheFreeBlockDecode(model, prompt, options.max_tokens, options.block_length,
                                       options.steps, policy));
}

TEST(TaloraGenerationTest, SharedPrefixesChangeNothing) {
  const auto model = TinyTextModel();
  const Talora talora = RandomTalora(*model, BankStrategy::kLinear);
  const auto policy = PolicyOf(talora, {});
  auto options = Options(DecodingMode::kBlock, 12);
  options.block_length = 4;
  const auto alone = Tokens(model, Prompt(20, 1), options, policy);
  const auto pool = KvPool::Create(model->config(), KvFormat::kF32, 64 << 20).value();
  const auto prefixes = std::make_shared<PrefixTree>(pool);
  EXPECT_EQ(Tokens(model, Prompt(20, 1), options, policy, prefixes), alone);
  EXPECT_EQ(Tokens(model, Prompt(20, 1), options, policy, prefixes), alone) << "now found";
}

// Equal residuals in all banks make every strategy the static adapter that they add up to.
TEST(TaloraGenerationTest, SpecialCasesAgree) {
  const auto model = TinyTextModel();
  Talora talora = RandomTalora(*model, BankStrategy::kDiscrete);
  talora.residuals.assign(3, talora.residuals[0]);
  AdapterMix both;
  both.parts = {{talora.trunk, 1.0F}, {talora.residuals[0], 1.0F}};
  const auto prompt = Prompt(9, 2);
  for (const DecodingMode mode :
       {DecodingMode::kDiffusion, DecodingMode::kBlock, DecodingMode::kAutoregressive}) {
    const SamplingOptions options = Options(mode, 12);
    const auto expected = Tokens(model, prompt, options, [&](float) { return both; });
    EXPECT_EQ(Tokens(model, prompt, options, PolicyOf(talora, {})), expected);
  }
  const auto still = StaticTalora(talora.trunk);
  const AdapterMix trunk{{{talora.trunk, 1.0F}}};
  const SamplingOptions options = Options(DecodingMode::kDiffusion, 12);
  EXPECT_EQ(Tokens(model, prompt, options, PolicyOf(*still, {})),
            Tokens(model, prompt, options, [&](float) { return trunk; }));
}

// Every step of a diffusion completion asks for the mix of its own t.
TEST(TaloraGenerationTest, EveryStepHasTheMixOfItsTime) {
  const auto model = TinyTextModel();
  const Talora talora = RandomTalora(*model, BankStrategy::kDiscrete);
  std::set<const Adapter*> used;
  std::vector<float> times;
  const auto policy = [&](float t) {
    AdapterMix mix;
    AppendMix(talora, t, {}, 1, &mix);
    used.insert(mix.parts.back().adapter.get());
    times.push_back(t);
    return mix;
  };
  Tokens(model, Prompt(5, 3), Options(DecodingMode::kDiffusion, 10), policy);
  ASSERT_EQ(times.size(), 10U);
  for (size_t i = 0; i < times.size(); ++i) {
    EXPECT_FLOAT_EQ(times[i], 1 - static_cast<float>(i) / 10);
  }
  EXPECT_EQ(used.size(), 3U) << "all banks";
}

}  // namespace
}  // namespace ruvd::inference
