// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the instant loop costs a completion of 64 tokens: width 512, vocabulary 8192. The counter
// floor_us is the time that reading the least data takes at 10 GB/s, about half of one core's
// bandwidth on the machines of bench/RESULTS.md.

#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "inference/instant/instant_memory.h"
#include "inference/instant/instant_step.h"
#include "inference/instant/lessons.h"
#include "inference/sampler/commit_trail.h"
#include "inference/sampler/proposal.h"

namespace ruvd {
namespace {

constexpr int kWidth = 512;
constexpr size_t kVocabulary = 8192;
constexpr size_t kTokens = 64;
constexpr double kBytesPerUs = 10'000;

std::vector<float> Normal(size_t count, double spread, uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    value = static_cast<float>(spread * random.Normal());
  }
  return values;
}

// Rows like a model's: a few tokens hold most of the mass.
std::vector<float> Logits() {
  return Normal(kTokens * kVocabulary, 2.5, 1);
}

inference::CommitTrail Trail(uint64_t seed) {
  const std::vector<float> hidden = Normal(kTokens * kWidth, 1, seed);
  Random random(seed);
  inference::CommitTrail trail(kWidth);
  trail.Reserve(kTokens);
  for (size_t i = 0; i < kTokens; ++i) {
    std::vector<inference::TokenProbability> candidates;
    for (int j = 0; j < 32; ++j) {
      candidates.push_back({static_cast<inference::TokenId>(random.Below(kVocabulary)), 0.02F});
    }
    trail.Add(static_cast<int>(i), static_cast<inference::TokenId>(random.Below(kVocabulary)), 0.3F,
              std::span(hidden).subspan(i * kWidth, kWidth), candidates);
  }
  return trail;
}

std::shared_ptr<const inference::InstantMemory> MemoryOf(size_t requests) {
  auto memory = std::make_shared<const inference::InstantMemory>(inference::InstantMemoryOptions());
  for (size_t i = 0; i < requests; ++i) {
    const inference::CommitTrail trail = Trail(i + 10);
    memory = memory->With(inference::InstantStep::Make(
        std::to_string(i), kWidth, inference::LessonsOfReward(trail.Positions(), 1), {}));
  }
  return memory;
}

// On the response path: proposes 64 tokens without and with candidates, and notes the commits. The
// difference of the two is what recording costs a completion.
void Propose(benchmark::State& state) {
  const bool record = state.range(0) != 0;
  const std::vector<float> original = Logits();
  const std::vector<float> hidden = Normal(kWidth, 1, 3);
  inference::ProposerOptions options{.choice = {.excluded = kVocabulary - 1}};
  if (state.range(1) != 0) {  // what is served by default
    options.penalties = {.repetition = 1.2F, .no_repeat_ngram = 3};
  }
  inference::Proposer proposer(options);
  if (record) {
    proposer.EnableCandidates();
  }
  std::vector<inference::TokenId> tokens(192);
  for (size_t i = 0; i < tokens.size(); ++i) {
    tokens[i] = static_cast<inference::TokenId>(i * 37 % 5000);
  }
  proposer.Observe(tokens);
  std::vector<float> logits;
  for (auto _ : state) {
    state.PauseTiming();
    logits = original;
    state.ResumeTiming();
    inference::CommitTrail trail(kWidth);
    trail.Reserve(record ? kTokens : 0);
    for (size_t i = 0; i < kTokens; ++i) {
      const inference::Proposal proposal = proposer.Propose(
          static_cast<int>(128 + i), std::span(logits).subspan(i * kVocabulary, kVocabulary));
      if (record) {
        trail.Add(static_cast<int>(i), proposal.token, proposal.probability, hidden,
                  proposal.candidates);
      }
      benchmark::DoNotOptimize(proposal.token);
    }
  }
  state.counters["floor_us"] = kTokens * kVocabulary * sizeof(float) / kBytesPerUs;
}
BENCHMARK(Propose)
    ->ArgNames({"record", "penalties"})
    ->ArgsProduct({{0, 1}, {0, 1}})
    ->Unit(benchmark::kMicrosecond);

// After the response: one request of 64 tokens becomes a step of a memory of `requests` requests.
void Learn(benchmark::State& state) {
  const inference::CommitTrail trail = Trail(1);
  const auto memory = MemoryOf(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    const auto step = inference::InstantStep::Make(
        "new", kWidth, inference::LessonsOfReward(trail.Positions(), 1), {});
    benchmark::DoNotOptimize(memory->With(step));
  }
  state.counters["floor_us"] = kTokens * kWidth * sizeof(float) / kBytesPerUs;
}
BENCHMARK(Learn)->ArgName("requests")->Arg(0)->Arg(20)->Arg(63)->Unit(benchmark::kMicrosecond);

// On the response path of a session with a memory: adjusts the logits of `rows` positions.
void Adjust(benchmark::State& state) {
  const auto requests = static_cast<size_t>(state.range(0));
  const auto rows = static_cast<size_t>(state.range(1));
  const auto memory = MemoryOf(requests);
  const std::vector<float> hidden = Normal(rows * kWidth, 1, 5);
  const std::vector<float> original = Logits();
  std::vector<float> logits;
  for (auto _ : state) {
    state.PauseTiming();
    logits.assign(original.begin(),
                  original.begin() + static_cast<std::ptrdiff_t>(rows * kVocabulary));
    state.ResumeTiming();
    memory->Adjust(hidden, rows, logits);
    benchmark::DoNotOptimize(logits.data());
  }
  state.counters["floor_us"] = static_cast<double>(requests * kTokens * kWidth * sizeof(uint16_t) +
                                                   rows * kVocabulary * sizeof(float)) /
                               kBytesPerUs;
  state.counters["us_per_row"] = benchmark::Counter(
      static_cast<double>(rows) * 1e-6,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(Adjust)
    ->ArgNames({"requests", "rows"})
    ->Args({20, 1})
    ->Args({20, 16})
    ->Args({64, 1})
    ->Args({64, 16})
    ->Unit(benchmark::kMicrosecond);

// Taking one request back from a full memory.
void Undo(benchmark::State& state) {
  const auto memory = MemoryOf(64);
  for (auto _ : state) {
    benchmark::DoNotOptimize(memory->Without("30"));
  }
}
BENCHMARK(Undo)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace ruvd
