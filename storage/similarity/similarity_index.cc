// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/similarity/similarity_index.h"

#include "base/status.h"

namespace ruvd {
namespace {

// More than one change adds, so that neither piles up.
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
  labels_.emplace(std::string(id), label);
  return label;
}

void SimilarityIndex::Tend() {
  if (index_->Counts().pending > options_.max_tail) {
    index_->LinkSome(kLinksOfAChange);
  }
  index_->RepairSome(kRepairsOfAChange);
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
  RETURN_IF_ERROR(index_->Put(row));
  Tend();
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
    holders_[label].id.clear();
    ++holders_[label].generation;  // a search that found it does not name the next holder
    free_.push_back(label);
    labels_.erase(known);
  }
  index_->Remove(label);
  Tend();
}

absl::StatusOr<std::vector<SimilarityHit>> SimilarityIndex::Search(std::span<const float> query,
                                                                   size_t k) const {
  ASSIGN_OR_RETURN(const std::vector<HnswHit> found, index_->Search({.vector = query, .k = k}));
  std::vector<SimilarityHit> hits;
  hits.reserve(found.size());
  const MutexLock lock(names_);
  for (const HnswHit& hit : found) {
    if (holders_[hit.label].generation == hit.generation) {
      hits.push_back({holders_[hit.label].id, hit.similarity});
    }
  }
  return hits;
}

size_t SimilarityIndex::size() const {
  const MutexLock lock(names_);
  return labels_.size();
}

}  // namespace ruvd
