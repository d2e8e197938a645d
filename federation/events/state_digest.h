// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace ruvd::federation {

// Names a state of the cluster's rounds. Nodes that hold equal items name equal digests for a
// round.
struct StateDigest {
  uint64_t round = 0;  // the last one that the state contains
  Digest digest{};
  bool operator==(const StateDigest&) const = default;
};

// Whether a member holds the same state as this node. kUnknown: they named no state of the same
// round.
enum class StateAgreement : uint8_t { kUnknown, kEqual, kDiffers };
// Returns "unknown", "equal" or "differs".
constexpr std::string_view StateAgreementName(StateAgreement agreement) {
  return agreement == StateAgreement::kEqual     ? "equal"
         : agreement == StateAgreement::kDiffers ? "differs"
                                                 : "unknown";
}

}  // namespace ruvd::federation
