// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>

#include "base/reasons.h"
#include "base/status.h"
#include "node/cli/adapter_flags.h"

namespace ruvd::cli {
namespace {

absl::StatusOr<inference::v1::AdapterChoice> Read(const std::string& text) {
  inference::v1::AdapterSelection selection;
  RETURN_IF_ERROR(ReadAdapterFlags({.none = false, .chosen = {text}}, &selection));
  return selection.chosen(0);
}

TEST(AdapterFlagsTest, NameWeightAndRange) {
  EXPECT_EQ(Read("tone")->name(), "tone");
  EXPECT_FALSE(Read("tone")->has_weight());
  EXPECT_EQ(Read("tone=0.5")->weight(), 0.5F);
  const auto ranged = Read("to=ne=-1@0.25..0.5").value();
  EXPECT_EQ(ranged.name(), "to=ne");
  EXPECT_EQ(ranged.weight(), -1.0F);
  EXPECT_EQ(ranged.t_min(), 0.25F);
  EXPECT_EQ(ranged.t_max(), 0.5F);
}

TEST(AdapterFlagsTest, Versions) {
  EXPECT_EQ(Read("tone@3")->version(), 3U);
  EXPECT_EQ(Read("tone@3")->name(), "tone");
  const auto weighted = Read("tone@3=0.5").value();
  EXPECT_EQ(weighted.version(), 3U);
  EXPECT_EQ(weighted.weight(), 0.5F);
  const auto all = Read("tone@3=0.5@0..0.25").value();
  EXPECT_EQ(all.name(), "tone");
  EXPECT_EQ(all.version(), 3U);
  EXPECT_EQ(all.t_max(), 0.25F);
  EXPECT_FALSE(Read("tone=0.5@0..0.25")->has_version());
}

TEST(AdapterFlagsTest, WhatIsMisspeltIsRefused) {
  for (const char* text :
       {"", "=1", "tone=", "tone=x", "tone@0.5", "tone@..", "tone=1@a..b", "tone@-1", "tone@"}) {
    EXPECT_EQ(ReasonOf(Read(text).status()), reasons::kUsage) << text;
  }
}

}  // namespace
}  // namespace ruvd::cli
