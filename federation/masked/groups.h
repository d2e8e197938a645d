// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <vector>

#include "privacy/identity/node_key.h"
#include "privacy/masking/clique.h"

namespace ruvd::federation {

// Splits the members of a round into as few groups as kMaxCliqueMembers allows, of sizes that
// differ by one at most: nobody decides, and every node with the same view of the members comes to
// the same groups, which are others in every round. Where views differ in one member and not in the
// number of groups, each group differs in three at most. Each group ascends by id. Ids may come in
// any order and twice; of fewer than kMinCliqueMembers there is no group.
std::vector<std::vector<privacy::NodeId>> MaskedGroups(const privacy::masking::MaskRound& round,
                                                       std::span<const privacy::NodeId> members);

}  // namespace ruvd::federation
