// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/shown.h"

#include <gtest/gtest.h>

namespace ruvd {
namespace {

TEST(ShownTest, KeepsShortPrintableText) {
  EXPECT_EQ(Shown(""), "");
  EXPECT_EQ(Shown("blk.0.attn_q.weight"), "blk.0.attn_q.weight");
  EXPECT_EQ(Shown(std::string(kShownBytes, 'a')), std::string(kShownBytes, 'a'));
}

TEST(ShownTest, CutsAndReplaces) {
  EXPECT_EQ(Shown(std::string(1 << 20, 'a')), std::string(kShownBytes, 'a') + "...");
  EXPECT_EQ(Shown("abcdef", 3), "abc...");
  EXPECT_EQ(Shown("a\x1b[2J\xC2\x9B\xFF\n"), "a?[2J????");
}

}  // namespace
}  // namespace ruvd
