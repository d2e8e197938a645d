// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/pattern_flags.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/status.h"
#include "node/cli/sharing_tier.h"
#include "node/terminal/command.h"
#include "node/terminal/period.h"

namespace ruvd::cli {

void PatternFlags::AddTo(Verb verb) {
  verb.Option("--bank", bank_, "Only patterns of this timestep bank: 0, 1 or 2");
  verb.Option("--task", task_, "Only patterns of this task (exact text)");
  verb.Option("--tier", tiers_, "Only patterns of these tiers: private, masked, dp, public")
      .SeparatedBy(',');
  verb.Option("--origin", origin_, "Only patterns that this node learned; give its full id");
  verb.Option("--min-quality", min_quality_, "Only patterns of at least this quality, 0 to 1");
  verb.Option("--since", since_, "Only patterns created at most this long ago: 90s, 15m, 2h, 7d");
  verb.Option("--until", until_, "Only patterns created longer ago than this");
}

absl::Status PatternFlags::Write(pattern::v1::PatternFilter* filter) const {
  if (bank_) {
    filter->set_bank(*bank_);
  }
  filter->set_task(task_);
  for (const std::string& name : tiers_) {
    const auto tier = ParseTier(name);
    if (!tier) {
      return UsageError(
          fmt::format("--tier \"{}\" is not known; use private, masked, dp or public", name));
    }
    filter->add_tiers(*tier);
  }
  filter->set_origin(origin_);
  if (min_quality_) {
    filter->set_min_quality(*min_quality_);
  }
  const int64_t now = SystemClock().WallMillis();
  if (!since_.empty()) {
    ASSIGN_OR_RETURN(const int64_t period, ParsePeriod(since_));
    *filter->mutable_created_from() = ToTimestamp(now - period);
  }
  if (!until_.empty()) {
    ASSIGN_OR_RETURN(const int64_t period, ParsePeriod(until_));
    *filter->mutable_created_before() = ToTimestamp(now - period);
  }
  return absl::OkStatus();
}

}  // namespace ruvd::cli
