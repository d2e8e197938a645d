// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>
#include <set>
#include <vector>

#include "inference/engine/generation.h"
#include "inference/engine/step_together.h"
#include "inference/instant/lessons.h"
#include "inference/instant/limits.h"
#include "inference/sampler/limits.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/end_of_turn_model.h"
#include "tests/inference/finished_generation.h"
#include "tests/inference/text_model.h"

namespace ruvd::inference {
namespace {

using test::FinishedGeneration;
using test::TinyTextModel;

const std::vector<TokenId> kTaughtPrompt = {70, 71, 72, 73, 74};

struct Recorded {
  FinishedGeneration finished;
  CommitTrail trail;
};

Recorded Decode(const std::shared_ptr<const Model>& model, const SamplingOptions& options,
                std::shared_ptr<const InstantMemory> memory, bool record) {
  CpuTransformer transformer(model, SerialRunner());
  auto generation = Generation::Create(*model, kTaughtPrompt, options, nullptr).value();
  generation->SetInstantMemory(std::move(memory), record);
  Recorded result;
  result.finished = test::RunToEnd(*generation, transformer).value();
  result.trail = generation->trail();
  return result;
}

std::vector<TokenId> Committed(const CommitTrail& trail) {
  std::vector<TokenId> tokens;
  for (const CommittedPosition& position : trail.Positions()) {
    tokens.push_back(position.token);
  }
  return tokens;
}

std::vector<TokenId> Window(const Recorded& run) {
  return {run.finished.tokens.begin() + run.finished.prompt_length, run.finished.tokens.end()};
}

struct Mode {
  const char* name;
  SamplingOptions options;

