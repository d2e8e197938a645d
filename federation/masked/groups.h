// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <vector>

#include "privacy/identity/node_key.h"
#include "privacy/masking/clique.h"

namespace ruvd::federation {

// Splits the members of a round into as few groups as kMaxCliqueMembers allows, with sizes that
// differ by at most one. No leader is needed: nodes with the same view of the members compute the
// same groups, and every round has different ones. If two views differ in one member but not in the
// number of groups, each group differs in at most three members. Each group is sorted by id. Ids
// may come in any order and more than once. With fewer than kMinCliqueMembers there is no group.
std::vector<std::vector<privacy::NodeId>> MaskedGroups(const privacy::masking::MaskedSumId& round,
                                                       std::span<const privacy::NodeId> members);

}  // namespace ruvd::federation
