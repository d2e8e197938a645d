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
  uint64_t bytes = 0;  // of its factors
  bool hot = true;     // its factors are in the registry's memory
  bool lent = false;   // it is cold, but whoever got it still has it: Get reads nothing
  bool pinned = false;
  bool served = false;     // the version that requests get which name none
  bool evictable = false;  // can be read again
  uint64_t uses = 0;       // times it was given out
};

struct RegistryStats {
  uint64_t versions = 0;
  uint64_t hot = 0;
  uint64_t hot_bytes = 0;  // of all that are hot
  uint64_t budget = 0;
  uint64_t loads = 0;  // of versions that were cold, since the start
  uint64_t evictions = 0;
};

// The adapters of one model that requests may use, as immutable versions name@version. Whoever got
// an adapter keeps that very version alive through its shared_ptr, whatever is published, evicted
// or removed meanwhile; its memory goes with the last user. T is Adapter or Talora. Thread-safe.
//
// A version that can be read again from where it came is hot (in memory) or cold, and is read when
// somebody asks for it. While the hot ones take more than the budget, the one of them that was used
// least recently becomes cold, never a pinned one, nor one that cannot be read again; these may
// exceed the budget.
template <typename T>
class VersionedRegistry {
 public:
  // Reads a version again; called without the registry's lock, perhaps by several threads at once.
  using Loader = std::function<absl::StatusOr<std::shared_ptr<const T>>()>;

  // `budget`: bytes of factors.
  explicit VersionedRegistry(const Digest& model_hash,
                             uint64_t budget = std::numeric_limits<uint64_t>::max())
      : model_hash_(model_hash), budget_(budget) {}

  // Makes a version available, hot. Where it is the highest of its name, requests that name no
  // version get it from now on. Publishing the same content again is OK; another content under a
  // version that exists is ALREADY_EXISTS (INVALID_ARGUMENT): versions never change.
  // ADAPTER_FOR_OTHER_MODEL; INVALID_ARGUMENT for the largest number, behind which there is none.
  // `reload`: how to read it again; null: it stays hot.
  absl::Status Publish(std::shared_ptr<const T> adapter, Loader reload = nullptr);

  // The given version, or the one that is served. NOT_FOUND; of a cold one the errors of its
  // loader, and ADAPTER_INVALID where what it reads has changed.
  absl::StatusOr<std::shared_ptr<const T>> Get(std::string_view name,
                                               std::optional<uint32_t> version = std::nullopt);

  // Removes one version from what Get finds. If it was the served one, the highest that is left is
  // served. NOT_FOUND; FAILED_PRECONDITION (ADAPTER_PINNED) for a pinned one.
  absl::Status Remove(std::string_view name, uint32_t version);

  // Keeps a version hot, or lets it become cold again. NOT_FOUND, or the errors of Get.
  absl::Status Pin(std::string_view name, uint32_t version);
  absl::Status Unpin(std::string_view name, uint32_t version);

  // Serves this version to requests that name none, until a higher one than all others is
  // published. NOT_FOUND, or the errors of Get: what cannot be read cannot be served.
  absl::Status Serve(std::string_view name, uint32_t version);
  // Serves the highest version below the one that is served, and returns it; several at once go
  // back by one each. NOT_FOUND where there is none, or the errors of Get.
  absl::StatusOr<uint32_t> Rollback(std::string_view name);

  // One more than the highest version of this name, 1 for a new name.
  uint32_t NextVersion(std::string_view name) const;

  // All versions, by name and version ascending.
  std::vector<VersionInfo> List() const;
  RegistryStats Stats() const;

 private:
  struct Entry {
    std::shared_ptr<const T> hot;
    std::weak_ptr<const T> lent;  // of a cold one: somebody may still have it
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
