// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Error reasons that only this room gives; the others are in base/reasons.h. The same rule holds: a
// name is never reused for another cause.
namespace ruvd::reasons {

// A link outside the mesh that nobody used, or that made room for another one.
inline constexpr char kLinkIdle[] = "LINK_IDLE";

// A member signed two messages under one number.
inline constexpr char kEquivocation[] = "EQUIVOCATION";

// More signatures to check than this node spends on its peers; nobody is to blame.
inline constexpr char kBusy[] = "BUSY";

// A member that this node takes no links of, for what it did.
inline constexpr char kGraylisted[] = "GRAYLISTED";

// What its sender took back. Whoever passed it on is not to blame.
inline constexpr char kWithdrawn[] = "WITHDRAWN";

// The two ends of a link do not see the same TLS channel: somebody stands between them, or one of
// them speaks plain text.
inline constexpr char kChannelBinding[] = "CHANNEL_BINDING";

// A neighbour that does not relay, or has no link to who was asked for.
inline constexpr char kNoRelay[] = "NO_RELAY";

// What came through a relay was altered, left out or led elsewhere, or the relay lost its other
// link. Another way leads there.
inline constexpr char kRelayBroken[] = "RELAY_BROKEN";

// A masked round ended without a sum: too few members were left, or too many attempts failed.
inline constexpr char kMaskedRoundFailed[] = "MASKED_ROUND_FAILED";

// The update of a node that is counted already, in a masked sum.
inline constexpr char kInMaskedSum[] = "IN_MASKED_SUM";

}  // namespace ruvd::reasons
