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
#include "inference/adapter/frame_set.h"
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
class LessonStore;
}  // namespace ruvd::storage

namespace ruvd::learning {

// The dependencies of the training loops. Everything is borrowed.
struct LearningServices {
  const Clock* clock = nullptr;
  inference::Transformer* transformer = nullptr;
  // Computes the embeddings that requests did not, in the precision of serving, so that they are
  // equal bit for bit to those that requests compute. Null: `transformer` computes them.
  inference::Transformer* embedder = nullptr;
  storage::TrajectoryStore* trajectories = nullptr;
  const storage::LessonStore* lessons = nullptr;  // lessons from texts; null: no text teaches
  storage::PatternStore* patterns = nullptr;
  const inference::Whitening* whitening = nullptr;  // applied to embeddings; null: none
  Digest package_id{};                              // the package that computes embeddings
  // The frame that the cluster's nodes share, in which what they exchange is trained; null: none
  const inference::FrameSet* frame = nullptr;
  // Whether this node has peers, so that adapters of patterns that they may get are trained as
  // cores in the frame. All others are LoRAs, which learn more of a single lesson.
  bool shares_patterns = false;
  const storage::ConsentBook* consents = nullptr;  // decides whose lessons may be shared; null: all
  Digest origin{};                                 // this node's id
  storage::ChangeStore* changes = nullptr;         // lists the changes; null: they are not listed
  serving::AdapterCatalog* catalog = nullptr;  // the adapters beneath those of patterns; null: none
  bool on_demand = false;                      // an operator asked for the round
  // Polled between forwards; a round ends when it returns true.
  std::function<bool()> cancelled = nullptr;
  // Training uses the processor for about this long at a time.
  Duration slice = std::chrono::milliseconds(100);
  // Called between two slices, on the learning thread, with the bytes that training holds. Returns
  // once learning may continue, which is at once unless serving suffers; an error ends the round.
  // Empty: learning may always continue.
  std::function<absl::Status(uint64_t bytes)> between_slices = nullptr;
};

// Returns the transformer that computes embeddings.
inline inference::Transformer& EmbedderOf(const LearningServices& services) {
  return services.embedder != nullptr ? *services.embedder : *services.transformer;
}

// Returns whether adapters of patterns may be trained for peers.
inline bool SharesPatterns(const LearningServices& services) {
  return services.shares_patterns && services.frame != nullptr;
}

// Returns CANCELLED once services.cancelled() returns true.
absl::Status CheckCancelled(const LearningServices& services);

// Advances a run in slices until it is done. Returns the errors of TrainingRun::Advance and of
// `between_slices`.
absl::Status AdvanceInSlices(const LearningServices& services, inference::train::TrainingRun& run);

// Lists a change before it is made. Without a list, returns the change unlisted.
absl::StatusOr<storage::LearningChange> ListChange(const LearningServices& services,
                                                   storage::LearningChange change,
                                                   std::span<const storage::PatternImage> images);
// Removes a change that was not made from the list. A failure is only logged: undoing a change that
// was never made finds nothing.
void UnlistChange(const LearningServices& services, const storage::LearningChange& change);

// Gives way to serving like a run does between two slices; for work in pieces of about that length.
absl::Status YieldBetweenPieces(const LearningServices& services, uint64_t bytes = 0);

}  // namespace ruvd::learning
