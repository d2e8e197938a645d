// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/registry.h"

#include <utility>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/limits.h"
#include "inference/reasons.h"

namespace ruvd::inference {

template <typename T>
absl::Status VersionedRegistry<T>::Publish(std::shared_ptr<const T> adapter, Loader reload) {
  if (adapter->model_hash != model_hash_) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kAdapterForOtherModel,
                 "adapter {} belongs to another model; train it again on this one",
                 AdapterLabel(*adapter));
  }
  if (adapter->version > limits::kMaxAdapterVersion) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "adapter {} has the highest version number, so no version could follow; give it a "
                 "version of at most {}",
                 AdapterLabel(*adapter), limits::kMaxAdapterVersion);
  }
  const Digest id = AdapterId(*adapter);
  const MutexLock lock(mutex_);
  Versions& versions = adapters_[adapter->name];
  const bool highest =
      versions.entries.empty() || versions.entries.rbegin()->first < adapter->version;
  const auto [position, inserted] = versions.entries.try_emplace(adapter->version);
  Entry& entry = position->second;
  if (!inserted) {
    return entry.id == id
               ? absl::OkStatus()
               : Error(absl::StatusCode::kAlreadyExists, reasons::kInvalidArgument,
                       "adapter {} exists with other content; publish it under a new version",
                       AdapterLabel(*adapter));
  }
  if (highest) {
    versions.served = adapter->version;
  }
  entry.reload = std::move(reload);
  entry.id = id;
  entry.bytes = FactorBytes(*adapter);
  Warm(&entry, std::move(adapter));
  EvictOverBudget();
  return absl::OkStatus();
}

template <typename T>
absl::StatusOr<std::shared_ptr<const T>> VersionedRegistry<T>::Get(
    std::string_view name, std::optional<uint32_t> version) {
  Loader reload;
  Digest id{};
  uint32_t found = 0;
  {
    const MutexLock lock(mutex_);
    Entry* entry = Find(name, version, &found);
    if (entry == nullptr) {
      return Missing(name, version);
    }
    if (std::shared_ptr<const T> lent = Lend(entry); lent != nullptr) {
      return lent;
    }
    reload = entry->reload;
    id = entry->id;
  }
  absl::StatusOr<std::shared_ptr<const T>> read = reload();  // may take long, so without the lock
  if (!read.ok()) {
    return Annotate(read.status(), fmt::format("adapter {}@{}", name, found));
  }
  if (AdapterId(**read) != id) {
    return Error(
        absl::StatusCode::kDataLoss, reasons::kAdapterInvalid,
        "the stored content of adapter {}@{} has changed since it was loaded; restore it, or "
        "unload the adapter and load it under a new version",
        name, found);
  }
  const MutexLock lock(mutex_);
  ++loads_;
  Entry* entry = Find(name, found, &found);
  if (entry == nullptr || entry->id != id) {
    return *std::move(read);  // the version was removed meanwhile; this caller still gets it
  }
  if (std::shared_ptr<const T> lent = Lend(entry); lent != nullptr) {
    return lent;  // another thread was faster
  }
  Warm(entry, *std::move(read));
  std::shared_ptr<const T> lent = Lend(entry);
  EvictOverBudget();
  return lent;
}

template <typename T>
absl::Status VersionedRegistry<T>::Remove(std::string_view name, uint32_t version) {
  const MutexLock lock(mutex_);
  const auto versions = adapters_.find(name);
  if (versions == adapters_.end()) {
    return Missing(name, version);
  }
  auto& entries = versions->second.entries;
  const auto entry = entries.find(version);
  if (entry == entries.end()) {
    return Missing(name, version);
  }
  if (entry->second.pinned) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kAdapterPinned,
                 "adapter {}@{} is pinned; unpin it first", name, version);
  }
  hot_bytes_ -= entry->second.hot != nullptr ? entry->second.bytes : 0;
  entries.erase(entry);
  if (entries.empty()) {
    adapters_.erase(versions);
  } else if (versions->second.served == version) {
    versions->second.served = entries.rbegin()->first;
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status VersionedRegistry<T>::Pin(std::string_view name, uint32_t version) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const T> adapter, Get(name, version));
  const MutexLock lock(mutex_);
  Entry* entry = Find(name, version, &version);
  if (entry == nullptr) {
    return Missing(name, version);
  }
  entry->pinned = true;
  if (entry->hot == nullptr) {
    Warm(entry, adapter);  // evicted meanwhile, or only lent
    EvictOverBudget();
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status VersionedRegistry<T>::Unpin(std::string_view name, uint32_t version) {
  const MutexLock lock(mutex_);
  Entry* entry = Find(name, version, &version);
  if (entry == nullptr) {
    return Missing(name, version);
  }
  entry->pinned = false;
  EvictOverBudget();
  return absl::OkStatus();
}

template <typename T>
absl::Status VersionedRegistry<T>::Serve(std::string_view name, uint32_t version) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const T> readable, Get(name, version));
  const MutexLock lock(mutex_);
  if (Find(name, version, &version) == nullptr) {
    return Missing(name, version);
  }
  adapters_.find(name)->second.served = version;
  return absl::OkStatus();
}

