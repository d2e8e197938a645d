// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "node/learning/learning_services.h"

namespace ruvd::learning {

// Returns the responses that taught patterns of this node whose adapters were trained on another
// version of the deep adapter than the served one (no version counts as one, too). These adapters
// continue to serve until a round teaches their patterns again. Until then they may overshoot on
// top of a newer version, which may have learned the same lessons, and after a rollback they
// correct errors that are no longer made. Patterns whose lessons have all left the store stay as
// they are. Reads all own patterns. Returns the errors of the stores.
absl::StatusOr<std::set<std::string>> LessonsOfStalePatterns(const LearningServices& services,
                                                             float min_rating);

}  // namespace ruvd::learning
