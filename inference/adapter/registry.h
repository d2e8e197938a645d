// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/mutex.h"
#include "inference/adapter/adapter.h"
#include "inference/adapter/talora.h"

namespace ruvd::inference {

// One version in a registry.
struct VersionInfo {
  std::string name;
  uint32_t version = 0;
  Digest id{};         // AdapterId
  uint64_t bytes = 0;  // memory of its factors
  bool hot = true;     // the registry holds its factors in memory
  bool lent = false;   // it is cold, but a caller still holds it, so Get does not have to read it
  bool pinned = false;
  bool served = false;     // requests that name no version get this one
  bool evictable = false;  // it can be read again
  uint64_t uses = 0;       // how often it was given out
};

struct RegistryStats {
  uint64_t versions = 0;
  uint64_t hot = 0;
  uint64_t hot_bytes = 0;  // of all hot versions together
  uint64_t budget = 0;
  uint64_t loads = 0;  // reads of cold versions since the start
  uint64_t evictions = 0;
};

// The adapters of one model that requests may use, as immutable versions name@version. A caller
// that got an adapter keeps that version alive through its shared_ptr, even if it is replaced,
// evicted or removed meanwhile; its memory is freed with the last user. T is Adapter or Talora.
// Thread-safe.
//
// A version that can be read again from its source is either hot (in memory) or cold, and a cold
// one is read when it is requested. If the hot versions take more memory than the budget, the least
// recently used one becomes cold, except for pinned versions and those that cannot be read again.
// These two kinds may therefore exceed the budget.
template <typename T>
class VersionedRegistry {
 public:
  // Reads a version again. It is called without the registry's lock, possibly by several threads at
  // once.
  using Loader = std::function<absl::StatusOr<std::shared_ptr<const T>>()>;

  // `budget` is in bytes of factors.
  explicit VersionedRegistry(const Digest& model_hash,
                             uint64_t budget = std::numeric_limits<uint64_t>::max())
      : model_hash_(model_hash), budget_(budget) {}

  // Makes a version available, hot. If it is the highest version of its name, requests that name no
  // version get it from now on. Publishing equal content again is OK. Versions never change: other
  // content under an existing version is ALREADY_EXISTS (INVALID_ARGUMENT). Further errors:
  // ADAPTER_FOR_OTHER_MODEL; INVALID_ARGUMENT for the largest version number, because none could
  // follow it. `reload` reads the version again; if it is null, the version stays hot.
  absl::Status Publish(std::shared_ptr<const T> adapter, Loader reload = nullptr);

  // Returns the given version, or the served one. Errors: NOT_FOUND; for a cold version also those
  // of its loader, and ADAPTER_INVALID if the content that it reads has changed.
  absl::StatusOr<std::shared_ptr<const T>> Get(std::string_view name,
                                               std::optional<uint32_t> version = std::nullopt);

  // Removes one version, so that Get no longer finds it. If it was the served one, the highest
  // remaining version is served. Errors: NOT_FOUND; FAILED_PRECONDITION (ADAPTER_PINNED) for a
  // pinned version.
  absl::Status Remove(std::string_view name, uint32_t version);

  // Pin keeps a version hot; Unpin lets it become cold again. Errors: NOT_FOUND, or those of Get.
  absl::Status Pin(std::string_view name, uint32_t version);
  absl::Status Unpin(std::string_view name, uint32_t version);

  // Serves this version to requests that name no version, until a version higher than all others is
  // published. Errors: NOT_FOUND, or those of Get, because a version that cannot be read cannot be
  // served.
  absl::Status Serve(std::string_view name, uint32_t version);
  // Serves the highest version below the served one, and returns it. Each of several concurrent
  // calls goes back by one. Errors: NOT_FOUND if there is no earlier version, or those of Get.
  absl::StatusOr<uint32_t> Rollback(std::string_view name);

  // Returns one more than the highest version of this name, or 1 for a new name.
  uint32_t NextVersion(std::string_view name) const;

  // Returns all versions, in ascending order of name and version.
  std::vector<VersionInfo> List() const;
  RegistryStats Stats() const;

 private:
  struct Entry {
    std::shared_ptr<const T> hot;
    std::weak_ptr<const T> lent;  // for a cold version that a caller may still hold
    Loader reload;
    Digest id{};
    uint64_t bytes = 0;
    uint64_t uses = 0;
    uint64_t last_use = 0;  // on the registry's own clock
    bool pinned = false;
  };
  struct Versions {
    std::map<uint32_t, Entry> entries;
    uint32_t served = 0;
  };

  Entry* Find(std::string_view name, std::optional<uint32_t> version, uint32_t* found)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<uint32_t> Below(std::string_view name, uint32_t* served) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static absl::Status Missing(std::string_view name, std::optional<uint32_t> version);
  std::shared_ptr<const T> Lend(Entry* entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Warm(Entry* entry, std::shared_ptr<const T> adapter) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void EvictOverBudget() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Digest model_hash_;
  const uint64_t budget_;
  mutable Mutex mutex_;
  std::map<std::string, Versions, std::less<>> adapters_ ABSL_GUARDED_BY(mutex_);
  uint64_t hot_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t clock_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t loads_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t evictions_ ABSL_GUARDED_BY(mutex_) = 0;
};

using AdapterRegistry = VersionedRegistry<Adapter>;
using TaloraRegistry = VersionedRegistry<Talora>;

}  // namespace ruvd::inference
