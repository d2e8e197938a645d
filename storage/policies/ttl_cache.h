// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/mutex.h"

namespace ruvd::storage {

struct TtlCacheCounts {
  uint64_t hits = 0;
  uint64_t misses = 0;
};

// Holds values that were read recently, at most `capacity` of them and none older than `ttl`; the
// least recently used one is removed first. A value that was read while its key was invalidated is
// not kept: the caller takes epoch() before the read and passes it to Put. Thread-safe.
template <typename Key, typename Value>
class TtlCache {
 public:
  // `clock` must outlive the cache.
  TtlCache(size_t capacity, Duration ttl, const Clock& clock)
      : capacity_(capacity), ttl_(ttl), clock_(clock) {}

  std::optional<Value> Get(const Key& key) {
    const TimePoint now = clock_.Now();
    const MutexLock lock(mutex_);
    const auto found = places_.find(key);
    if (found == places_.end() || now >= found->second->expires) {
      ++counts_.misses;
      if (found != places_.end()) {
        Drop(found);
      }
      return std::nullopt;
    }
    ++counts_.hits;
    order_.splice(order_.begin(), order_, found->second);
    return found->second->value;
  }

  // Returns a number that every Invalidate changes.
  uint64_t epoch() const {
    const MutexLock lock(mutex_);
    return epoch_;
  }

  // Keeps a value that was read after epoch() returned `epoch`.
  void Put(const Key& key, Value value, uint64_t epoch) {
    const TimePoint expires = clock_.Now() + ttl_;
    const MutexLock lock(mutex_);
    if (epoch != epoch_ || capacity_ == 0) {
      return;
    }
    if (const auto found = places_.find(key); found != places_.end()) {
      Drop(found);
    }
    if (places_.size() >= capacity_) {
      Drop(places_.find(order_.back().key));
    }
    order_.push_front({key, std::move(value), expires});
    places_[key] = order_.begin();
  }

  void Invalidate(const Key& key) {
    const MutexLock lock(mutex_);
    ++epoch_;
    if (const auto found = places_.find(key); found != places_.end()) {
      Drop(found);
    }
  }

  size_t size() const {
    const MutexLock lock(mutex_);
    return places_.size();
  }
  TtlCacheCounts counts() const {
    const MutexLock lock(mutex_);
    return counts_;
  }

 private:
  struct Held {
    Key key;
    Value value;
    TimePoint expires;
  };
  using Places = std::map<Key, typename std::list<Held>::iterator>;

  void Drop(typename Places::iterator place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    order_.erase(place->second);
    places_.erase(place);
  }

  const size_t capacity_;
  const Duration ttl_;
  const Clock& clock_;
  mutable Mutex mutex_;
  std::list<Held> order_ ABSL_GUARDED_BY(mutex_);  // most recently used first
  Places places_ ABSL_GUARDED_BY(mutex_);
  uint64_t epoch_ ABSL_GUARDED_BY(mutex_) = 0;
  TtlCacheCounts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ruvd::storage
