// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/release_fields.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "node/terminal/terminal.h"

namespace ruvd::cli {
namespace {

std::string NextCentroids(const admin::v1::CentroidStatus& centroids) {
  if (!centroids.enabled()) {
    return "off (privacy.centroids)";
  }
  return centroids.epsilon() == 0
             ? "no noise level fits the configuration"
             : fmt::format(
                   "epsilon {:.3f} at delta {:.1e} for each lesson, centroids over more than {} "
                   "lessons, not before {}",
                   centroids.epsilon(), centroids.delta(), centroids.examples(),
                   TimeLabel(centroids.next_ms(), "now"));
}

std::string RefusalLine(const std::string& refusal, const std::string& reason) {
  return refusal.empty() ? "no"
                         : fmt::format("{} [{}]", PrintableLine(refusal), PrintableLine(reason));
}

}  // namespace

std::string TimeLabel(int64_t unix_ms, std::string_view never) {
  return unix_ms == 0 ? std::string(never)
                      : fmt::format("{:%Y-%m-%d %H:%M:%S} UTC",
                                    fmt::gmtime(static_cast<std::time_t>(unix_ms / 1000)));
}

std::vector<std::pair<std::string, std::string>> CentroidFields(
    const admin::v1::CentroidStatus& centroids) {
  if (!centroids.enabled() && centroids.releases() == 0) {
    return {};
  }
  return {{"noised centroids", NextCentroids(centroids)},
          {"spent on a lesson",
           fmt::format(
               "epsilon {:.3f} of {:.3f} in {} release(s) and noised contributions, the last {}",
               centroids.spent_epsilon(), centroids.budget_epsilon(), centroids.releases(),
               TimeLabel(centroids.last_ms(), "never"))},
          {"centroids refused", RefusalLine(centroids.refusal(), centroids.refusal_reason())}};
}

std::vector<std::pair<std::string, std::string>> ReleaseFields(
    const admin::v1::ReleaseStatus& release) {
  if (release.noise_multiplier() == 0 && release.releases() == 0) {
    return {};
  }
  const std::string spent =
      release.unknown().empty()
          ? fmt::format("epsilon {:.3f} of {:.3f} at delta {:.1e} by {}, in {} release(s)",
                        release.spent_epsilon(), release.budget_epsilon(), release.delta(),
                        release.unit() == "node" ? "this node" : "any one " + release.unit(),
                        release.releases())
          : fmt::format("unknown: {} [{}]", PrintableLine(release.unknown()),
                        PrintableLine(release.unknown_reason()));
  if (release.node_limit_epsilon() == 0) {
    return {{"spent", spent}};
  }
  return {
      {"spent", spent},
      {"spent by the node",
       fmt::format("epsilon {:.3f} of {:.3f} at delta {:.1e}, as if one unit had borne all "
                   "releases (privacy.node_epsilon)",
                   release.node_spent_epsilon(), release.node_limit_epsilon(), release.delta())}};
}

}  // namespace ruvd::cli