template <typename T>
absl::StatusOr<uint32_t> VersionedRegistry<T>::Rollback(std::string_view name) {
  // Starts again if another thread changed the served version while this one was reading, so that
  // each of two rollbacks goes back by one.
  while (true) {
    uint32_t from = 0;
    uint32_t earlier = 0;
    {
      const MutexLock lock(mutex_);
      ASSIGN_OR_RETURN(earlier, Below(name, &from));
    }
    ASSIGN_OR_RETURN(const std::shared_ptr<const T> readable, Get(name, earlier));
    const MutexLock lock(mutex_);
    uint32_t served = 0;
    const absl::StatusOr<uint32_t> still = Below(name, &served);
    if (still.ok() && served == from && *still == earlier) {
      adapters_.find(name)->second.served = earlier;
      return earlier;
    }
  }
}

// Returns the highest version below the served one, which is stored in `served`.
template <typename T>
absl::StatusOr<uint32_t> VersionedRegistry<T>::Below(std::string_view name,
                                                     uint32_t* served) const {
  const auto versions = adapters_.find(name);
  if (versions == adapters_.end()) {
    return Missing(name, std::nullopt);
  }
  *served = versions->second.served;
  const auto entry = versions->second.entries.find(*served);
  if (entry == versions->second.entries.begin()) {
    return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
                 "adapter {} has no version below {}, which is served; load an earlier one, or "
                 "unload it",
                 SanitizeForDisplay(name), *served);
  }
  return std::prev(entry)->first;
}

template <typename T>
uint32_t VersionedRegistry<T>::NextVersion(std::string_view name) const {
  const MutexLock lock(mutex_);
  const auto found = adapters_.find(name);
  return found == adapters_.end() ? 1 : found->second.entries.rbegin()->first + 1;
}

template <typename T>
std::vector<VersionInfo> VersionedRegistry<T>::List() const {
  const MutexLock lock(mutex_);
  std::vector<VersionInfo> all;
  for (const auto& [name, versions] : adapters_) {
    for (const auto& [version, entry] : versions.entries) {
      all.push_back({.name = name,
                     .version = version,
                     .id = entry.id,
                     .bytes = entry.bytes,
                     .hot = entry.hot != nullptr,
                     .lent = entry.hot == nullptr && !entry.lent.expired(),
                     .pinned = entry.pinned,
                     .served = version == versions.served,
                     .evictable = entry.reload != nullptr,
                     .uses = entry.uses});
    }
  }
  return all;
}

template <typename T>
RegistryStats VersionedRegistry<T>::Stats() const {
  const MutexLock lock(mutex_);
  RegistryStats stats{
      .hot_bytes = hot_bytes_, .budget = budget_, .loads = loads_, .evictions = evictions_};
  for (const auto& [name, versions] : adapters_) {
    for (const auto& [version, entry] : versions.entries) {
      ++stats.versions;
      stats.hot += entry.hot != nullptr ? 1 : 0;
    }
  }
  return stats;
}

template <typename T>
typename VersionedRegistry<T>::Entry* VersionedRegistry<T>::Find(std::string_view name,
                                                                 std::optional<uint32_t> version,
                                                                 uint32_t* found) {
  const auto versions = adapters_.find(name);
  if (versions == adapters_.end()) {
    return nullptr;
  }
  *found = version.value_or(versions->second.served);
  const auto entry = versions->second.entries.find(*found);
  return entry == versions->second.entries.end() ? nullptr : &entry->second;
}

template <typename T>
absl::Status VersionedRegistry<T>::Missing(std::string_view name, std::optional<uint32_t> version) {
  return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
               "there is no adapter {}{}; list the adapters to see which exist",
               SanitizeForDisplay(name), version ? fmt::format("@{}", *version) : "");
}

// Returns the adapter if it is in memory, or null if it must be read.
template <typename T>
std::shared_ptr<const T> VersionedRegistry<T>::Lend(Entry* entry) {
  std::shared_ptr<const T> adapter = entry->hot != nullptr ? entry->hot : entry->lent.lock();
  if (adapter != nullptr) {
    ++entry->uses;
    entry->last_use = ++clock_;
  }
  return adapter;
}

template <typename T>
void VersionedRegistry<T>::Warm(Entry* entry, std::shared_ptr<const T> adapter) {
  entry->lent = adapter;
  entry->hot = std::move(adapter);
  entry->last_use = ++clock_;
  hot_bytes_ += entry->bytes;
}

template <typename T>
void VersionedRegistry<T>::EvictOverBudget() {
  while (hot_bytes_ > budget_) {
    Entry* oldest = nullptr;
    for (auto& [name, versions] : adapters_) {
      for (auto& [version, entry] : versions.entries) {
        const bool may = entry.hot != nullptr && !entry.pinned && entry.reload != nullptr;
        if (may && (oldest == nullptr || entry.last_use < oldest->last_use)) {
          oldest = &entry;
        }
      }
    }
    if (oldest == nullptr) {
      return;
    }
    oldest->hot.reset();
    hot_bytes_ -= oldest->bytes;
    ++evictions_;
  }
}

template class VersionedRegistry<Adapter>;
template class VersionedRegistry<Talora>;

}  // namespace ruvd::inference
