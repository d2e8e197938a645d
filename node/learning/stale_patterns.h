// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <set>
#include <string>

#include "absl/status/statusor.h"
#include "node/learning/learning_services.h"
#include "node/serving/pattern_payload.h"

namespace ruvd::learning {

// Returns whether an adapter was measured on another version of the deep adapter than the served
// one (no version counts as one, too), or lies in another frame than this node's, where it cannot
// serve.
bool IsStale(const LearningServices& services, const serving::PatternPayload& payload,
             uint32_t served_version);

// Returns the responses that taught patterns of this node whose adapters are stale, or were learned
// before the node shared patterns. An adapter of another version continues to serve until a round
// teaches its pattern again. Until then it may overshoot on top of a newer version, which may have
// learned the same lessons, and after a rollback it corrects errors that are no longer made.
// Patterns whose lessons have all left the store stay as they are. Reads all own patterns. Returns
// the errors of the stores.
absl::StatusOr<std::set<std::string>> LessonsOfStalePatterns(const LearningServices& services,
                                                             float min_rating);

}  // namespace ruvd::learning
