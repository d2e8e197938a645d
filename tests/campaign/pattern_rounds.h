// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "tests/campaign/rounds.h"

namespace ruvd::campaign {

// The pattern store, whose graph is linked and saved while patterns are put and deleted. A change's
// number is its sequence in the store's log, so that whoever knows how many there are knows every
// byte. Outcome::counts and Task::floor have that number first.

// Puts and deletes for ever, acknowledging each change; to be killed.
int RunPatternWrite(const Task& task);
// What must be there after a kill is there, is found, and the rows belong together.
int RunPatternVerify(const Task& task);
// The same with a disk whose power goes.
int RunPatternPowerCut(const Task& task);

}  // namespace ruvd::campaign
