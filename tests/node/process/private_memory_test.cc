// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/process/private_memory.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ruvd::node {
namespace {

TEST(PrivateMemoryTest, NoCoreIsDumpedAndNobodyAttaches) {
  const pid_t child = ::fork();
  if (child == 0) {
    ProtectProcessMemory();
    rlimit core = {};
    const bool hidden = ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0;
    const bool none = ::getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0;
    ::_exit(hidden && none ? 0 : 1);
  }
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace ruvd::node
