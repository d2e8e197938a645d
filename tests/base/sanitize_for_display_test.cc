// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/sanitize_for_display.h"

#include <gtest/gtest.h>

namespace ruvd {
namespace {

TEST(ShownTest, KeepsShortPrintableText) {
  EXPECT_EQ(SanitizeForDisplay(""), "");
  EXPECT_EQ(SanitizeForDisplay("blk.0.attn_q.weight"), "blk.0.attn_q.weight");
  EXPECT_EQ(SanitizeForDisplay(std::string(kDisplayBytes, 'a')), std::string(kDisplayBytes, 'a'));
}

TEST(ShownTest, CutsAndReplaces) {
  EXPECT_EQ(SanitizeForDisplay(std::string(1 << 20, 'a')), std::string(kDisplayBytes, 'a') + "...");
  EXPECT_EQ(SanitizeForDisplay("abcdef", 3), "abc...");
  EXPECT_EQ(SanitizeForDisplay("a\x1b[2J\xC2\x9B\xFF\n"), "a?[2J????");
}

}  // namespace
}  // namespace ruvd
