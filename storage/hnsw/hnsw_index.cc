// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/hnsw_index.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "storage/limits.h"

namespace ruvd {
namespace {

// So many rows are scanned faster than the graph is walked, and exactly.
constexpr size_t kScanRows = 2000;
// A walk under a filter visits about 1/selectivity nodes for each result.
constexpr size_t kScanSelectivity = 10;
// 16^16 rows would reach it with M = 16.
constexpr size_t kMaxLevel = 16;

// Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014): the finaliser.
uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

}  // namespace

HnswIndex::HnswIndex(const HnswOptions& options)
    : options_(options), graph_(options.dimension, options.m, options.ef_construction) {}

absl::StatusOr<std::unique_ptr<HnswIndex>> HnswIndex::Create(const HnswOptions& options) {
  if (options.dimension == 0 || options.dimension > limits::kMaxDimension || options.m < 2 ||
      options.m > limits::kMaxHnswM || options.ef_construction == 0 ||
      options.ef_construction > limits::kMaxEfConstruction) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "vector index with dimension {}, M {}, ef_construction {}; use a dimension of 1 "
                 "to {}, M of 2 to {} and ef_construction of 1 to {}",
                 options.dimension, options.m, options.ef_construction, limits::kMaxDimension,
                 limits::kMaxHnswM, limits::kMaxEfConstruction);
  }
  return std::unique_ptr<HnswIndex>(new HnswIndex(options));
}

absl::StatusOr<std::vector<float>> HnswIndex::Normalised(std::span<const float> vector) const {
  if (vector.size() != options_.dimension) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kWrongDimension,
                 "embedding has {} values, the index has {}; embed with the model the node serves",
                 vector.size(), options_.dimension);
  }
  double squares = 0;
  for (const float value : vector) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  if (!std::isfinite(squares) || squares == 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "embedding has {}; send finite values, not all zero",
                 squares == 0 ? "only zeros" : "values that are not finite");
  }
  const double scale = 1.0 / std::sqrt(squares);
  std::vector<float> unit;
  unit.reserve(vector.size());
  for (const float value : vector) {
    unit.push_back(static_cast<float>(static_cast<double>(value) * scale));
  }
  return unit;
}

// Exponential with scale 1 / ln M (Malkov and Yashunin 2018, 4.1), from a hash of the label instead
// of a generator: a rebuild gives the same layers.
size_t HnswIndex::LevelOf(uint32_t label) const {
  const uint64_t hash = Mix(options_.seed ^ Mix(label));
  const double uniform = (static_cast<double>(hash >> 11) + 1.0) * 0x1.0p-53;  // (0, 1]
  const double level = -std::log(uniform) / std::log(static_cast<double>(options_.m));
  return std::min(static_cast<size_t>(level), kMaxLevel);
}

void HnswIndex::AddNode(uint32_t label, std::span<const float> unit_row) {
  const uint32_t node = graph_.Add(unit_row, LevelOf(label));
  labels_.push_back(label);
  dead_.push_back(false);
  const auto [entry, inserted] = nodes_.try_emplace(label, node);
  if (!inserted) {
    dead_[entry->second] = true;
    entry->second = node;
  }
}

absl::Status HnswIndex::CheckRoom() const {
  if (graph_.size() >= limits::kMaxPatterns) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "the vector index holds its limit of {} rows; delete patterns",
                 limits::kMaxPatterns);
  }
  return absl::OkStatus();
}

absl::Status HnswIndex::CheckInsert(std::span<const float> vector) const {
  RETURN_IF_ERROR(Normalised(vector).status());
  const std::shared_lock lock(mutex_);
  return CheckRoom();
}

absl::Status HnswIndex::Insert(uint32_t label, std::span<const float> vector) {
  ASSIGN_OR_RETURN(const std::vector<float> unit, Normalised(vector));
  const std::unique_lock lock(mutex_);
  RETURN_IF_ERROR(CheckRoom());
  AddNode(label, unit);
  return absl::OkStatus();
}

bool HnswIndex::Remove(uint32_t label) {
  const std::unique_lock lock(mutex_);
  const auto entry = nodes_.find(label);
  if (entry == nodes_.end()) {
    return false;
  }
  dead_[entry->second] = true;
  nodes_.erase(entry);
  return true;
}

std::vector<hnsw::Candidate> HnswIndex::Scan(const float* padded_query, size_t k,
                                             const hnsw::Accept& accept) const {
  std::vector<hnsw::Candidate> all;
  for (uint32_t node = 0; node < graph_.size(); ++node) {
    if (accept(node)) {
      all.push_back({graph_.Distance(padded_query, node), node});
    }
  }
  const size_t count = std::min(k, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<ptrdiff_t>(count), all.end());
  all.resize(count);
  return all;
}

std::vector<hnsw::Candidate> HnswIndex::Find(const float* padded_query, size_t k, size_t ef,
                                             size_t matching, const hnsw::Accept& accept) const {
  if (matching <= std::max(kScanRows, graph_.size() / kScanSelectivity)) {
    return Scan(padded_query, k, accept);
  }
  std::vector<hnsw::Candidate> found = graph_.Search(padded_query, std::max(ef, k), &accept);
  // Removals can cut a part of the graph off; never answer less than there is.
  if (found.size() < std::min(k, matching)) {
    return Scan(padded_query, k, accept);
  }
  found.resize(std::min(k, found.size()));
  return found;
}

absl::StatusOr<std::vector<HnswHit>> HnswIndex::Search(const HnswQuery& query) const {
  ASSIGN_OR_RETURN(const std::vector<float> unit, Normalised(query.vector));
  if (query.k == 0 || query.k > limits::kMaxSearchHits || query.ef > limits::kMaxSearchEf) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "search with k {} and ef {}; use k of 1 to {} and ef of at most {}", query.k,
                 query.ef, limits::kMaxSearchHits, limits::kMaxSearchEf);
  }
  const size_t ef = query.ef == 0 ? kDefaultSearchEf : query.ef;
  const std::shared_lock lock(mutex_);
  const hnsw::Accept accept = [&](uint32_t node) {
    return !dead_[node] && (!query.filter || query.filter(labels_[node]));
  };
  size_t matching = nodes_.size();
  if (query.filter && query.matching) {
    matching = *query.matching;
  } else if (query.filter) {
    matching = 0;
    for (uint32_t node = 0; node < graph_.size(); ++node) {
      matching += accept(node) ? 1 : 0;
    }
  }
  std::vector<HnswHit> hits;
  for (const hnsw::Candidate& found :
       Find(graph_.Pad(unit).data(), query.k, ef, matching, accept)) {
    hits.push_back({labels_[found.node], std::clamp(1.0F - found.distance, -1.0F, 1.0F)});
  }
  return hits;
}

size_t HnswIndex::size() const {
  const std::shared_lock lock(mutex_);
  return nodes_.size();
}

size_t HnswIndex::dead() const {
  const std::shared_lock lock(mutex_);
  return graph_.size() - nodes_.size();
}

std::unique_ptr<HnswIndex> HnswIndex::Compacted() const {
  std::unique_ptr<HnswIndex> fresh(new HnswIndex(options_));
  const std::shared_lock lock(mutex_);
  for (uint32_t node = 0; node < graph_.size(); ++node) {
    if (!dead_[node]) {
      fresh->AddNode(labels_[node], graph_.row(node));
    }
  }
  return fresh;
}

}  // namespace ruvd
