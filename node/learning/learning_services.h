// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "inference/adapter/frame.h"
#include "inference/retrieval/whitening.h"
#include "inference/train/run.h"
#include "inference/transformer/transformer.h"
#include "storage/changes/change_store.h"
#include "storage/patterns/pattern_store.h"
#include "storage/trajectories/trajectory_store.h"

namespace ruvd::serving {
class AdapterCatalog;
}  // namespace ruvd::serving
namespace ruvd::storage {
class ConsentBook;
}  // namespace ruvd::storage

namespace ruvd::learning {

// What the loops that train work with. All borrowed.
struct LearningServices {
  const Clock* clock = nullptr;
  inference::Transformer* transformer = nullptr;
  storage::TrajectoryStore* trajectories = nullptr;
  storage::PatternStore* patterns = nullptr;
  const inference::Whitening* whitening = nullptr;  // of embeddings; null: none
  Digest package_id{};                              // of the model that embeds
  const inference::Frame* frame = nullptr;          // null: nothing is prepared for sharing
  std::vector<float> bank_boundaries = {};          // of what is; as UpdateLayout's
  const storage::ConsentBook* consents =
      nullptr;                                 // whose lessons may be in that; null: everybody's
  Digest origin{};                             // this node's id
  storage::ChangeStore* changes = nullptr;     // lists what is changed; null: nobody does
  serving::AdapterCatalog* catalog = nullptr;  // what acts beneath patterns; null: nothing
  bool on_demand = false;                      // an operator asked for it
  // Polled between forwards: true ends a round.
  std::function<bool()> cancelled = nullptr;
  // Training holds the processor for about so long at a time.
  Duration slice = std::chrono::milliseconds(100);
  // Called between two slices, on the thread that learns, with the bytes that training holds:
  // returns once learning may go on, at once where nobody suffers from it; an error ends the round.
  // Empty: it always may.
  std::function<absl::Status(uint64_t bytes)> between_slices = nullptr;
};

// CANCELLED once the services say so.
absl::Status CheckCancelled(const LearningServices& services);

// Works on a run until it is done, in slices. The errors of TrainingRun::Advance and of
// `between_slices`.
absl::Status AdvanceInSlices(const LearningServices& services, inference::train::TrainingRun& run);

// Lists a change before it is made; without a list: the change as it is.
absl::StatusOr<storage::LearningChange> ListChange(const LearningServices& services,
                                                   storage::LearningChange change,
                                                   std::span<const storage::PatternImage> images);
// It was not made after all. What cannot be written then is only logged: undoing a change that was
// never made finds nothing.
void UnlistChange(const LearningServices& services, const storage::LearningChange& change);

// As between two slices of a run, for work in pieces of about that length.
absl::Status YieldBetweenPieces(const LearningServices& services, uint64_t bytes = 0);

}  // namespace ruvd::learning
