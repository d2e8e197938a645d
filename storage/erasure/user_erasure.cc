// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/erasure/user_erasure.h"

#include "base/status.h"
#include "storage/erasure/erasure_notes.h"
#include "storage/limits.h"

namespace ruvd::storage {
namespace {

absl::Status AnnotateUnnoted(const absl::Status& noted) {
  return noted.ok() ? noted
                    : Annotate(noted,
                               "the user's data is erased, but that could not be noted, and a "
                               "restore of an earlier backup would bring it back; repeat the call "
                               "once the store takes writes again");
}

}  // namespace

absl::StatusOr<UserErasure> EraseUser(const UserStores& stores, std::string_view user_id) {
  // The stores stop only for the moment in which the keys are destroyed. Before that, the database
  // waits for other work to end, such as a backup's checkpoint.
  const auto around = [&](const Database::DestroyKeys& destroy) {
    const auto of_requests = [&] {
      return stores.trajectories->WithRewritesPaused(
          [&] { return stores.witness->EraseUser(user_id, destroy).status(); });
    };
    const auto and_changes = [&] {
      return stores.changes == nullptr ? of_requests()
                                       : stores.changes->WithRewritesPaused(of_requests);
    };
    const auto and_lessons = [&] {
      return stores.lessons == nullptr ? and_changes()
                                       : stores.lessons->WithRewritesPaused(and_changes);
    };
    // The outermost one: while it adds, it looks whether the lessons are there.
    return stores.observed == nullptr ? and_lessons()
                                      : stores.observed->WithRewritesPaused(and_lessons);
  };
  const auto erase = [&] { return stores.database->Erase(KeyScope::User(user_id), around); };
  // First, because an interrupted erasure is repeated, but an unnoted one may come back.
  const absl::Status noted = NoteErasure(*stores.database, KeyScope::User(user_id));
  UserErasure erasure;
  const absl::StatusOr<size_t> sessions =
      stores.sessions->EraseUser(user_id, limits::kForgottenSessions, erase);
  // This runs even if the erasure failed: an earlier, interrupted one may have come further.
  const absl::StatusOr<size_t> trajectories = stores.trajectories->PurgeErased();
  const absl::StatusOr<size_t> lessons =
      stores.lessons == nullptr ? size_t{0} : stores.lessons->PurgeErased();
  ASSIGN_OR_RETURN(erasure.sessions, sessions);
  ASSIGN_OR_RETURN(erasure.trajectories, trajectories);
  ASSIGN_OR_RETURN(erasure.lessons, lessons);
  RETURN_IF_ERROR(AnnotateUnnoted(noted));
  return erasure;
}

}  // namespace ruvd::storage
