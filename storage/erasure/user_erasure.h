// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "storage/changes/change_store.h"
#include "storage/db/database.h"
#include "storage/sessions/session_index.h"
#include "storage/trajectories/trajectory_store.h"
#include "storage/witness/witness_log.h"

namespace ruvd::storage {

// What is open of a store that goes on being used; all borrowed.
struct UserStores {
  Database* database = nullptr;
  SessionIndex* sessions = nullptr;
  TrajectoryStore* trajectories = nullptr;
  WitnessLog* witness = nullptr;
  ChangeStore* changes = nullptr;  // null: what sessions were taught is not listed
};

struct UserErasure {
  size_t sessions = 0;      // that were there
  size_t trajectories = 0;  // whose rows were removed, of users erased before, too
};

// Makes what is stored of a user unreadable while requests go on: destroys the user's keys, forgets
// sessions and trajectories, and takes the embeddings out of witness entries that wait to be
// written. What was read before is never sealed with a new key; what the user says later is. Writes
// nothing but removals, so that it works below the soft disk reserve. NOT_FOUND where nothing is of
// the user; the errors of Database::Erase. Where it fails, call it again. Thread-safe.
absl::StatusOr<UserErasure> EraseUser(const UserStores& stores, std::string_view user_id);

}  // namespace ruvd::storage
