// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/learning_undo.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/serving/pattern_payload.h"
#include "storage/limits.h"
#include "storage/reasons.h"

namespace ruvd::learning {
namespace {

// The pattern recorded with undone lessons. No pattern has this id, so it counts as deleted.
constexpr storage::PatternId kNoPattern{};

absl::Status CannotUndo(const storage::LearningChange& change, std::string_view why) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kCannotUndo,
               "change {} cannot be undone: {}", storage::TokenOf(change), why);
}

absl::Status ChangedSince(const storage::LearningChange& change) {
  return CannotUndo(change,
                    "its pattern was changed since; undo the later changes first, newest first, or "
                    "delete the pattern");
}

// Returns whether a later merge that still stands involved the pattern, which the name and version
// of its adapter do not show. A merge that a crash prevented, so that both patterns exist, does not
// count.
absl::StatusOr<bool> WasMergedSince(const UndoServices& services,
                                    const storage::LearningChange& change,
                                    const storage::PatternId& id) {
  ASSIGN_OR_RETURN(const std::vector<storage::LearningChange> newest,
                   services.changes->List(limits::kMaxChanges));
  for (const storage::LearningChange& later : newest) {
    if (later.number <= change.number) {
      break;
    }
    if (later.kind != storage::ChangeKind::kPatternsMerged || later.undone_ms != 0 ||
        (later.pattern != id && later.merged != id)) {
      continue;
    }
    const absl::Status gone = services.patterns->GetWithoutPayload(*later.merged).status();
    if (!gone.ok()) {
      return absl::IsNotFound(gone) ? absl::StatusOr<bool>(true) : gone;
    }
  }
  return false;
}

// Returns the adapter and core of one payload with the privacy of another.
std::string PayloadOf(const storage::Pattern& before, const storage::Pattern& current) {
  auto payload = serving::DecodePatternPayload(before.payload);
  const auto now = serving::DecodePatternPayload(current.payload);
  if (!payload.ok()) {
    return before.payload;
  }
  payload->withheld = payload->withheld || !now.ok() || now->withheld;
  return EncodePatternPayload(*payload);
}

// Moves the update time forward, because peers accept only later updates.
void MakeLater(const UndoServices& services, int64_t than_ms, storage::Pattern* pattern) {
  pattern->updated_ms = std::max(services.clock->WallMillis(), than_ms + 1);
}

absl::Status UndoStored(const UndoServices& services, const storage::LearningChange& change) {
  ASSIGN_OR_RETURN(const std::vector<storage::PatternImage> images,
                   services.changes->ImagesOf(change));
  const storage::PatternImage& image = images.front();
  ASSIGN_OR_RETURN(const bool merged, WasMergedSince(services, change, image.id));
  if (merged) {
    return ChangedSince(change);
  }
  absl::StatusOr<storage::Pattern> current = services.patterns->Get(image.id);
  if (absl::IsNotFound(current.status())) {
    return CannotUndo(change, "its pattern was deleted since");
  }
  RETURN_IF_ERROR(current.status());
  if (current->adapter_name != change.adapter_name || current->adapter_version != change.version) {
    return ChangedSince(change);
  }
  if (!image.before) {
    return services.patterns->Delete(image.id);
  }
  storage::Pattern restored = *current;
  restored.payload = PayloadOf(*image.before, *current);
  restored.embedding = image.before->embedding;
  restored.adapter_name = image.before->adapter_name;
  restored.adapter_version = image.before->adapter_version;
  restored.quality = image.before->quality;
  restored.examples = image.before->examples;
  MakeLater(services, current->updated_ms, &restored);
  const absl::Status stored = services.patterns->Update(restored, current->stamp);
  return absl::IsAborted(stored) ? ChangedSince(change) : stored;
}

absl::Status UndoMerge(const UndoServices& services, const storage::LearningChange& change) {
  ASSIGN_OR_RETURN(std::vector<storage::PatternImage> images, services.changes->ImagesOf(change));
  if (images.size() != 2 || !images[0].before || !images[1].before) {
    return CannotUndo(change, "the patterns before it are no longer kept");
  }
  const storage::Pattern& kept = *images[0].before;
  ASSIGN_OR_RETURN(const bool merged, WasMergedSince(services, change, kept.id));
  if (merged) {
    return ChangedSince(change);
  }
  storage::Pattern gone = *std::move(images[1].before);
  const absl::Status there = services.patterns->GetWithoutPayload(gone.id).status();
  if (!absl::IsNotFound(there)) {
    return there.ok() ? ChangedSince(change) : there;
  }
  MakeLater(services, gone.updated_ms, &gone);
  const absl::Status stored = services.patterns->Update(gone, std::nullopt);
  if (!stored.ok()) {
    return absl::IsAborted(stored) ? ChangedSince(change) : stored;
  }
  // The pattern that stayed may have learned more, or be deleted; then it is left as it is.
  absl::StatusOr<storage::Pattern> current = services.patterns->Get(kept.id);
  if (!current.ok() || current->adapter_name != kept.adapter_name) {
    return absl::IsNotFound(current.status()) ? absl::OkStatus() : current.status();
  }
  const HybridTime stamp = current->stamp;
  current->quality = kept.quality;
  current->examples = kept.examples;
  MakeLater(services, current->updated_ms, &*current);
  const absl::Status given_back = services.patterns->Update(*current, stamp);
  return absl::IsAborted(given_back) ? absl::OkStatus() : given_back;
}

