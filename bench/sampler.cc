// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What a completion costs outside the model: reading rows of logits, and all of a request with 64
// positions of a vocabulary of 8192. RUVD_MODEL names the GGUF file whose tokenizer is used.

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "base/random.h"
#include "bench/study_prompts.h"
#include "inference/engine/completion_text.h"
#include "inference/model/model.h"
#include "inference/sampler/commit_rule.h"

namespace ruvd {
namespace {

constexpr size_t kVocabulary = 8192;
constexpr inference::TokenId kMask = 8188;
constexpr size_t kPositions = 64;

// Rows like a model's: most of the mass on a few tokens.
std::vector<float> Rows(size_t rows) {
  Random random(1);
  std::vector<float> logits(rows * kVocabulary);
  for (float& logit : logits) {
    logit = static_cast<float>(random.Normal() * 3);
  }
  return logits;
}

inference::ProposerOptions Greedy() {
  return {.choice = {.excluded = kMask}};
}

// The defaults of serving.
inference::ProposerOptions Served() {
  return {.choice = {.excluded = kMask}, .penalties = {.repetition = 1.2F, .no_repeat_ngram = 3}};
}

inference::ProposerOptions Drawn() {
  return {.choice = {.temperature = 0.7F, .top_p = 0.9F, .excluded = kMask}};
}

void Summaries(benchmark::State& state) {
  const std::vector<float> row = Rows(1);
  for (auto _ : state) {
    benchmark::DoNotOptimize(inference::Summarise(row, kMask));
  }
}
BENCHMARK(Summaries);

// 64 proposals and the choice of one position; the logits are copied back because penalties change
// them, which the timing leaves out.
void SampleStep(benchmark::State& state, const inference::ProposerOptions& options) {
  const std::vector<float> fresh = Rows(kPositions);
  std::vector<float> logits = fresh;
  std::vector<inference::TokenId> window(128, kMask);
  for (size_t i = 0; i < kPositions; ++i) {
    window[i] = static_cast<inference::TokenId>(i * 37 % 4096);
  }
  std::vector<int> masked;
  for (size_t i = 0; i < kPositions; ++i) {
    masked.push_back(static_cast<int>(kPositions + i));
  }
  inference::Proposer proposer(options);
  const auto rule = inference::MakeCommitRule({.kind = inference::SamplerKind::kLowConfidence});
  const inference::EvenSchedule schedule(kPositions);
  Random random(1);
  for (auto _ : state) {
    state.PauseTiming();
    logits = fresh;
    state.ResumeTiming();
    proposer.Observe(window);
    std::vector<inference::Proposal> proposals;
    for (size_t i = 0; i < kPositions; ++i) {
      proposals.push_back(
          proposer.Propose(masked[i], std::span(logits).subspan(i * kVocabulary, kVocabulary)));
    }
    benchmark::DoNotOptimize(
        rule->Choose({.masked = masked, .committed = {}, .schedule = schedule}, proposals, random));
  }
}
BENCHMARK_CAPTURE(SampleStep, greedy, Greedy());
BENCHMARK_CAPTURE(SampleStep, served, Served());
BENCHMARK_CAPTURE(SampleStep, drawn, Drawn());

// Tokenises a prompt and turns 64 tokens into text, one by one.
void TextOfRequest(benchmark::State& state) {
  const char* path = std::getenv("RUVD_MODEL");
  const auto model = inference::Model::Load(path == nullptr ? "" : path);
  if (!model.ok()) {
    state.SkipWithError("RUVD_MODEL names no model");
    return;
  }
  const inference::Tokenizer& tokenizer = (*model)->tokenizer();
  std::string prompt;
  for (size_t i = 0; i < 4; ++i) {
    prompt += bench::kSelectionPrompts[i];
  }
  const std::vector<inference::TokenId> tokens = tokenizer.Encode(prompt);
  for (auto _ : state) {
    benchmark::DoNotOptimize(tokenizer.Encode(prompt));
    inference::CompletionText text(tokenizer, {*tokenizer.eos_id()}, {"###"});
    for (size_t i = 0; i < kPositions; ++i) {
      benchmark::DoNotOptimize(text.Append(std::span(&tokens[i % tokens.size()], 1)));
    }
    benchmark::DoNotOptimize(text.Finish());
  }
}
BENCHMARK(TextOfRequest);

}  // namespace
}  // namespace ruvd
