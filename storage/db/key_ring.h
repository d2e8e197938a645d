// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/string_map.h"
#include "storage/db/key_record.h"
#include "storage/db/key_scope.h"

namespace ruvd::storage {

// The data keys of an open store, in locked memory. Each is in the family "key" too; the database
// writes the row first. Thread-safe.
class KeyRing {
  struct Epoch;

 public:
  // A reader takes a view before it reads its first row and keeps it until it has opened the last
  // one. Keys that are removed meanwhile, because no newer row needs them, still open the rows that
  // the reader sees. Keys that are destroyed meanwhile are destroyed for the view too. A view is
  // cheap to take and to copy; the ring must outlive it. Thread-safe.
  class View {
   public:
    // Returns KEY_DESTROYED (not found) for an erased key and SEAL_BROKEN for an unknown number.
    absl::StatusOr<privacy::DataKey> Find(uint64_t id) const;
    bool IsDestroyed(uint64_t id) const;

   private:
    friend class KeyRing;
    View(const KeyRing& ring, std::shared_ptr<const Epoch> epoch)
        : ring_(&ring), epoch_(std::move(epoch)) {}
    const KeyRing* ring_;
    std::shared_ptr<const Epoch> epoch_;
  };
  View Hold() const;

  struct Held {
    uint64_t id = 0;
    privacy::DataKey key;
  };

  // Adds a key or replaces its record; an active key becomes the one of its scope.
  void Set(uint64_t id, KeyRecord record);
  // Removes keys that no row needs any more. Keys that views hold stay until the views are gone.
  void Remove(std::span<const uint64_t> ids);

  // Returns the key that seals new values of a scope, or nullopt when it has none yet.
  std::optional<Held> Active(std::string_view scope) const;
  // Returns the keys of a scope in any state, or of all scopes when `scope` is empty, by number.
  std::vector<std::pair<uint64_t, KeyRecord>> List(std::string_view scope) const;
  // Returns the retired keys, whose values still have to be sealed anew, by number.
  std::vector<std::pair<uint64_t, KeyRecord>> Retired() const;
  // Returns a number greater than every one ever in the ring: a reader may hold a removed key.
  uint64_t NextId() const;
  size_t size() const;
  // Counts all keys except retired ones.
  size_t in_use() const;

 private:
  // The time between two removals. An epoch keeps the keys of the removal that ended it for the
  // views of this epoch and earlier ones; when the last of these views is gone, so are the keys.
  struct Epoch {
    std::map<uint64_t, KeyRecord> removed;
    std::shared_ptr<Epoch> next;
  };
  const KeyRecord* FindRecord(uint64_t id, const Epoch& since) const;

  mutable std::shared_mutex mutex_;  // guards all members, including epochs
  std::map<uint64_t, KeyRecord> records_;
  std::set<uint64_t> retired_;
  uint64_t next_id_ = 1;
  StringMap<uint64_t> active_;
  std::shared_ptr<Epoch> epoch_ = std::make_shared<Epoch>();
};

// Returns the name under which a scope's keys are kept: for the default scope, that of the family.
std::string ScopeName(const KeyScope& scope, std::string_view family_name);

}  // namespace ruvd::storage
