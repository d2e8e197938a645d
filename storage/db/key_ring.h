// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/string_map.h"
#include "storage/db/key_record.h"
#include "storage/db/key_scope.h"

namespace ruvd {

// The data keys of an open store, in locked memory. What is here is in the family "key" too; the
// database writes the row first. Thread-safe.
class KeyRing {
 public:
  struct Held {
    uint64_t id = 0;
    DataKey key;
  };

  // Adds a key or replaces its record; an active one takes over its scope.
  void Set(uint64_t id, KeyRecord record);
  void Remove(uint64_t id);

  // The key that seals new values of a scope; nullopt where it has none yet.
  std::optional<Held> Active(std::string_view scope) const;
  // KEY_DESTROYED (not found) for an erased key, SEAL_BROKEN for a number that never was.
  absl::StatusOr<DataKey> Find(uint64_t id) const;
  bool IsDestroyed(uint64_t id) const;
  // Keys of a scope in any state, or all where `scope` is empty; by number.
  std::vector<std::pair<uint64_t, KeyRecord>> List(std::string_view scope) const;
  // A number greater than every one in the ring.
  uint64_t NextId() const;
  size_t size() const;

 private:
  mutable std::shared_mutex mutex_;
  std::map<uint64_t, KeyRecord> records_;
  StringMap<uint64_t> active_;
};

// The name under which a scope's keys are kept: the family's own for the default scope.
std::string ScopeName(const KeyScope& scope, std::string_view family_name);

}  // namespace ruvd
