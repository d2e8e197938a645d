// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Error reasons that only this room returns; the others are in base/reasons.h. As there, a name is
// never reused for another cause.
namespace ruvd::reasons {

// An adapter that is pinned in memory cannot be removed.
inline constexpr char kAdapterPinned[] = "ADAPTER_PINNED";

// A completion is held to a schema, an expression or a grammar, and the model has no token for what
// must follow.
inline constexpr char kConstraintUnmet[] = "CONSTRAINT_UNMET";

}  // namespace ruvd::reasons
