// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Reads a memory as a PyTorch program did: tests/inference/data/token_memory_case.py.

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "inference/memory/memory_reader.h"
#include "tests/paths.h"

namespace ruvd::inference {
namespace {

constexpr int kKey = 64;
constexpr size_t kVocabulary = 24;
constexpr TokenId kMask = 1000;
constexpr double kTolerance = 1e-4;

// Keys are the directions of the states.
MemoryParameters ParametersOf(const nlohmann::json& data) {
  MemoryParameters p;
  p.width = kKey;
  p.dimension = kKey;
  p.mean.assign(kKey, 0);
  p.projection.assign(static_cast<size_t>(kKey) * kKey, 0);
  for (size_t i = 0; i < kKey; ++i) {
    p.projection[i * kKey + i] = 1;
  }
  p.temperature = data["temperature"];
  const std::vector<float> bonuses = data["bonuses"];
  std::copy_n(bonuses.begin(), kMemoryLeft, p.left.begin());
  std::copy_n(bonuses.begin() + kMemoryLeft, kMemoryRight, p.right.begin());
  p.both = bonuses.back();
  p.surprise = data["bias"][0];
  p.timestep = data["bias"][1];
  p.public_log_frequency.assign(kVocabulary, -3);
  return p;
}

std::vector<float> Flat(const nlohmann::json& rows) {
  std::vector<float> values;
  for (const nlohmann::json& row : rows) {
    const std::vector<float> own = row;
    values.insert(values.end(), own.begin(), own.end());
  }
  return values;
}

std::shared_ptr<const MemoryRun> RunOf(const MemoryParameters& parameters, uint64_t id,
                                       const nlohmann::json& lesson) {
  const std::vector<TokenId> tokens = lesson["tokens"];
  const std::vector<float> states = Flat(lesson["signs"]);
  const std::vector<float> probabilities = lesson["p"];
  std::vector<MemoryObservation> observations;
  for (size_t i = 0; i < probabilities.size(); ++i) {
    observations.push_back({.hidden = std::span(states).subspan(i * kKey, kKey),
                            .probability = probabilities[i],
                            .t = lesson["t"]});
  }
  return MemoryRun::Make(parameters, id, tokens, lesson["context"], observations);
}

TEST(MemoryGolden, ReadsAsThePyTorchProgram) {
  std::ifstream file(test::SourceDir() + "/tests/inference/data/token_memory_case.json");
  const nlohmann::json data = nlohmann::json::parse(file);
  const auto parameters = std::make_shared<MemoryParameters>(ParametersOf(data));
  std::vector<std::shared_ptr<const MemoryRun>> runs;
  for (const nlohmann::json& lesson : data["lessons"]) {
    runs.push_back(RunOf(*parameters, runs.size(), lesson));
  }
  MemoryReader reader(parameters, std::make_shared<TokenMemory>(runs));
  std::vector<TokenId> window;
  for (const int token : data["window"]) {
    window.push_back(token < 0 ? kMask : static_cast<TokenId>(token));
  }
  const std::vector<int> positions = data["positions"];
  const std::vector<float> states = Flat(data["signs"]);
  const std::vector<float> logits(positions.size() * kVocabulary, 0.0F);
  for (const bool causal : {false, true}) {
    const nlohmann::json& want = data[causal ? "causal" : "masked"];
    const std::vector<MemoryReading> readings = reader.Read(
        {.tokens = window, .mask = kMask, .causal = causal, .t = 0.5F, .masked = positions.size()},
        positions, states, logits);
    for (size_t i = 0; i < positions.size(); ++i) {
      SCOPED_TRACE(i);
      const MemoryFeatures& x = readings[i].features;
      EXPECT_NEAR(At(x, MemoryFeature::kLogMass), want["log_mass"][i], kTolerance);
      EXPECT_NEAR(At(x, MemoryFeature::kBestScore), want["best_score"][i], kTolerance);
      EXPECT_NEAR(At(x, MemoryFeature::kBestCosine), want["best_cosine"][i], kTolerance);
      std::map<TokenId, float> votes(readings[i].votes.begin(), readings[i].votes.end());
      for (size_t token = 0; token < kVocabulary; ++token) {
        EXPECT_NEAR(votes[static_cast<TokenId>(token)], want["votes"][i][token], kTolerance);
      }
    }
  }
}

}  // namespace
}  // namespace ruvd::inference
