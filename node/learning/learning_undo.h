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
#include "node/serving/instant_loop.h"
#include "node/serving/pattern_graph.h"
#include "storage/changes/change_store.h"
#include "storage/patterns/pattern_store.h"
#include "storage/trajectories/trajectory_store.h"

namespace ruvd::learning {

// What undoing works on. All borrowed.
struct UndoServices {
  const Clock* clock = nullptr;
  storage::ChangeStore* changes = nullptr;
  storage::PatternStore* patterns = nullptr;
  storage::TrajectoryStore* trajectories = nullptr;
  serving::InstantLoop* instant = nullptr;  // null: sessions remember nothing
  Digest package_id{};                      // of the model that is served
  // Takes the published version of a change out of service; null: none is ever published.
  std::function<absl::Status(const storage::LearningChange&)> withdraw = nullptr;
  RouterLearner* router = nullptr;         // null: no router is trained
  serving::PatternGraph* graph = nullptr;  // null: sessions have no relations to patterns
};

// Changes back what a change changed, and returns the change as it is listed then. A pattern gets
// back the adapter, embedding, quality and examples it had, and what a user said of it meanwhile
// (task, expiry, privacy) stays; a new pattern goes; of two that were merged both are there again.
// The responses it was learned from are not taught again until they get new feedback; what they got
// since the change counts as that. Of a session's change that goes for rounds that have not learned
// them yet, too: what one has learned is a change of its own.
//
// NOT_FOUND; CANNOT_UNDO (FAILED_PRECONDITION) where it was undone before, where a later change or
// a user changed the pattern since, or where what was there before is not kept any more; the errors
// of the stores.
absl::StatusOr<storage::LearningChange> UndoChange(const UndoServices& services,
                                                   const storage::LearningChange& change);

// UndoChange of the newest change that stands and can be undone. NOT_FOUND where none stands;
// otherwise the errors of UndoChange, CANNOT_UNDO of the newest where that goes for all.
absl::StatusOr<storage::LearningChange> UndoLast(const UndoServices& services);

}  // namespace ruvd::learning
