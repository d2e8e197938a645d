// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/release_fields.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>

#include "node/cli/terminal.h"

namespace ruvd {

std::string TimeLabel(int64_t unix_ms, std::string_view never) {
  return unix_ms == 0 ? std::string(never)
                      : fmt::format("{:%Y-%m-%d %H:%M:%S} UTC",
                                    fmt::gmtime(static_cast<std::time_t>(unix_ms / 1000)));
}

std::string ReleaseLine(const admin::v1::ReleaseStatus& release) {
  if (release.noise_multiplier() == 0) {
    return "no noise suits the configuration";
  }
  return fmt::format("epsilon {:.3f} at delta {:.1e}, predicted SNR {:.3g} over {} node(s)",
                     release.epsilon(), release.delta(), release.predicted_snr(),
                     release.contributors());
}

std::vector<std::pair<std::string, std::string>> ReleaseFields(
    const admin::v1::ReleaseStatus& release) {
  return {{"next update", ReleaseLine(release)},
          {"spent", fmt::format("epsilon {:.3f} of {:.3f} in {} release(s), the last {}",
                                release.spent_epsilon(), release.budget_epsilon(),
                                release.releases(), TimeLabel(release.last_ms(), "never"))},
          {"refused", release.refusal().empty()
                          ? "no"
                          : fmt::format("{} [{}]", PrintableLine(release.refusal()),
                                        PrintableLine(release.refusal_reason()))}};
}

}  // namespace ruvd
