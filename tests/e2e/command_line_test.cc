// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <csignal>

#include "node/terminal/exit_code.h"
#include "tests/e2e/cluster_fixture.h"

namespace ruvd::cli {
namespace {

using CommandLine = ClusterTest;
using ::testing::HasSubstr;

TEST_F(CommandLine, TalksToANodeUntilItStops) {
  ASSERT_NO_FATAL_FAILURE(StartCluster(1));
  const Output status = Ruvd(0, {"status"});
  EXPECT_EQ(status.code, 0) << status.errors;
  EXPECT_THAT(status.text, HasSubstr(node(0).id));
  const Output run = Ruvd(0, {"run", "--max-tokens", "8", "The lamp"});
  EXPECT_EQ(run.code, 0) << run.errors;
  EXPECT_FALSE(run.text.empty());
  const Output health = Ruvd(0, {"health"});
  EXPECT_EQ(health.code, 0) << health.errors;
  EXPECT_EQ(Stop(0, SIGTERM).code, 0);
  EXPECT_EQ(Ruvd(0, {"health"}).code, static_cast<int>(ExitCode::kNotReady));
}

TEST_F(CommandLine, RefusesWhatItDoesNotKnow) {
  ASSERT_NO_FATAL_FAILURE(StartCluster(1));
  const Output verb = Ruvd(0, {"statsu"});
  EXPECT_EQ(verb.code, static_cast<int>(ExitCode::kUsage));
  EXPECT_THAT(verb.errors, HasSubstr("status"));  // the verb that was probably meant
}

}  // namespace
}  // namespace ruvd::cli
