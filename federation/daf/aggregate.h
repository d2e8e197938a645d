// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>

#include "absl/status/statusor.h"
#include "federation/daf/adapter_delta.h"
#include "federation/daf/aggregation_rule.h"
#include "federation/daf/robust_rules.h"
#include "privacy/identity/node_key.h"

namespace ruvd {

// One node's update. The aggregating node's own one takes part like any other.
struct Contribution {
  NodeId origin{};
  const AdapterDelta* delta = nullptr;  // checked by CheckCores; outlives the call
};

// Combines contributions core by core, each (target, bank) over those that have it. The result does
// not depend on the order of `contributions`. INVALID_ARGUMENT for none or two of one origin,
// UPDATE_INVALID where ranks of one target differ.
absl::StatusOr<AdapterDelta> Aggregate(std::span<const Contribution> contributions,
                                       const AggregationRule& rule);

}  // namespace ruvd
