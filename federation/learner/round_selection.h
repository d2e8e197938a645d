// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "federation/learner/round_set.h"

namespace ruvd::federation {

// Returns the contributions of a round by origin and id, each once, with why it does not count; OK
// if it may. rounds.h has the rules.
std::vector<std::pair<const RoundContribution*, absl::Status>> ChosenOf(const RoundSet& set,
                                                                        uint64_t round);

}  // namespace ruvd::federation