  friend void PrintTo(const Mode& mode, std::ostream* out) { *out << mode.name; }
};

class GenerationInstantTest : public ::testing::TestWithParam<Mode> {
 protected:
  const std::shared_ptr<const Model> model_ = TinyTextModel();
};

TEST_P(GenerationInstantTest, RecordingAndAnEmptyMemoryChangeNoBit) {
  const Recorded plain = Decode(model_, GetParam().options, nullptr, false);
  const auto empty = std::make_shared<const InstantMemory>(InstantMemoryOptions());
  const Recorded watched = Decode(model_, GetParam().options, empty, true);
  EXPECT_EQ(plain.finished.tokens, watched.finished.tokens);
  ASSERT_EQ(plain.finished.steps.size(), watched.finished.steps.size());
  for (size_t i = 0; i < plain.finished.steps.size(); ++i) {
    const StepResult& a = plain.finished.steps[i];
    const StepResult& b = watched.finished.steps[i];
    EXPECT_EQ(a.mean_entropy, b.mean_entropy);
    ASSERT_EQ(a.commits.size(), b.commits.size());
    for (size_t j = 0; j < a.commits.size(); ++j) {
      EXPECT_EQ(a.commits[j].confidence, b.commits[j].confidence);
    }
  }
  EXPECT_TRUE(plain.trail.empty());
}

TEST_P(GenerationInstantTest, TheTrailHasEveryCommitWithItsDistribution) {
  const Recorded run = Decode(model_, GetParam().options, nullptr, true);
  EXPECT_EQ(Committed(run.trail), Window(run));
  CpuTransformer transformer(model_, SerialRunner());
  std::vector<float> logits(static_cast<size_t>(model_->config().vocabulary));
  for (const CommittedPosition& position : run.trail.Positions()) {
    transformer.Logits(position.hidden, nullptr, logits);
    const RowSummary summary = Summarise(logits, kNoToken);
    ASSERT_NEAR(position.probability, summary.Probability(logits[position.token]), 1e-4);
    ASSERT_LE(position.candidates.size(), limits::kMaxCandidates);
    std::set<TokenId> seen;
    float least = 1;
    for (const TokenProbability& candidate : position.candidates) {
      EXPECT_TRUE(seen.insert(candidate.token).second);
      EXPECT_NEAR(candidate.probability, summary.Probability(logits[candidate.token]), 1e-4);
      least = std::min(least, candidate.probability);
    }
    EXPECT_GE(least, 0.99F * limits::kMinCandidate);
    for (size_t k = 0; k < logits.size(); ++k) {  // the likeliest are not left out
      if (summary.Probability(logits[k]) > 1.01F * least && k != *model_->tokenizer().mask_id()) {
        EXPECT_TRUE(seen.contains(static_cast<TokenId>(k)) ||
                    seen.size() == limits::kMaxCandidates);
      }
    }
  }
}

TEST_P(GenerationInstantTest, WhatASessionWasTaughtComesOut) {
  const Recorded before = Decode(model_, GetParam().options, nullptr, true);
  // The user wants other tokens at the same places; none of these was committed anywhere.
  const std::vector<TokenId> committed = Window(before);
  std::vector<TokenId> wanted;
  for (TokenId token = 65; wanted.size() < committed.size(); ++token) {
    if (std::find(committed.begin(), committed.end(), token) == committed.end()) {
      wanted.push_back(token);
    }
  }
  const auto step = InstantStep::Make("a", model_->config().width,
                                      LessonsOfEdit(before.trail.Positions(), wanted), {.step = 1});
  const auto memory =
      InstantMemory({.neighbour_share = 0.9F, .neighbours = 1, .prior = 0, .rows = false})
          .With(step);
  const Recorded after = Decode(model_, GetParam().options, memory, true);
  const auto likeness = [&wanted](const std::vector<TokenId>& tokens) {
    int equal = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
      equal += tokens[i] == wanted[i] ? 1 : 0;
    }
    return equal;
  };
  EXPECT_GT(likeness(Window(after)), likeness(Window(before)));
  // The very first commit sees the same hidden state, so it is exactly what was taught.
  const Commit& first = after.finished.steps.front().commits.front();
  if (GetParam().options.mode == DecodingMode::kAutoregressive) {
    EXPECT_EQ(first.token, wanted[static_cast<size_t>(first.position)]);
  }
  // The change goes away again.
  const Recorded undone = Decode(model_, GetParam().options, memory->Without("a"), false);
  EXPECT_EQ(undone.finished.tokens, before.finished.tokens);
}

// Returns a position after which others were committed earlier, and whose token occurs nowhere
// else: where it ends the text, the completion is the same up to its step. Returns -1 if there is
// no such position.
int PositionToEndAt(const Recorded& run) {
  const std::vector<TokenId> window = Window(run);
  std::vector<size_t> step(window.size());
  for (size_t i = 0; i < run.finished.steps.size(); ++i) {
    for (const Commit& commit : run.finished.steps[i].commits) {
      step[static_cast<size_t>(commit.position)] = i;
    }
  }
  for (size_t i = 1; i + 1 < window.size(); ++i) {
    const bool ahead = std::any_of(step.begin() + static_cast<std::ptrdiff_t>(i) + 1, step.end(),
                                   [&](size_t other) { return other < step[i]; });
    if (ahead && std::count(window.begin(), window.end(), window[i]) == 1) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

TEST(GenerationInstantEndTest, TheTrailEndsWithTheText) {
  for (const DecodingMode mode : {DecodingMode::kDiffusion, DecodingMode::kBlock}) {
    // Tokens are random, so that some occur once.
    SamplingOptions options = {.mode = mode, .max_tokens = 32};
    options.temperature = 2;
    options.seed = 5;
    const Recorded whole = Decode(test::TextModelWithEndOfTurn(kNoToken), options, nullptr, true);
    const int position = PositionToEndAt(whole);
    ASSERT_GE(position, 0);
    const TokenId end = Window(whole)[static_cast<size_t>(position)];
    const Recorded run = Decode(test::TextModelWithEndOfTurn(end), options, nullptr, true);
    ASSERT_EQ(run.finished.reason, FinishReason::kEndOfText);
    std::vector<TokenId> text = Window(run);
    text.erase(std::find(text.begin(), text.end(), end) + 1, text.end());
    EXPECT_EQ(Committed(run.trail), text);
    EXPECT_EQ(run.trail.Positions().back().position, position);
    EXPECT_LT(run.trail.bytes(), whole.trail.bytes());
  }
}

TEST(GenerationInstantEndTest, TheTrailHasNothingOfAStopString) {
  const auto model = TinyTextModel();
  for (const DecodingMode mode :
       {DecodingMode::kDiffusion, DecodingMode::kBlock, DecodingMode::kAutoregressive}) {
    SamplingOptions options = {.mode = mode, .max_tokens = 48};
    options.temperature = 2;
    options.seed = 3;
    options.ignore_end_of_text = true;
    const std::vector<TokenId> window = Window(Decode(model, options, nullptr, true));
    const auto plain = [](TokenId token) { return token > ' ' && token < 127; };
    const auto pair =
        std::adjacent_find(window.begin() + 1, window.end(),
                           [&](TokenId a, TokenId b) { return plain(a) && plain(b); });
    ASSERT_NE(pair, window.end());
    options.stop = {{static_cast<char>(pair[0]), static_cast<char>(pair[1])}};
    const Recorded run = Decode(model, options, nullptr, true);
    ASSERT_EQ(run.finished.reason, FinishReason::kStop);
    EXPECT_EQ(Committed(run.trail), std::vector<TokenId>(window.begin(), pair));
  }
}

SamplingOptions With(DecodingMode mode, auto change) {
  SamplingOptions options;
  options.mode = mode;
  options.max_tokens = 12;
  options.ignore_end_of_text = true;
  change(options);
  return options;
}

INSTANTIATE_TEST_SUITE_P(
    Modes, GenerationInstantTest,
    ::testing::Values(
        Mode{"diffusion", With(DecodingMode::kDiffusion, [](SamplingOptions&) {})},
        Mode{"penalties", With(DecodingMode::kDiffusion,
                               [](SamplingOptions& o) {
                                 o.repetition_penalty = 1.3F;
                                 o.no_repeat_ngram = 3;
                               })},
        Mode{"block", With(DecodingMode::kBlock, [](SamplingOptions& o) { o.block_length = 4; })},
        Mode{"autoregressive", With(DecodingMode::kAutoregressive,
                                    [](SamplingOptions& o) { o.repetition_penalty = 1.2F; })}),
    [](const auto& tested) { return tested.param.name; });

TEST(GenerationInstantGuidanceTest, GuidedLogitsAreAdjustedToo) {
  const auto model = TinyTextModel();
  const SamplingOptions options = With(DecodingMode::kDiffusion, [](SamplingOptions& o) {
    o.guidance_scale = 0.5F;
    o.steps = 1;
  });
  const Recorded before = Decode(model, options, nullptr, true);
  std::vector<TokenId> wanted(12, 66);
  const auto step = InstantStep::Make("a", model->config().width,
                                      LessonsOfEdit(before.trail.Positions(), wanted), {});
  const auto memory = InstantMemory({.neighbour_share = 0.99F, .prior = 0}).With(step);
  EXPECT_EQ(Window(Decode(model, options, memory, false)), wanted);
}

}  // namespace
}  // namespace ruvd::inference
