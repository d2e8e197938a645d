// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/process/private_memory.h"

#include <sys/prctl.h>
#include <sys/resource.h>

namespace ruvd::node {

void ProtectProcessMemory() {
  // Neither call fails with these values. If an old kernel does not know one of them, the other
  // still works.
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const rlimit none = {.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

}  // namespace ruvd::node
