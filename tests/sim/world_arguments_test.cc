// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/world_arguments.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ruvd::test {
namespace {

WorldArguments Parsed(std::vector<std::string> flags) {
  CLI::App app;
  WorldArguments arguments;
  AddFlags(app, arguments);
  std::reverse(flags.begin(), flags.end());  // the order that CLI11 requires
  app.parse(std::move(flags));
  return arguments;
}

// Regression test: the flags counted as passed, so every world began without known members and no
// world learned, contrary to the help text.
TEST(WorldArguments, WhatNoFlagChoosesIsLeftToSizeAndSeed) {
  EXPECT_FALSE(Parsed({}).established.has_value());
  EXPECT_FALSE(OptionsOf(Parsed({"--nodes", "1000"})).established);
  EXPECT_TRUE(OptionsOf(Parsed({"--nodes", "1001"})).established);
  EXPECT_FALSE(OptionsOf(Parsed({"--nodes", "1001", "--no-established"})).established);
  EXPECT_TRUE(OptionsOf(Parsed({"--established"})).established);
  EXPECT_EQ(OptionsOf(Parsed({})).undialable, 0);
  EXPECT_EQ(OptionsOf(Parsed({"--undialable", "0.3"})).undialable, 0.3);
  EXPECT_EQ(OptionsOf(Parsed({})).learning, std::nullopt);
  EXPECT_EQ(OptionsOf(Parsed({"--learning"})).learning, true);
  EXPECT_EQ(OptionsOf(Parsed({"--no-learning"})).learning, false);
}

TEST(WorldArguments, ALargeWorldSimulatesItsSignaturesUnlessChosen) {
  EXPECT_FALSE(WithSimulatedSignatures(Parsed({"--nodes", "100"})));
  EXPECT_TRUE(WithSimulatedSignatures(Parsed({"--nodes", "101"})));
  EXPECT_FALSE(WithSimulatedSignatures(Parsed({"--nodes", "101", "--signatures", "real"})));
  EXPECT_TRUE(WithSimulatedSignatures(Parsed({"--signatures", "simulated"})));
}

TEST(WorldArguments, ReadsSeedsSharesAndFaults) {
  EXPECT_EQ(ParseSeeds("7").last, 7U);
  EXPECT_EQ(ParseSeeds("3..9").first, 3U);
  for (const char* seeds : {"", "a", "9..3", "1..", "..4", "1...2"}) {
    EXPECT_THROW(ParseSeeds(seeds), CLI::ValidationError) << seeds;
  }
  const WorldOptions options = OptionsOf(
      Parsed({"--byzantine", "silent:0.25", "--byzantine", "forger:0.1", "--faults", "kill,clog"}));
  ASSERT_TRUE(options.byzantine.has_value());
  ASSERT_EQ(options.byzantine->size(), 2U);
  EXPECT_EQ(options.byzantine->at(1).kind, AdversaryKind::kForger);
  EXPECT_EQ(options.faults, (std::set<Fault>{Fault::kKill, Fault::kClog}));
  EXPECT_TRUE(OptionsOf(Parsed({"--byzantine", "none", "--faults", "none"})).faults->empty());
  for (const char* share :
       {"silent", "silent:", "silent:-1", "silent:nan", "liar:0.1", "silent:0.5"}) {
    EXPECT_THROW(OptionsOf(Parsed({"--byzantine", share})), CLI::ValidationError) << share;
  }
  EXPECT_THROW(OptionsOf(Parsed({"--faults", "kill,rain"})), CLI::ValidationError);
}

}  // namespace
}  // namespace ruvd::test
