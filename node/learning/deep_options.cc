// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/deep_options.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "inference/adapter/bank.h"

namespace ruvd::learning {
namespace {

constexpr std::array<std::string_view, 5> kGuardNames = {"replay", "replay_kl", "ewc", "replay_ewc",
                                                         "replay_kl_ewc"};

}  // namespace

std::string_view DeepGuardName(DeepGuard guard) {
  return kGuardNames.at(static_cast<size_t>(guard));
}

std::optional<DeepGuard> DeepGuardByName(std::string_view name) {
  const auto found = std::ranges::find(kGuardNames, name);
  return found == kGuardNames.end()
             ? std::nullopt
             : std::optional(static_cast<DeepGuard>(std::distance(kGuardNames.begin(), found)));
}

bool ReplaysText(DeepGuard guard) {
  return guard != DeepGuard::kEwc;
}

bool UsesFrozenKl(DeepGuard guard) {
  return guard == DeepGuard::kReplayKl || guard == DeepGuard::kReplayKlEwc;
}

bool UsesEwc(DeepGuard guard) {
  return guard == DeepGuard::kEwc || guard == DeepGuard::kReplayEwc ||
         guard == DeepGuard::kReplayKlEwc;
}

int DeepSteps(const DeepOptions& options, size_t lessons) {
  const auto batch = static_cast<size_t>(options.batch);
  const size_t most = (static_cast<size_t>(options.epochs) * lessons + batch - 1) / batch;
  return static_cast<int>(std::clamp<size_t>(most, 1, static_cast<size_t>(options.steps)));
}

inference::BankSchedule DeepBanks(int banks) {
  inference::BankSchedule schedule;
  schedule.boundaries.clear();
  if (banks == inference::kTimestepBanks) {
    schedule.boundaries.assign(inference::kBankBoundaries.begin(),
                               inference::kBankBoundaries.end());
    return schedule;
  }
  for (int i = 1; i < banks; ++i) {
    schedule.boundaries.push_back(static_cast<float>(i) / static_cast<float>(banks));
  }
  return schedule;
}

}  // namespace ruvd::learning
