// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string_view>

#include "absl/status/statusor.h"
#include "storage/changes/change_store.h"
#include "storage/db/database.h"
#include "storage/lessons/lesson_store.h"
#include "storage/sessions/session_index.h"
#include "storage/tokens/observed_store.h"
#include "storage/trajectories/trajectory_store.h"
#include "storage/witness/witness_log.h"

namespace ruvd::storage {

// The open parts of a store that stays in use; all are borrowed.
struct UserStores {
  Database* database = nullptr;
  SessionIndex* sessions = nullptr;
  TrajectoryStore* trajectories = nullptr;
  WitnessLog* witness = nullptr;
  ChangeStore* changes = nullptr;     // null: what sessions were taught is not listed
  LessonStore* lessons = nullptr;     // null: no lesson is added before the next start
  ObservedStore* observed = nullptr;  // null: no lesson is read for the token memory
};

struct UserErasure {
  size_t sessions = 0;  // sessions that existed
  // trajectories whose rows were removed, including those of users erased earlier
  size_t trajectories = 0;
  size_t lessons = 0;  // lessons whose rows were removed, counted likewise
};

// Makes a user's stored data unreadable while requests go on: destroys the user's keys, forgets
// sessions, trajectories and lessons, and removes the embeddings from witness entries that wait to
// be written. Data that was read before is never sealed with a new key, but what the user says
// later is. Writes removals and a note (erasure_notes.h), so it works below the soft disk reserve;
// where the note cannot be written, it erases and returns that error. Returns NOT_FOUND when the
// store has nothing of the user, or an error of Database::Erase. If it fails, call it again.
// Thread-safe.
absl::StatusOr<UserErasure> EraseUser(const UserStores& stores, std::string_view user_id);

}  // namespace ruvd::storage
