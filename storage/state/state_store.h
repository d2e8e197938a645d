// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "storage/db/database.h"
#include "storage/state/state_names.h"

namespace google::protobuf {
class MessageLite;
}  // namespace google::protobuf

namespace ruvd::storage {

// Named values, each a protobuf message: what a node's loops keep between rounds. A value of any
// size up to limits::kMaxStateBytes is replaced as a whole: a crash leaves the old one or the new
// one. It has no state besides the database. Thread-safe; readers do not wait for writers, and
// writers wait for those of the same name and for a shared fsync.
class StateStore {
 public:
  // `database` must outlive the store.
  explicit StateStore(Database& database) : database_(database) {}

  // Returns nullopt if there is no value. Returns STORE_CORRUPT if parts of the value are missing
  // or do not decode, SEAL_BROKEN if one does not open, or an error of Database.
  template <typename Message>
  absl::StatusOr<std::optional<Message>> Get(const StateName<Message>& name) const {
    Message message;
    absl::StatusOr<bool> found = Read(name.text, &message);
    if (!found.ok()) {
      return found.status();
    }
    return *found ? std::optional<Message>(std::move(message)) : std::nullopt;
  }

  // Replaces the value; once it returns OK the value survives a power cut. Returns LIMIT_EXCEEDED
  // for a larger value, INVALID_ARGUMENT for a name that is empty, longer than
  // limits::kMaxStateNameBytes or has control characters, or an error of Database::CheckSpace or
  // Database::Write. A write that fails halfway is removed again, as far as that is possible.
  template <typename Message>
  absl::Status Put(const StateName<Message>& name, const Message& message) {
    return Write(name.text, message);
  }

  // Returns whether there is a value, without reading it.
  template <typename Message>
  absl::StatusOr<bool> Contains(const StateName<Message>& name) const {
    return HasHead(name.text);
  }

  // Deletes a value, also a damaged one, so that it does not come back after a power cut. A missing
  // value is not an error. Works below the disk reserves.
  template <typename Message>
  absl::Status Delete(const StateName<Message>& name) {
    return Remove(name.text);
  }

  // Returns all names with this prefix, ascending by bytes.
  absl::StatusOr<std::vector<std::string>> Names(std::string_view prefix) const;
  // Returns the numbers of names that consist of the prefix and a decimal number, ascending.
  absl::StatusOr<std::vector<uint32_t>> Numbers(std::string_view prefix) const;

  // Removes what writes left behind that a crash interrupted. Call it when the store is opened.
  // Returns the first error after it tried all values.
  absl::Status RemoveUnfinished();

  // Reads a value and checks that it is the message that belongs to the name. Returns the errors of
  // Get, and NOT_FOUND if there is no value.
  absl::Status Check(std::string_view name) const;

 private:
  absl::StatusOr<bool> Read(std::string_view name, google::protobuf::MessageLite* message) const;
  absl::Status Write(std::string_view name, const google::protobuf::MessageLite& message);
  absl::StatusOr<bool> HasHead(std::string_view name) const;
  absl::Status Remove(std::string_view name);
  // Returns the bytes of a value, or nullopt.
  absl::StatusOr<std::optional<std::string>> ReadBytes(std::string_view name) const;
  // Shows each name that has a row, ascending, and whether a value is stored under it; without one,
  // its first write did not end.
  absl::Status ForEachName(
      std::string_view prefix,
      const std::function<void(std::string_view name, bool complete)>& show) const;
  // Returns an epoch above that of every chunk of the name, unfinished ones included, and above the
  // epoch in force, which has no chunks if its value is an empty message.
  absl::StatusOr<uint64_t> NextEpoch(std::string_view name) const;

  // Makes other writes of a name wait until it is destroyed, so that no two of them share an epoch.
  class Turn;
  // The caller has the turn of the name.
  absl::Status WriteRows(std::string_view name, std::string_view bytes);
  absl::Status RemoveUnfinishedOf(std::string_view name);

  Database& database_;
  Mutex mutex_;
  CondVar turn_ended_;
  std::set<std::string, std::less<>> writing_ ABSL_GUARDED_BY(mutex_);  // names with a turn
};

}  // namespace ruvd::storage
