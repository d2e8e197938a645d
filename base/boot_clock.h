// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "base/clock.h"

namespace ruvd {

// Returns the time since the machine started, its sleep included, while Clock::Now stands still in
// sleep. Thread-safe.
TimePoint SinceBoot();

}  // namespace ruvd
