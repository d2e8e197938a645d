// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Error reasons that only this room gives; the others are in base/reasons.h. The same rule holds: a
// name is never reused for another cause.
namespace ruvd::reasons {

// A noised release would carry more noise than signal.
inline constexpr char kSignalTooWeak[] = "SIGNAL_TOO_WEAK";

// A release would cost more privacy than the operator allows this node to give away.
inline constexpr char kPrivacyBudgetSpent[] = "PRIVACY_BUDGET_SPENT";

// Masked sums. A mask, or what it hides, would be used a second time.
inline constexpr char kMaskReused[] = "MASK_REUSED";
// The set of participants is too small or too large, or not the one that was agreed.
inline constexpr char kCliqueInvalid[] = "CLIQUE_INVALID";
// Participants would add up values of different meaning.
inline constexpr char kMaskLayoutMismatch[] = "MASK_LAYOUT_MISMATCH";
// Not all participants' shares are there: what is there is noise.
inline constexpr char kMaskedSumIncomplete[] = "MASKED_SUM_INCOMPLETE";

}  // namespace ruvd::reasons
