// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "storage/db/database.h"
#include "storage/limits.h"
#include "storage/policies/policy.h"
#include "storage/policies/ttl_cache.h"
#include "storage/similarity/similarity_index.h"

namespace ruvd::storage {

struct PolicyStoreOptions {
  uint32_t dimension = 0;                   // of embeddings
  std::string embedded_by = {};             // id of the model package that makes them
  size_t capacity = limits::kMaxPolicies;   // the least recently accessed ones make room
  size_t cached = limits::kCachedPolicies;  // policies in memory
  Duration cache_ttl = limits::kPolicyCacheTtl;
};

using SharedPolicy = std::shared_ptr<const Policy>;

struct PolicyHit {
  SharedPolicy policy;
  float similarity = 0;  // cosine
};

struct PolicyPage {
  std::vector<SharedPolicy> policies;
  std::string next_page_token;  // empty on the last page
};

// What the learning loops found out and every request asks for. Writes survive a power cut once
// they return; times of access are written by SaveAccessTimes and may be lost. Reads of the request
// path come from a cache that the store's own writes invalidate.
// Thread-safe; reads never wait for a write to the disk.
class PolicyStore {
 public:
  // Reads all rows but the Fisher diagonals; passes over policies that do not decode. `database`
  // outlives the store.
  static absl::StatusOr<std::unique_ptr<PolicyStore>> Open(Database& database,
                                                           const PolicyStoreOptions& options);

  // Stores a policy, with its Fisher diagonal where there is one, or replaces the one with its id.
  // Above the capacity the least recently accessed policy goes in the same batch. A policy embedded
  // by another model than the store's is kept but not found by similarity. INVALID_ARGUMENT,
  // WRONG_DIMENSION, LIMIT_EXCEEDED, the errors of Database::Write.
  absl::Status Put(Policy policy, std::span<const float> fisher_diagonal = {});

  // Counts as an access. NOT_FOUND.
  absl::StatusOr<SharedPolicy> Get(const PolicyId& id);

  // NOT_FOUND also where the policy has none.
  absl::StatusOr<std::vector<float>> FisherDiagonal(const PolicyId& id) const;

  // NOT_FOUND.
  absl::Status Delete(const PolicyId& id);

  // The policies of a kind in order of their ids; no access is counted. INVALID_ARGUMENT for a page
  // size that is not 1 to limits::kMaxListPageSize or a page token of somebody else's.
  absl::StatusOr<PolicyPage> List(PolicyKind kind, size_t page_size,
                                  std::string_view page_token) const;

  // The `k` policies of a kind whose embedding is most similar; each counts as accessed. Errors as
  // of SimilarityIndex::Search.
  absl::StatusOr<std::vector<PolicyHit>> Search(PolicyKind kind, std::span<const float> embedding,
                                                size_t k);

  // Writes at most `limit` times of access that are not on disk yet; returns how many.
  absl::StatusOr<size_t> SaveAccessTimes(size_t limit);

  size_t size() const;
  // Rows that Open passed over; `ruvd store verify` names them.
  size_t undecodable() const { return undecodable_; }
  TtlCacheCounts cache_counts() const { return cache_.counts(); }

 private:
  struct Entry {
    PolicyKind kind = PolicyKind::kQuantization;
    int64_t accessed_ms = 0;
  };
  using Index = std::unique_ptr<SimilarityIndex>;

  PolicyStore(Database& database, const PolicyStoreOptions& options,
              std::array<Index, kPolicyKinds> indexes)
      : database_(database),
        options_(options),
        indexes_(std::move(indexes)),
        cache_(options.cached, options.cache_ttl, database.clock()) {}

  absl::Status LoadPolicies();
  absl::Status LoadAccessTimes();
  absl::StatusOr<SharedPolicy> Read(const PolicyId& id) const;
  absl::StatusOr<SharedPolicy> ReadCached(const PolicyId& id);
  void Touch(const PolicyId& id);
  SimilarityIndex& IndexOf(PolicyKind kind) const { return *indexes_[static_cast<size_t>(kind)]; }
  std::optional<PolicyId> ChooseEvicted(const PolicyId& incoming) const;
  // Whether similarity may compare this policy with others.
  bool Comparable(const Policy& policy) const { return policy.embedded_by == options_.embedded_by; }
  // When an access of now counts: after all before it, also where the wall clock went back.
  int64_t AccessMs() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_);
  // Out of memory; the rows are the caller's.
  void Forget(const PolicyId& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_);
  void Remember(const PolicyId& id, const Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_);

  Database& database_;
  const PolicyStoreOptions options_;
  const std::array<Index, kPolicyKinds> indexes_;  // by kind
  TtlCache<PolicyId, SharedPolicy> cache_;
  size_t undecodable_ = 0;  // set by Open
  Mutex writer_;            // held over a batch; taken before state_
  mutable Mutex state_;     // held for moments only
  std::map<PolicyId, Entry> entries_ ABSL_GUARDED_BY(state_);
  std::set<std::pair<int64_t, PolicyId>> by_access_ ABSL_GUARDED_BY(state_);
  std::set<PolicyId> unsaved_ ABSL_GUARDED_BY(state_);  // accessed since it was written
};

}  // namespace ruvd::storage
