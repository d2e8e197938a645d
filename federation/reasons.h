// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Error reasons that only this room gives; the others are in base/reasons.h. As there, a name is
// never reused for another cause.
namespace ruvd::reasons {

// The link was outside the mesh and not used, or it made room for another link.
inline constexpr char kLinkIdle[] = "LINK_IDLE";

// The member signed two messages under one number.
inline constexpr char kEquivocation[] = "EQUIVOCATION";

// There are more signatures to check than this node spends on its peers. The peer is not to blame.
inline constexpr char kBusy[] = "BUSY";

// The member spreads more items or bytes than a node fetches of one member, which are fetched
// later, or accusations that are refuted. The peer that passed them on is not to blame.
inline constexpr char kOverBudget[] = "OVER_BUDGET";

// This node accepts no links from the member, because of its behaviour.
inline constexpr char kGraylisted[] = "GRAYLISTED";

// The sender took this item back. The peer that passed it on is not to blame.
inline constexpr char kWithdrawn[] = "WITHDRAWN";

// The two ends of a link do not see the same TLS channel: a third party stands between them, or one
// of them speaks plain text.
inline constexpr char kChannelBinding[] = "CHANNEL_BINDING";

// This node's clock disagrees with those of most neighbours, and it federates by theirs.
inline constexpr char kClockWrong[] = "CLOCK_WRONG";

// The neighbour does not relay, or has no link to the wanted member.
inline constexpr char kNoRelay[] = "NO_RELAY";

// What came through a relay was altered, left out or misdirected, or the relay lost its other link.
// Another relay may work.
inline constexpr char kRelayBroken[] = "RELAY_BROKEN";

// A masked round ended without a sum: too few members were left, or too many attempts failed.
inline constexpr char kMaskedRoundFailed[] = "MASKED_ROUND_FAILED";

// The update belongs to a node that is already counted in a masked sum.
inline constexpr char kInMaskedSum[] = "IN_MASKED_SUM";

// The contribution or state belongs to a cluster that learns by another plan.
inline constexpr char kPlanMismatch[] = "PLAN_MISMATCH";

// The round is so old that its contributions are settled for good.
inline constexpr char kRoundSealed[] = "ROUND_SEALED";

// Another contribution of this node counts in the round.
inline constexpr char kCountedOnce[] = "COUNTED_ONCE";

}  // namespace ruvd::reasons
