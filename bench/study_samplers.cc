// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/study_samplers.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>

namespace ruvd::bench {
namespace {

using Change = std::function<void(inference::SamplingOptions&)>;
using enum inference::SamplerKind;

// Returns the steps for which ancestral sampling of `scope` masks takes this many forwards on
// average: a step is free with probability (1 - 1/steps)^scope.
int AncestralSteps(double forwards, int scope) {
  int steps = 1;
  while (steps < 16 * scope && steps * (1 - std::pow(1 - 1.0 / steps, scope)) < forwards) {
    ++steps;
  }
  return steps;
}

Change Drawn(float temperature, float top_p) {
  return [=](inference::SamplingOptions& o) {
    o.temperature = temperature;
    o.top_p = top_p;
  };
}
Change Repetition(float penalty, int window = 0) {
  return [=](inference::SamplingOptions& o) {
    o.repetition_penalty = penalty;
    o.penalty_window = window;
  };
}
Change Frequency(float penalty, int window) {
  return [=](inference::SamplingOptions& o) {
    o.frequency_penalty = penalty;
    o.penalty_window = window;
  };
}
Change Ngram(int n) {
  return [=](inference::SamplingOptions& o) { o.no_repeat_ngram = n; };
}
Change Positions(float temperature) {
  return [=](inference::SamplingOptions& o) { o.position_temperature = temperature; };
}
Change Guidance(float scale) {
  return [=](inference::SamplingOptions& o) { o.guidance_scale = scale; };
}
Change Remask(inference::RemaskKind kind, float strength) {
  return [=](inference::SamplingOptions& o) {
    o.remask = kind;
    o.remask_strength = strength;
  };
}

class List {
 public:
  List(inference::DecodingMode mode, double tokens_per_forward, int scope)
      : mode_(mode), tokens_per_forward_(tokens_per_forward), scope_(scope) {}

  void Add(std::optional<inference::SamplerKind> kind, const std::string& name,
           std::initializer_list<Change> changes) {
    inference::SamplingOptions options;
    options.mode = mode_;
    options.sampler = kind;
    const double forwards = scope_ / tokens_per_forward_;
    if (kind == kAncestral || kind == kRemdm) {
      options.steps = AncestralSteps(forwards, scope_);
    } else if (kind == kLowConfidence || kind == kMargin || kind == kEntropy || kind == kRandom ||
               kind == kPosition) {
      options.steps = static_cast<int>(std::lround(forwards));
    }
    for (const Change& change : changes) {
      change(options);
    }
    const std::string prefix = kind ? std::string(inference::SamplerName(*kind)) : "next token";
    candidates_.push_back({prefix + (name.empty() ? "" : ", " + name), options});
  }
  std::vector<Candidate> Take() { return std::move(candidates_); }

