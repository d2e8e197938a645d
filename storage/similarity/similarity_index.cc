// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/similarity/similarity_index.h"

#include "base/status.h"

namespace ruvd::storage {
namespace {

// More than one change can add, so that neither accumulates.
constexpr size_t kLinksOfAChange = 2;
constexpr size_t kRepairsOfAChange = 64;

}  // namespace

absl::StatusOr<std::unique_ptr<SimilarityIndex>> SimilarityIndex::Create(
    uint32_t dimension, const SimilarityIndexOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<HnswIndex> index, HnswIndex::Create({.dimension = dimension}));
  return std::unique_ptr<SimilarityIndex>(new SimilarityIndex(std::move(index), options));
}

absl::Status SimilarityIndex::Check(std::span<const float> vector) const {
  return index_->CheckVector(vector);
}

uint32_t SimilarityIndex::LabelOf(std::string_view id) {
  if (const auto known = labels_.find(id); known != labels_.end()) {
    return known->second;
  }
  auto label = static_cast<uint32_t>(holders_.size());
  if (free_.empty()) {
    holders_.emplace_back();
  } else {
    label = free_.back();
    free_.pop_back();
  }
  holders_[label].id = id;
  holders_[label].since = holders_[label].generation + 1;
  labels_.emplace(std::string(id), label);
  return label;
}

void SimilarityIndex::Release(uint32_t label) {
  labels_.erase(holders_[label].id);
  holders_[label].id.clear();
  // A search that found one of its rows must not return the next holder.
  holders_[label].since = holders_[label].generation + 1;
  free_.push_back(label);
}

void SimilarityIndex::MaintainStep() {
  index_->RepairBatch(kRepairsOfAChange);
  if (index_->Counts().pending > options_.max_tail) {
    index_->LinkBatch(kLinksOfAChange);
  }
}

absl::Status SimilarityIndex::Put(std::string_view id, std::span<const float> vector) {
  RETURN_IF_ERROR(Check(vector));
  const MutexLock writer(writer_);
  HnswRow row{.vector = vector};
  {
    const MutexLock lock(names_);
    row.label = LabelOf(id);
    row.generation = ++holders_[row.label].generation;
  }
  if (const absl::Status put = index_->Put(row); !put.ok()) {
    index_->Erase(row.label);  // the former row is not the owner's present one
    const MutexLock lock(names_);
    Release(row.label);
    return put;
  }
  MaintainStep();
  return absl::OkStatus();
}

void SimilarityIndex::Remove(std::string_view id) {
  const MutexLock writer(writer_);
  uint32_t label = 0;
  {
    const MutexLock lock(names_);
    const auto known = labels_.find(id);
    if (known == labels_.end()) {
      return;
    }
    label = known->second;
    Release(label);
  }
  index_->Erase(label);
  MaintainStep();
}

absl::StatusOr<std::vector<SimilarityHit>> SimilarityIndex::Search(std::span<const float> query,
                                                                   size_t k) const {
  ASSIGN_OR_RETURN(const std::vector<HnswHit> found, index_->Search({.vector = query, .k = k}));
  std::vector<SimilarityHit> hits;
  hits.reserve(found.size());
  const MutexLock lock(names_);
  for (const HnswHit& hit : found) {
    // An older row of the same holder counts too: it was replaced during the search.
    if (!holders_[hit.label].id.empty() && hit.generation >= holders_[hit.label].since) {
      hits.push_back({holders_[hit.label].id, hit.similarity});
    }
  }
  return hits;
}

size_t SimilarityIndex::size() const {
  const MutexLock lock(names_);
  return labels_.size();
}

}  // namespace ruvd::storage
