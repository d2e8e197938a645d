// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/process/descriptor_limit.h"

#include <sys/resource.h>

#include "base/reasons.h"
#include "base/status.h"
#include "node/api/connection_limits.h"

namespace ruvd::node {

absl::StatusOr<size_t> RaiseDescriptorLimit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < limit.rlim_max) {
    rlimit raised = limit;
    raised.rlim_cur = limit.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) {
      limit = raised;
    }
  }
  constexpr size_t kLeast = limits::DescriptorsFor(limits::kLeastClientConnections);
  if (limit.rlim_cur < kLeast) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "this process may open {} files, and a node needs {}; raise the limit with "
                 "`ulimit -n` or with LimitNOFILE= in the unit",
                 limit.rlim_cur, kLeast);
  }
  return limit.rlim_cur;
}

}  // namespace ruvd::node
