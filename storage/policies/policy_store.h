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
  uint32_t dimension = 0;        // of embeddings
  std::string embedded_by = {};  // id of the model package that makes them
  // above it the least recently accessed policies are removed
  size_t capacity = limits::kMaxPolicies;
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

// Stores what the learning loops found and what every request reads. Writes survive a power cut
// once they return, and times of access since the last Put of a policy are lost with the process.
// The request path reads from a cache, which the store's own writes invalidate. Thread-safe; reads
// never wait for a disk write.
class PolicyStore {
 public:
  // Reads all rows except the Fisher diagonals and skips policies that do not decode. `database`
  // must outlive the store.
  static absl::StatusOr<std::unique_ptr<PolicyStore>> Open(Database& database,
                                                           const PolicyStoreOptions& options);

  // Stores a policy, with its Fisher diagonal if it has one, or replaces the one with its id. Above
  // the capacity the same batch removes the least recently accessed policy. A policy embedded by
  // another model than the store's is kept but not found by similarity. Returns INVALID_ARGUMENT,
  // WRONG_DIMENSION, LIMIT_EXCEEDED or an error of Database::Write.
  absl::Status Put(Policy policy, std::span<const float> fisher_diagonal = {});

  // Returns a policy and counts an access, or returns NOT_FOUND.
  absl::StatusOr<SharedPolicy> Get(const PolicyId& id);

  // Returns the Fisher diagonal; NOT_FOUND when the policy is unknown or has no diagonal.
  absl::StatusOr<std::vector<float>> FisherDiagonal(const PolicyId& id) const;

  // Returns NOT_FOUND for an unknown policy.
  absl::Status Delete(const PolicyId& id);

  // Returns the policies of a kind in the order of their ids, without counting an access. Returns
  // INVALID_ARGUMENT for a page size that is not 1 to limits::kMaxListPageSize or a page token that
  // this node did not give.
  absl::StatusOr<PolicyPage> List(PolicyKind kind, size_t page_size,
                                  std::string_view page_token) const;

  // Returns the `k` policies of a kind with the most similar embeddings; each counts as accessed.
  // The errors are those of SimilarityIndex::Search.
  absl::StatusOr<std::vector<PolicyHit>> Search(PolicyKind kind, std::span<const float> embedding,
                                                size_t k);

  size_t size() const;
  // Returns how many rows Open skipped; `ruvd store verify` names them.
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
  // Returns whether the policy's embedding may be compared with others.
  bool Comparable(const Policy& policy) const { return policy.embedded_by == options_.embedded_by; }
  // Returns the time to store for an access now: later than all before, even if the wall clock went
  // back.
  int64_t AccessMs() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_);
  // Removes a policy from memory; the caller removes its rows.
  void Forget(const PolicyId& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_);
  void Remember(const PolicyId& id, const Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_);

  Database& database_;
  const PolicyStoreOptions options_;
  const std::array<Index, kPolicyKinds> indexes_;  // by kind
  TtlCache<PolicyId, SharedPolicy> cache_;
  size_t undecodable_ = 0;  // set by Open
  Mutex writer_;            // held over a batch; taken before state_
  mutable Mutex state_;     // held only briefly
  std::map<PolicyId, Entry> entries_ ABSL_GUARDED_BY(state_);
  std::set<std::pair<int64_t, PolicyId>> by_access_ ABSL_GUARDED_BY(state_);
};

}  // namespace ruvd::storage
