// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/pattern_walk.h"

#include <spdlog/spdlog.h>

#include <string>

#include "base/status.h"

namespace ruvd::serving {
namespace {

constexpr uint32_t kPage = 256;

}  // namespace

absl::Status ForEachPatternOf(storage::PatternStore& patterns, const privacy::NodeId& origin,
                              const std::function<absl::Status(storage::Pattern&)>& visit) {
  std::string token;
  do {
    ASSIGN_OR_RETURN(const storage::PatternPage page,
                     patterns.List(kPage, token, {.origin = origin}));
    for (const storage::Pattern& listed : page.patterns) {
      absl::StatusOr<storage::Pattern> pattern = patterns.Get(listed.id);  // a page has no payloads
      if (pattern.ok()) {
        RETURN_IF_ERROR(visit(*pattern));
      } else if (absl::IsDataLoss(pattern.status())) {
        spdlog::warn("a pattern was left out: {}", MessageOf(pattern.status()));
      } else if (!absl::IsNotFound(pattern.status())) {
        return pattern.status();
      }
    }
    token = page.next_page_token;
  } while (!token.empty());
  return absl::OkStatus();
}

}  // namespace ruvd::serving
