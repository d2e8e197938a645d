// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/policies/policy_store.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "base/steady_time.h"
#include "storage/db/row_key.h"
#include "storage/policies/policy_rows.h"

namespace ruvd::storage {
namespace {

constexpr ColumnFamily kFamily = ColumnFamily::kPolicy;

absl::Status NoSuchPolicy(const PolicyId& id) {
  return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
               "there is no policy {}; list the policies to see which ones exist", ToHex(id));
}

absl::Status BadKey() {
  return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
               "a policy row has a bad key; restore the store from a backup");
}

std::string_view NameOf(const PolicyId& id) {
  return AsText(id);
}

PolicyId IdOfName(std::string_view name) {
  PolicyId id;
  std::memcpy(id.data(), name.data(), id.size());
  return id;
}

void DeleteRows(const PolicyId& id, Batch* batch) {
  batch->Delete(kFamily, policies::PolicyKey(id));
  batch->Delete(kFamily, policies::FisherKey(id));
  batch->Delete(kFamily, policies::AccessKey(id));
}

}  // namespace

absl::StatusOr<std::unique_ptr<PolicyStore>> PolicyStore::Open(Database& database,
                                                               const PolicyStoreOptions& options) {
  std::array<Index, kPolicyKinds> indexes;
  for (Index& index : indexes) {
    ASSIGN_OR_RETURN(index, SimilarityIndex::Create(options.dimension));
  }
  std::unique_ptr<PolicyStore> store(new PolicyStore(database, options, std::move(indexes)));
  RETURN_IF_ERROR(store->LoadPolicies());
  RETURN_IF_ERROR(store->LoadAccessTimes());
  return store;
}

absl::Status PolicyStore::LoadPolicies() {
  const auto pass_over = [this](std::string_view) -> absl::StatusOr<bool> {
    ++undecodable_;  // a damaged row must not hide all others
    return true;
  };
  return database_.Scan(
      kFamily, policies::kPolicyPrefix, EndOfPrefix(policies::kPolicyPrefix),
      [&](const RowView& row) -> absl::StatusOr<bool> {
        const std::optional<PolicyId> id = policies::IdOfKey(row.key);
        if (!id) {
          return BadKey();
        }
        const absl::StatusOr<Policy> policy = policies::DecodePolicy(row.value, *id);
        if (!policy.ok()) {
          return pass_over(row.key);
        }
        if (Comparable(*policy) && IndexOf(policy->kind()).Check(policy->embedding).ok()) {
          RETURN_IF_ERROR(IndexOf(policy->kind()).Put(NameOf(*id), policy->embedding));
        }
        const MutexLock lock(state_);
        Remember(*id, {policy->kind(), policy->created_ms});
        return true;
      },
      pass_over);
}

// A policy whose time of access cannot be read gets its creation time.
absl::Status PolicyStore::LoadAccessTimes() {
  return database_.Scan(
      kFamily, policies::kAccessPrefix, EndOfPrefix(policies::kAccessPrefix),
      [this](const RowView& row) -> absl::StatusOr<bool> {
        const std::optional<PolicyId> id = policies::IdOfKey(row.key);
        if (!id) {
          return BadKey();
        }
        const absl::StatusOr<int64_t> accessed_ms = policies::DecodeAccess(row.value);
        const MutexLock lock(state_);
        const auto found = entries_.find(*id);
        if (accessed_ms.ok() && found != entries_.end()) {
          Remember(*id, {found->second.kind, *accessed_ms});
        }
        return true;
      },
      [](std::string_view) -> absl::StatusOr<bool> { return true; });
}

void PolicyStore::Remember(const PolicyId& id, const Entry& entry) {
  Forget(id);
  entries_[id] = entry;
  by_access_.emplace(entry.accessed_ms, id);
}

void PolicyStore::Forget(const PolicyId& id) {
  if (const auto found = entries_.find(id); found != entries_.end()) {
    by_access_.erase({found->second.accessed_ms, id});
    entries_.erase(found);
  }
}

