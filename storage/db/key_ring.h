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

// The data keys of an open store, in locked memory. What is here is in the family "key" too; the
// database writes the row first. Thread-safe.
class KeyRing {
  struct Epoch;

 public:
  // What a reader holds from before it looks at its first row until it has opened its last: keys
  // that are removed meanwhile, because no newer row needs them, still open the rows it sees. A key
  // that is destroyed meanwhile is destroyed for it, too. Cheap to take and to copy; the ring
  // outlives it. Thread-safe.
  class View {
   public:
    // KEY_DESTROYED (not found) for an erased key, SEAL_BROKEN for a number that never was.
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

  // Adds a key or replaces its record; an active one takes over its scope.
  void Set(uint64_t id, KeyRecord record);
  // Removes keys that no row needs any more; those that readers hold stay until they let go.
  void Remove(std::span<const uint64_t> ids);

  // The key that seals new values of a scope; nullopt where it has none yet.
  std::optional<Held> Active(std::string_view scope) const;
  // Keys of a scope in any state, or all where `scope` is empty; by number.
  std::vector<std::pair<uint64_t, KeyRecord>> List(std::string_view scope) const;
  // Those that only wait for their values to be sealed anew, by number.
  std::vector<std::pair<uint64_t, KeyRecord>> Retired() const;
  // A number greater than every one that was in the ring: a reader may hold a removed one.
  uint64_t NextId() const;
  size_t size() const;
  // All but retired ones.
  size_t in_use() const;

 private:
  // The time between two removals. It ends with one, whose keys it keeps for whoever holds it or
  // an earlier one; with the last of them the keys go.
  struct Epoch {
    std::map<uint64_t, KeyRecord> removed;
    std::shared_ptr<Epoch> next;
  };
  const KeyRecord* FindRecord(uint64_t id, const Epoch& since) const;

  mutable std::shared_mutex mutex_;  // guards all of it, epochs too
  std::map<uint64_t, KeyRecord> records_;
  std::set<uint64_t> retired_;
  uint64_t next_id_ = 1;
  StringMap<uint64_t> active_;
  std::shared_ptr<Epoch> epoch_ = std::make_shared<Epoch>();
};

// The name under which a scope's keys are kept: the family's own for the default scope.
std::string ScopeName(const KeyScope& scope, std::string_view family_name);

}  // namespace ruvd::storage
