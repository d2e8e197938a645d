// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/erasure/user_erasure.h"

#include "base/status.h"
#include "storage/limits.h"

namespace ruvd::storage {

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
  return erasure;
}

}  // namespace ruvd::storage