int64_t PolicyStore::AccessMs() const {
  return MonotonicTimestamps(by_access_.empty() ? 0 : by_access_.rbegin()->first)
      .Next(database_.clock().WallMillis());
}

void PolicyStore::Touch(const PolicyId& id) {
  const MutexLock lock(state_);
  const auto found = entries_.find(id);
  const int64_t now_ms = AccessMs();
  if (found == entries_.end() || by_access_.rbegin()->second == id) {
    return;
  }
  by_access_.erase({found->second.accessed_ms, id});
  found->second.accessed_ms = now_ms;
  by_access_.emplace(now_ms, id);
}

std::optional<PolicyId> PolicyStore::ChooseEvicted(const PolicyId& incoming) const {
  const MutexLock lock(state_);
  if (entries_.contains(incoming) || entries_.size() < options_.capacity || by_access_.empty()) {
    return std::nullopt;
  }
  return by_access_.begin()->second;
}

absl::Status PolicyStore::Put(Policy policy, std::span<const float> fisher_diagonal) {
  if (fisher_diagonal.size() > limits::kMaxFisherValues) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "a Fisher diagonal has {} values; the limit is {}", fisher_diagonal.size(),
                 limits::kMaxFisherValues);
  }
  if (!std::all_of(fisher_diagonal.begin(), fisher_diagonal.end(),
                   [](float value) { return std::isfinite(value); })) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a Fisher diagonal has values that are not finite; compute it anew");
  }
  policy.fisher_values = static_cast<uint32_t>(fisher_diagonal.size());
  RETURN_IF_ERROR(policies::CheckPolicy(policy));
  if (Comparable(policy)) {
    RETURN_IF_ERROR(IndexOf(policy.kind()).Check(policy.embedding));
  }
  const MutexLock writer(writer_);
  const std::optional<PolicyId> evicted = ChooseEvicted(policy.id);
  const int64_t now_ms = [this] {
    const MutexLock lock(state_);
    return AccessMs();
  }();
  Batch batch;
  if (evicted) {
    DeleteRows(*evicted, &batch);
  }
  DeleteRows(policy.id, &batch);
  batch.Put(kFamily, policies::PolicyKey(policy.id), policies::EncodePolicy(policy));
  if (!fisher_diagonal.empty()) {
    batch.Put(kFamily, policies::FisherKey(policy.id), policies::EncodeFisher(fisher_diagonal));
  }
  batch.Put(kFamily, policies::AccessKey(policy.id), policies::EncodeAccess(now_ms));
  RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kPowerLoss));
  {
    const MutexLock lock(state_);
    if (evicted) {
      Forget(*evicted);
    }
    Remember(policy.id, {policy.kind(), now_ms});
  }
  for (size_t kind = 0; kind < kPolicyKinds; ++kind) {
    if (evicted) {
      indexes_[kind]->Remove(NameOf(*evicted));
    }
    if (kind != static_cast<size_t>(policy.kind()) || !Comparable(policy)) {
      indexes_[kind]->Remove(NameOf(policy.id));
    }
  }
  if (evicted) {
    cache_.Invalidate(*evicted);
  }
  cache_.Invalidate(policy.id);
  if (!Comparable(policy)) {
    return absl::OkStatus();
  }
  return IndexOf(policy.kind()).Put(NameOf(policy.id), policy.embedding);
}

absl::StatusOr<SharedPolicy> PolicyStore::Read(const PolicyId& id) const {
  const absl::StatusOr<std::string> row = database_.Get(kFamily, policies::PolicyKey(id));
  if (absl::IsNotFound(row.status())) {
    return NoSuchPolicy(id);
  }
  RETURN_IF_ERROR(row.status());
  ASSIGN_OR_RETURN(Policy policy, policies::DecodePolicy(*row, id));
  return std::make_shared<const Policy>(std::move(policy));
}

