// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/memory/memory_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/memory/memory_run.h"
#include "tests/inference/memory_fixture.h"

namespace ruvd::inference {
namespace {

using testing::HasSubstr;

TEST(MemoryParametersFile, WhatIsWrittenIsRead) {
  const MemoryParameters made = test::RandomMemoryParameters();
  const std::string path = testing::TempDir() + "/made.memory.gguf";
  ASSERT_TRUE(made.WriteTo(path).ok());
  const auto read = MemoryParameters::Load(path, made.model_hash);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->mean, made.mean);
  EXPECT_EQ(read->projection, made.projection);
  EXPECT_EQ(read->left, made.left);
  EXPECT_EQ(read->right, made.right);
  EXPECT_EQ(read->both, made.both);
  EXPECT_EQ(read->surprise, made.surprise);
  EXPECT_EQ(read->timestep, made.timestep);
  EXPECT_EQ(read->public_log_frequency, made.public_log_frequency);
  EXPECT_EQ(read->masked_gate, made.masked_gate);
  EXPECT_EQ(read->causal_gate, made.causal_gate);
  EXPECT_EQ(read->EntryId(), made.EntryId());
  const auto other = MemoryParameters::Load(path, Digest{9});
  EXPECT_EQ(ReasonOf(other.status()), reasons::kModelMismatch);
  EXPECT_THAT(MessageOf(other.status()), HasSubstr("ruvd model memory"));
  std::filesystem::remove(path);
}

TEST(MemoryParametersFile, BytesThatAreNoParametersAreRefused) {
  const MemoryParameters made = test::RandomMemoryParameters();
  const std::string bytes = made.Serialize().value();
  for (size_t length = 0; length < bytes.size(); length += 97) {
    EXPECT_FALSE(
        MemoryParameters::Parse(bytes.substr(0, length), "cut short", made.model_hash).ok());
  }
  std::string renamed = bytes;
  renamed.replace(renamed.find("memory.score"), 12, "memory.xcore");
  EXPECT_THAT(MessageOf(MemoryParameters::Parse(renamed, "renamed", made.model_hash).status()),
              HasSubstr("memory.score"));
}

TEST(MemoryParametersFile, ValuesOutOfRangeAreRefused) {
  const auto refused = [](const std::function<void(MemoryParameters*)>& change) {
    MemoryParameters p = test::RandomMemoryParameters();
    change(&p);
    return ReasonOf(p.Check()) == reasons::kInvalidArgument && !p.Serialize().ok();
  };
  EXPECT_TRUE(refused([](auto* p) { p->dimension = 33; }));
  EXPECT_TRUE(refused([](auto* p) { p->mean.pop_back(); }));
  EXPECT_TRUE(refused([](auto* p) { p->temperature = 0; }));
  EXPECT_TRUE(refused([](auto* p) { p->temperature = std::nanf(""); }));
  EXPECT_TRUE(refused([](auto* p) { p->both = 11; }));
  EXPECT_TRUE(refused([](auto* p) { p->public_log_frequency.clear(); }));
  EXPECT_TRUE(refused([](auto* p) { p->projection[3] = std::numeric_limits<float>::infinity(); }));
  EXPECT_TRUE(refused([](auto* p) { p->masked_gate.bias = std::nanf(""); }));
  EXPECT_TRUE(test::RandomMemoryParameters().Check().ok());
}

TEST(MemoryParametersFile, KeysHaveLengthOneOrAreNoNumbers) {
  const MemoryParameters p = test::RandomMemoryParameters();
  std::vector<float> hidden(3 * test::kMemoryWidth, 0.25F);
  std::copy(p.mean.begin(), p.mean.end(), hidden.begin() + test::kMemoryWidth);  // no direction
  hidden[2 * test::kMemoryWidth] = std::nanf("");
  std::vector<float> keys(3 * 32);
  p.ComputeKeys(hidden, keys);
  double squares = 0;
  for (size_t i = 0; i < 32; ++i) {
    squares += static_cast<double>(keys[i]) * keys[i];
    EXPECT_TRUE(std::isnan(keys[32 + i]));
    EXPECT_TRUE(std::isnan(keys[64 + i]));
  }
  EXPECT_NEAR(squares, 1, 1e-5);
}

TEST(MemoryParametersFile, NoScoreExceedsTheBound) {
  const MemoryParameters p = test::RandomMemoryParameters();
  const float largest = 1 / p.temperature + 3.75F + 2.75F + p.both + p.BiasOf(1, 0);
  EXPECT_LE(largest, p.ScoreBound());
  EXPECT_LT(p.BiasOf(1e-9F, 1), p.BiasOf(0.5F, 1));
}

}  // namespace
}  // namespace ruvd::inference
