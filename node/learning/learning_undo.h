// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "node/learning/router_learner.h"
#include "node/serving/extensions/instant_loop.h"
#include "node/serving/extensions/pattern_graph.h"
#include "storage/changes/change_store.h"
#include "storage/patterns/pattern_store.h"
#include "storage/trajectories/trajectory_store.h"

namespace ruvd::learning {

// The dependencies of undoing. Everything is borrowed.
struct UndoServices {
  const Clock* clock = nullptr;
  storage::ChangeStore* changes = nullptr;
  storage::PatternStore* patterns = nullptr;
  storage::TrajectoryStore* trajectories = nullptr;
  serving::InstantLoop* instant = nullptr;  // null: sessions remember nothing
  Digest package_id{};                      // the package of the served model
  // Takes the published version of a change out of service; null: this node publishes none.
  std::function<absl::Status(const storage::LearningChange&)> withdraw = nullptr;
  RouterLearner* router = nullptr;         // null: no router is trained
  serving::PatternGraph* graph = nullptr;  // null: sessions have no relations to patterns
};

// Undoes a change and returns it as it is listed afterwards. A pattern gets back its earlier
// adapter, embedding, quality and examples, but what a user set meanwhile (task, expiry, privacy)
// stays. A new pattern is deleted. After a merge, both patterns exist again. The responses that the
// change was learned from are not taught again until they get new feedback; feedback since the
// change counts as new. The lessons of an undone deep adapter are an exception: the next deep round
// learns them again. After undoing a session's change, later rounds do not learn its responses
// either; what a round has learned from them already is a change of its own.
//
// Returns NOT_FOUND; CANNOT_UNDO (FAILED_PRECONDITION) if the change was undone before, a later
// change or a user changed the pattern since, or the state before it is no longer kept; and the
// errors of the stores.
absl::StatusOr<storage::LearningChange> UndoChange(const UndoServices& services,
                                                   const storage::LearningChange& change);

}  // namespace ruvd::learning