// Assigns the lessons of the change to another pattern.
absl::Status MoveLessons(const UndoServices& services, const storage::LearningChange& change,
                         const storage::PatternId& to) {
  for (const std::string& response : change.responses) {
    const absl::StatusOr<storage::Trajectory> trajectory = services.trajectories->Get(response);
    if (absl::IsNotFound(trajectory.status())) {
      continue;  // displaced or erased
    }
    RETURN_IF_ERROR(trajectory.status());
    if (trajectory->learned_in == change.pattern) {
      RETURN_IF_ERROR(services.trajectories->SetLearned(*trajectory, trajectory->learned_by, to));
    }
  }
  return absl::OkStatus();
}

// Marks a response that no round has learned as learned in no pattern, so that rounds skip it.
absl::Status KeepFromRounds(const UndoServices& services, const std::string& response) {
  const absl::StatusOr<storage::Trajectory> trajectory = services.trajectories->Get(response);
  if (absl::IsNotFound(trajectory.status())) {
    return absl::OkStatus();  // displaced or erased
  }
  RETURN_IF_ERROR(trajectory.status());
  return trajectory->learned_by.empty() ? services.trajectories->SetLearned(
                                              *trajectory, AsText(services.package_id), kNoPattern)
                                        : absl::OkStatus();
}

// Returns whether a later feedback on the same response, whose change stands, replaced what this
// one taught: a session and a memory keep one lesson per response.
absl::StatusOr<bool> WasReplacedSince(const UndoServices& services,
                                      const storage::LearningChange& change) {
  ASSIGN_OR_RETURN(const std::vector<storage::LearningChange> newest,
                   services.changes->List(limits::kMaxChanges));
  return std::ranges::any_of(newest, [&change](const storage::LearningChange& later) {
    return later.number > change.number && later.kind == change.kind && later.undone_ms == 0 &&
           later.responses == change.responses;
  });
}

// Returns why a change of one response cannot be undone, if its response is unknown or got other
// feedback since.
absl::Status CheckResponse(const UndoServices& services, const storage::LearningChange& change) {
  if (change.responses.empty()) {
    return CannotUndo(change, "the response that it was learned from is unknown");
  }
  ASSIGN_OR_RETURN(const bool replaced, WasReplacedSince(services, change));
  return replaced
             ? CannotUndo(change,
                          "its response got other feedback since, which took its place; undo that")
             : absl::OkStatus();
}

absl::Status UndoSession(const UndoServices& services, const storage::LearningChange& change) {
  RETURN_IF_ERROR(CheckResponse(services, change));
  const std::string& response = change.responses.front();
  bool moved = false;
  if (services.graph != nullptr) {
    ASSIGN_OR_RETURN(moved, services.graph->RevertVote(response));
  }
  const bool forgotten = services.instant != nullptr && services.instant->Undo(response).ok();
  return moved || forgotten
             ? KeepFromRounds(services, response)
             : CannotUndo(change,
                          "its session has forgotten it already, because the session was idle or "
                          "the node restarted");
}

// Marks the response as learned in no pattern, so that rounds skip it and the memory forgets it.
absl::Status UndoRemembered(const UndoServices& services, const storage::LearningChange& change) {
  RETURN_IF_ERROR(CheckResponse(services, change));
  const absl::StatusOr<storage::Trajectory> trajectory =
      services.trajectories->Get(change.responses.front());
  if (absl::IsNotFound(trajectory.status())) {
    return CannotUndo(change, "its response was removed since");
  }
  RETURN_IF_ERROR(trajectory.status());
  if (trajectory->learned_in) {
    const absl::Status there =
        services.patterns->GetWithoutPayload(*trajectory->learned_in).status();
    if (!there.ok() && !absl::IsNotFound(there)) {
      return there;
    }
    return CannotUndo(change, there.ok() ? "a pattern learned its response, too; undo that change"
                                         : "its response teaches nothing any more");
  }
  return services.trajectories->SetLearned(*trajectory, AsText(services.package_id), kNoPattern);
}

}  // namespace

absl::StatusOr<storage::LearningChange> UndoChange(const UndoServices& services,
                                                   const storage::LearningChange& change) {
  if (change.undone_ms != 0) {
    return CannotUndo(change, "it was undone before");
  }
  if (change.pattern && change.package_id != Digest{} && change.package_id != services.package_id) {
    return CannotUndo(change, "it changed a pattern of another model; serve that one to undo it");
  }
  switch (change.kind) {
    case storage::ChangeKind::kSessionTaught:
      RETURN_IF_ERROR(UndoSession(services, change));
      break;
    case storage::ChangeKind::kLessonRemembered:
      RETURN_IF_ERROR(UndoRemembered(services, change));
      break;
    case storage::ChangeKind::kPatternStored:
      RETURN_IF_ERROR(UndoStored(services, change));
      RETURN_IF_ERROR(MoveLessons(services, change, kNoPattern));
      break;
    case storage::ChangeKind::kPatternsMerged:
      RETURN_IF_ERROR(UndoMerge(services, change));
      RETURN_IF_ERROR(MoveLessons(services, change, *change.merged));
      break;
    case storage::ChangeKind::kAdapterPublished:
      if (services.withdraw == nullptr) {
        return CannotUndo(change, "this node publishes no adapters");
      }
      RETURN_IF_ERROR(services.withdraw(change));
      break;
    case storage::ChangeKind::kRouterTrained:
      if (services.router == nullptr) {
        return CannotUndo(change,
                          "the router is off (experimental.router), so its versions cannot be "
                          "changed; switch it on first");
      }
      RETURN_IF_ERROR(services.router->Withdraw(change, services.clock->WallMillis()));
      break;
  }
  storage::LearningChange undone = change;
  undone.undone_ms = services.clock->WallMillis();
  RETURN_IF_ERROR(services.changes->SetUndone(change.number, undone.undone_ms));
  return undone;
}

}  // namespace ruvd::learning
