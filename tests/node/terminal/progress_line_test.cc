// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/terminal/progress_line.h"

#include <gtest/gtest.h>

#include <sstream>

namespace ruvd::cli {
namespace {

TEST(ProgressLineTest, ShowsNothingWhereStandardErrorIsNoTerminal) {
  std::ostringstream out;
  std::ostringstream err;
  CommandContext context{.out = out, .err = err};
  {
    ProgressLine line(context);
    line.Show("1 of 2");
  }
  EXPECT_EQ(err.str(), "");
}

TEST(ProgressLineTest, EachTextReplacesTheOneBeforeAndTheLineEndsOnce) {
  std::ostringstream out;
  std::ostringstream err;
  CommandContext context{.out = out, .err = err, .err_is_terminal = true};
  {
    ProgressLine line(context);
    line.Show("10 of 10");
    line.Show("done");
    EXPECT_EQ(err.str(), "\r10 of 10\rdone    ");
    line.End();
  }
  EXPECT_EQ(err.str(), "\r10 of 10\rdone    \n");
  EXPECT_EQ(out.str(), "");
}

TEST(ProgressLineTest, ALineThatShowedNothingDoesNotEnd) {
  std::ostringstream out;
  std::ostringstream err;
  CommandContext context{.out = out, .err = err, .err_is_terminal = true};
  {
    ProgressLine line(context);
  }
  EXPECT_EQ(err.str(), "");
}

}  // namespace
}  // namespace ruvd::cli