absl::StatusOr<SharedPolicy> PolicyStore::ReadCached(const PolicyId& id) {
  if (std::optional<SharedPolicy> cached = cache_.Get(id)) {
    return *std::move(cached);
  }
  const uint64_t epoch = cache_.epoch();
  ASSIGN_OR_RETURN(SharedPolicy policy, Read(id));
  cache_.Put(id, policy, epoch);
  return policy;
}

absl::StatusOr<SharedPolicy> PolicyStore::Get(const PolicyId& id) {
  ASSIGN_OR_RETURN(SharedPolicy policy, ReadCached(id));
  Touch(id);
  return policy;
}

absl::StatusOr<std::vector<float>> PolicyStore::FisherDiagonal(const PolicyId& id) const {
  const absl::StatusOr<std::string> row = database_.Get(kFamily, policies::FisherKey(id));
  if (absl::IsNotFound(row.status())) {
    return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
                 "policy {} has no Fisher diagonal; store it with one", ToHex(id));
  }
  RETURN_IF_ERROR(row.status());
  return policies::DecodeFisher(*row);
}

absl::Status PolicyStore::Delete(const PolicyId& id) {
  const MutexLock writer(writer_);
  {
    const MutexLock lock(state_);
    if (!entries_.contains(id)) {
      return NoSuchPolicy(id);
    }
  }
  Batch batch;
  DeleteRows(id, &batch);
  RETURN_IF_ERROR(database_.Write(std::move(batch), Durability::kPowerLoss));
  {
    const MutexLock lock(state_);
    Forget(id);
  }
  for (const Index& index : indexes_) {
    index->Remove(NameOf(id));
  }
  cache_.Invalidate(id);
  return absl::OkStatus();
}

absl::StatusOr<PolicyPage> PolicyStore::List(PolicyKind kind, size_t page_size,
                                             std::string_view page_token) const {
  const std::optional<std::string> last = FromHex(page_token);
  if (page_size == 0 || page_size > limits::kMaxListPageSize || !last ||
      (!last->empty() && last->size() != PolicyId().size())) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a page of {} policies cannot be returned; ask for 1 to {}, with a page token "
                 "from this node",
                 page_size, limits::kMaxListPageSize);
  }
  std::vector<PolicyId> ids;
  bool more = false;
  {
    const MutexLock lock(state_);
    auto next = last->empty() ? entries_.begin() : entries_.upper_bound(IdOfName(*last));
    for (; next != entries_.end() && !more; ++next) {
      if (next->second.kind == kind) {
        more = ids.size() == page_size;
        if (!more) {
          ids.push_back(next->first);
        }
      }
    }
  }
  PolicyPage page;
  for (const PolicyId& id : ids) {
    absl::StatusOr<SharedPolicy> policy = Read(id);
    if (absl::IsNotFound(policy.status()) || absl::IsDataLoss(policy.status())) {
      continue;  // deleted meanwhile, or damaged since the start
    }
    RETURN_IF_ERROR(policy.status());
    page.policies.push_back(*std::move(policy));
  }
  page.next_page_token = more ? ToHex(ids.back()) : "";
  return page;
}

absl::StatusOr<std::vector<PolicyHit>> PolicyStore::Search(PolicyKind kind,
                                                           std::span<const float> embedding,
                                                           size_t k) {
  ASSIGN_OR_RETURN(const std::vector<SimilarityHit> found, IndexOf(kind).Search(embedding, k));
  std::vector<PolicyHit> hits;
  for (const SimilarityHit& hit : found) {
    absl::StatusOr<SharedPolicy> policy = Get(IdOfName(hit.id));
    if (absl::IsNotFound(policy.status()) || absl::IsDataLoss(policy.status())) {
      continue;  // deleted meanwhile, or damaged since the start
    }
    RETURN_IF_ERROR(policy.status());
    hits.push_back({*std::move(policy), hit.similarity});
  }
  return hits;
}

size_t PolicyStore::size() const {
  const MutexLock lock(state_);
  return entries_.size();
}

}  // namespace ruvd::storage
