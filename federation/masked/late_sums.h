// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <vector>

#include "federation/events/item.h"
#include "federation/masked/conduct.h"
#include "federation/masked/masked_round.h"
#include "privacy/masking/clique.h"

namespace ruvd::federation {

// Returns all sums of one round that items of gossip contain, whenever and in whatever order the
// items came: the sums of those sets for which each member committed to its share and gave it, in
// one attempt. This is a pure function of the set of items: nodes that hold equal items get equal
// sums, without having followed the round. The sums are ordered by attempt and then by set hash,
// and a set counts once, in its lowest attempt. Sums that share a member are all returned;
// ApplyRound decides between them.
//
// Items of other rounds, kinds and layouts, and items that do not decode, have no effect. A member
// that made two different statements of one kind in one attempt has no part in a sum of the round.
// A sum above what the layout allows is left out, because masks did not cancel. The time is linear
// in the items, and values are decoded only for complete sets.
std::vector<MaskedOutcome> MaskedSumsOf(const privacy::masking::MaskedSumId& round,
                                        const privacy::masking::MaskLayout& layout,
                                        std::span<const Item> items);

// Returns what became of the sets of one round that all their members signed, for which all
// committed to a share, and at least three quarters gave it: if fewer did, the others probably did
// not hear in time what they had to hear before. A set without all commitments cost no charge, and
// a commitment may have come late, so none of its members is marked. The result is a function of
// the set of items in the same way, ordered by attempt and then by set hash.
std::vector<GroupOutcome> GroupOutcomesOf(const privacy::masking::MaskedSumId& round,
                                          const privacy::masking::MaskLayout& layout,
                                          std::span<const Item> items);

}  // namespace ruvd::federation