 private:
  inference::DecodingMode mode_;
  double tokens_per_forward_;
  int scope_;
  std::vector<Candidate> candidates_;
};

// Sets what requests that say nothing about repetition get.
void Serve(inference::SamplingOptions& options) {
  options.repetition_penalty = 1.2F;
  options.no_repeat_ngram = 3;
}

constexpr char kServed[] = "repetition 1.2, no 3-gram twice";

void AddGreedy(List& list) {
  list.Add(kLowConfidence, "greedy", {});
  for (const float penalty : {1.1F, 1.2F, 1.3F}) {
    list.Add(kLowConfidence, fmt::format("greedy, repetition {}", penalty), {Repetition(penalty)});
  }
  list.Add(kLowConfidence, "greedy, repetition 1.3 within 16", {Repetition(1.3F, 16)});
  list.Add(kLowConfidence, "greedy, frequency 1 within 32", {Frequency(1.0F, 32)});
  list.Add(kLowConfidence, "greedy, no 3-gram twice", {Ngram(3)});
  for (const float penalty : {1.1F, 1.2F, 1.3F}) {
    list.Add(kLowConfidence, fmt::format("greedy, repetition {}, no 3-gram twice", penalty),
             {Repetition(penalty), Ngram(3)});
  }
  list.Add(kLowConfidence, "greedy, guidance 0.5", {Guidance(0.5F)});
  list.Add(kLowConfidence, "greedy, positions at 0.2", {Positions(0.2F)});
  for (const inference::SamplerKind kind : {kMargin, kEntropy, kPosition, kRandom}) {
    list.Add(kind, "greedy", {});
    list.Add(kind, fmt::format("greedy, {}", kServed), {Serve});
  }
}

void AddDrawn(List& list) {
  const Change cool = Drawn(0.7F, 0.9F);
  for (const inference::SamplerKind kind :
       {kLowConfidence, kEntropy, kPosition, kRandom, kAncestral}) {
    list.Add(kind, "0.7, top-p 0.9", {cool});
    list.Add(kind, fmt::format("0.7, top-p 0.9, {}", kServed), {cool, Serve});
  }
  list.Add(kLowConfidence, "1, top-p 0.9", {Drawn(1.0F, 0.9F)});
  list.Add(kLowConfidence, "0.7, top-p 0.9, repetition 1.1", {cool, Repetition(1.1F)});
  list.Add(kLowConfidence, "0.7, top-p 0.9, no 3-gram twice", {cool, Ngram(3)});
  list.Add(kLowConfidence, "0.7, top-p 0.9, positions at 0.2", {cool, Positions(0.2F)});
  list.Add(kRemdm, "cap 0.05, 0.7, top-p 0.9", {cool, Remask(inference::RemaskKind::kCap, 0.05F)});
  list.Add(kRemdm, fmt::format("cap 0.05, 0.7, top-p 0.9, {}", kServed),
           {cool, Remask(inference::RemaskKind::kCap, 0.05F), Serve});
  list.Add(kRemdm, "confidence, 0.7, top-p 0.9",
           {cool, Remask(inference::RemaskKind::kConfidence, 0)});
}

Change Threshold(float value) {
  return [=](inference::SamplingOptions& o) { o.confidence_threshold = value; };
}

// These samplers choose how many tokens a forward commits.
void AddAdaptive(List& list) {
  for (const float value : {0.5F, 0.8F}) {
    list.Add(kThreshold, fmt::format("{}, greedy, {}", value, kServed), {Threshold(value), Serve});
    list.Add(kKlass, fmt::format("{}, greedy, {}", value, kServed), {Threshold(value), Serve});
  }
  for (const float value : {0.5F, 1.0F}) {
    const auto factor = [=](inference::SamplingOptions& o) { o.factor = value; };
    list.Add(kFactor, fmt::format("{}, greedy, {}", value, kServed), {factor, Serve});
  }
  for (const float value : {0.1F, 0.5F, 1.0F}) {
    const auto bound = [=](inference::SamplingOptions& o) { o.entropy_bound = value; };
    list.Add(kEntropyBounded, fmt::format("{}, greedy, {}", value, kServed), {bound, Serve});
  }
}

// How a token is chosen, for comparing speeds at equal text.
struct TokenRule {
  const char* name;
  Change change;
};

std::vector<TokenRule> TokenRules() {
  // The first is the peer's default.
  return {{"0.8, top-k 40, top-p 0.95",
           [](inference::SamplingOptions& o) {
             o.temperature = 0.8F;
             o.top_k = 40;
             o.top_p = 0.95F;
           }},
          {"greedy", [](inference::SamplingOptions&) {}},
          {kServed, Serve}};
}

void AddWindows(std::vector<Candidate>* candidates, int tokens) {
  for (const int tokens_per_forward : {1, 4}) {
    List list(inference::DecodingMode::kDiffusion, tokens_per_forward, tokens);
    for (const TokenRule& rule : TokenRules()) {
      list.Add(kLowConfidence,
               fmt::format("window, {} steps, {}", tokens / tokens_per_forward, rule.name),
               {rule.change});
    }
    for (Candidate& candidate : list.Take()) {
      candidates->push_back(std::move(candidate));
    }
  }
}

void AddBlocks(std::vector<Candidate>* candidates, int scope) {
  for (const TokenRule& rule : TokenRules()) {
    List list(inference::DecodingMode::kBlock, 1, scope);
    list.Add(kLowConfidence, fmt::format("blocks, {} steps a block, {}", scope, rule.name),
             {rule.change});
    for (const int percent : {90, 80, 70, 60, 50, 40, 30, 20}) {
      const float value = static_cast<float>(percent) / 100;
      list.Add(kThreshold, fmt::format("blocks, {}, {}", value, rule.name),
               {Threshold(value), rule.change});
    }
    for (Candidate& candidate : list.Take()) {
      candidates->push_back(std::move(candidate));
    }
  }
}

}  // namespace

std::vector<Candidate> Candidates(inference::DecodingMode mode, double tokens_per_forward,
                                  int scope) {
  List list(mode, tokens_per_forward, scope);
  if (mode == inference::DecodingMode::kAutoregressive) {
    const Change cool = Drawn(0.7F, 0.9F);
    list.Add(std::nullopt, "greedy", {});
    list.Add(std::nullopt, "greedy, repetition 1.3", {Repetition(1.3F)});
    list.Add(std::nullopt, "0.7, top-p 0.9", {cool});
    list.Add(std::nullopt, "1, top-p 0.9", {Drawn(1.0F, 0.9F)});
    list.Add(std::nullopt, "0.7, top-p 0.9, repetition 1.1", {cool, Repetition(1.1F)});
    list.Add(std::nullopt, fmt::format("0.7, top-p 0.9, {}", kServed), {cool, Serve});
    list.Add(std::nullopt, fmt::format("greedy, {}", kServed), {Serve});
    return list.Take();
  }
  AddGreedy(list);
  AddDrawn(list);
  AddAdaptive(list);
  return list.Take();
}

std::vector<Candidate> SpeedCandidates(int tokens, int scope) {
  std::vector<Candidate> candidates;
  AddWindows(&candidates, tokens);
  AddBlocks(&candidates, scope);
  return candidates;
}

std::vector<Candidate> SampleCandidates() {
  const auto with = [](Candidate candidate, const Change& change) {
    change(candidate.options);
    return candidate;
  };
  inference::SamplingOptions block;
  block.mode = inference::DecodingMode::kBlock;
  inference::SamplingOptions diffusion;
  diffusion.mode = inference::DecodingMode::kDiffusion;
  return {with({"block, position (the default)", block}, Serve),
          with({"diffusion, low_confidence", diffusion}, Serve),
          with({"block, ancestral at temperature 0.7, top-p 0.9", block},
               [](inference::SamplingOptions& o) {
                 Serve(o);
                 o.sampler = kAncestral;
                 o.steps = 64;
                 Drawn(0.7F, 0.9F)(o);
               })};
}

}  // namespace ruvd::bench
