// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>

namespace ruvd::limits {

// Time to sign sets and to commit to shares. Who is prompted by another member's commitment has
// until kMaskSharesMillis, and who is prompted by a share has until the attempt ends, so that a
// message that reaches some of them just in time does not part the others. A liar that gives its
// own commitment or share late, and to some members only, still parts them: GroupOutcomesOf
// therefore marks only few.
inline constexpr int64_t kMaskCommitsMillis = 40'000;

// Members of whom a key says how they behaved: those of four groups of the largest size. If more
// members failed, those count that failed most often, and of others the newest.
inline constexpr size_t kMaxConductMarks = 64;
// Rounds after which a failure is forgotten: ten hours and a half, where rounds last ten minutes
inline constexpr uint64_t kConductRounds = 64;
// Largest number of rounds for which a member is left out at a time. Together with kConductRounds
// it bounds how long a failure has an effect.
inline constexpr uint64_t kMaxRoundsOut = 64;
// Sums that must contain a member after its first failure before it is in large groups again, and
// by how much more it needs after each further failure. A liar that lies in large groups only and
// behaves in small ones costs its groups a share in rounds 0, 2, 10 and 42 of sums, and not always.
inline constexpr uint32_t kFirstProbation = 2;
inline constexpr uint32_t kProbationGrowth = 4;
inline constexpr uint32_t kMaxProbation = 64;

}  // namespace ruvd::limits
