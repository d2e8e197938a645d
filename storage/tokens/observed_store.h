// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "storage/db/database.h"
#include "storage/tokens/observed_lesson.h"

namespace ruvd::storage {

// The lessons that were read for the token memory, each sealed by the key of its user. Everything
// in it can be made again from the lessons, so its writes survive a crash of the process but not a
// power cut, and are refused first when the disk fills up. The caller decides which lessons may be
// in it and removes those that were withdrawn. Thread-safe; one addition runs at a time.
class ObservedStore {
 public:
  // `database` must outlive the store.
  explicit ObservedStore(Database& database) : database_(database) {}

  // Keeps a lesson, in place of one with the same name, if `still` returns true. No user's keys are
  // destroyed between the two, so that what was read of an erased user is not sealed with a new
  // key; `still` must not call this store. Returns whether it was kept; INVALID_ARGUMENT for a name
  // that is empty or too long, or for texts that are not UTF-8; the errors of `still` and of
  // Database::Write.
  absl::StatusOr<bool> Put(const ObservedLesson& lesson,
                           const std::function<absl::StatusOr<bool>()>& still);
  // Removes lessons; names that are not there have no effect. A full disk does not hinder it.
  // Returns an error of Database::Write.
  absl::Status Remove(const std::set<std::string>& names);
  // Removes all lessons; the same holds.
  absl::Status Clear();
  // Runs `erase`, which destroys a user's keys, while no lesson is being added.
  absl::Status WithRewritesPaused(const std::function<absl::Status()>& erase);
  // Shows all lessons until the callback returns false. Skips those of erased users; rows
  // that do not open or decode are counted in `*damaged` and removed. Returns the errors of
  // Database::Scan and Database::Write.
  absl::Status ForEach(const std::function<bool(ObservedLesson lesson)>& callback, size_t* damaged);

 private:
  Database& database_;
  Mutex adding_;  // held from `still` to the write
};

}  // namespace ruvd::storage
