// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/release_fields.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "node/terminal/terminal.h"

namespace ruvd::cli {
namespace {

// Rounds up to three significant digits, or to a whole number, because the operator sets this
// figure and a smaller one would not suffice.
std::string RoundedUp(double value) {
  const int before = static_cast<int>(std::floor(std::log10(value))) + 1;
  const int decimals = std::max(3 - before, 0);
  const double scale = std::pow(10, decimals);
  return fmt::format("{:.{}f}", std::ceil(value * scale) / scale, decimals);
}

// Lists each sufficient change by itself. The line also says that more lessons do not help, because
// an operator would try that first.
std::string NeedsLine(const admin::v1::ReleaseStatus& release) {
  constexpr double kHidesLittle = 10;
  // For a masked sum the number of nodes is left out if more nodes would be needed than a sum may
  // have.
  const std::string nodes = release.needed_contributors() > 0
                                ? fmt::format("{:.0f} node(s) instead of {}; ",
                                              release.needed_contributors(), release.contributors())
                                : "";
  std::string line = fmt::format(
      "one of: {}epsilon {} per release (privacy.release_epsilon, within privacy.node_epsilon{}",
      nodes, RoundedUp(release.needed_epsilon()),
      release.needed_epsilon() > kHidesLittle ? "), which hides little" : ")");
  if (release.needed_values() > 0) {
    line += fmt::format("; at most {} value(s) in an update (federation.core_rank)",
                        release.needed_values());
  }
  return line + ". More lessons on this node do not help: the unit is the node";
}

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

std::string ReleaseLine(const admin::v1::ReleaseStatus& release) {
  if (release.noise_multiplier() == 0) {
    return "no noise level fits the configuration";
  }
  return fmt::format("epsilon {:.3f} at delta {:.1e}, predicted SNR {:.3g} over {} node(s)",
                     release.epsilon(), release.delta(), release.predicted_snr(),
                     release.contributors());
}

std::vector<std::pair<std::string, std::string>> CentroidFields(
    const admin::v1::CentroidStatus& centroids) {
  if (!centroids.enabled() && centroids.releases() == 0) {
    return {};
  }
  return {{"noised centroids", NextCentroids(centroids)},
          {"spent on a lesson",
           fmt::format("epsilon {:.3f} of {:.3f} in {} release(s) and noised updates, the last {}",
                       centroids.spent_epsilon(), centroids.budget_epsilon(), centroids.releases(),
                       TimeLabel(centroids.last_ms(), "never"))},
          {"centroids refused", RefusalLine(centroids.refusal(), centroids.refusal_reason())}};
}

std::vector<std::pair<std::string, std::string>> ReleaseFields(
    const admin::v1::ReleaseStatus& release) {
  std::vector<std::pair<std::string, std::string>> fields = {
      {"next update", ReleaseLine(release)},
      {"spent", fmt::format("epsilon {:.3f} of {:.3f} in {} release(s), the last {}",
                            release.spent_epsilon(), release.budget_epsilon(), release.releases(),
                            TimeLabel(release.last_ms(), "never"))},
      {"refused", RefusalLine(release.refusal(), release.refusal_reason())}};
  if (release.needed_epsilon() > 0) {
    fields.emplace_back("would suffice", NeedsLine(release));
  }
  return fields;
}

}  // namespace ruvd::cli
