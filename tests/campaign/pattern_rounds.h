// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "tests/campaign/rounds.h"

namespace ruvd::campaign {

// Tests the pattern store, whose graph is linked and saved while patterns are put and deleted. A
// change's number is its sequence in the store's log, so the number of changes determines every
// byte. Outcome::counts and Task::floor have that number first.

// Puts and deletes until it is killed, acknowledging each change.
int RunPatternWrite(const Task& task);
// Checks that what must be there after a kill is there, that it is found, and that the rows belong
// together.
int RunPatternVerify(const Task& task);
// Does the same with a disk whose power fails.
int RunPatternPowerCut(const Task& task);

}  // namespace ruvd::campaign
