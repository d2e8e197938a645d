// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// Error reasons that only this room gives; the others are in base/reasons.h. The same rule holds: a
// name is never reused for another cause.
namespace ruvd::reasons {

// A noised release would carry more noise than signal.
inline constexpr char kSignalTooWeak[] = "SIGNAL_TOO_WEAK";

}  // namespace ruvd::reasons
