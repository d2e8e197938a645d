// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace ruvd::reasons {

// An actor fails again and again; base/reasons.h has the reason of one that has stopped.
inline constexpr char kActorFailing[] = "ACTOR_FAILING";

}  // namespace ruvd::reasons
