// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/hnsw/node_store.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::storage::hnsw {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t) &&
              std::atomic<uint32_t>::is_always_lock_free);

void LinkList::AppendTo(std::vector<uint32_t>* out) const {
  for (size_t i = 0; i < width_; ++i) {
    const uint32_t id = At(i);
    if (id == kNoNode) {
      return;
    }
    out->push_back(id);
  }
}

void LinkList::Prefetch() const {
  constexpr size_t kLinksOfALine = 16;
  for (size_t i = 0; i < width_; i += kLinksOfALine) {
    __builtin_prefetch(ids_ + i);
  }
}

void LinkList::Write(std::span<const uint32_t> ids) const {
  RUVD_CHECK(ids.size() <= width_);
  for (size_t i = 0; i < ids.size(); ++i) {
    ids_[i].store(ids[i], std::memory_order_release);
  }
  for (size_t i = ids.size(); i < width_; ++i) {
    ids_[i].store(kNoNode, std::memory_order_release);
  }
}

bool LinkList::Append(uint32_t id) const {
  for (size_t i = 0; i < width_; ++i) {
    if (ids_[i].load(std::memory_order_relaxed) == kNoNode) {
      ids_[i].store(id, std::memory_order_release);
      return true;
    }
  }
  return false;
}

void LinkList::Replace(uint32_t old, uint32_t id) const {
  for (size_t i = 0; i < width_; ++i) {
    if (ids_[i].load(std::memory_order_relaxed) == old) {
      ids_[i].store(id, std::memory_order_release);
      return;
    }
  }
}

NodeStore::~NodeStore() {
  for (uint32_t node = 0; node < size(); ++node) {
    delete[] info(node).upper;
  }
}

std::vector<RowRegion*> NodeStore::regions() {
  std::vector<RowRegion*> all = {&high_, &low_, &headers_, &links_, &infos_};
  if (with_residual_) {
    all.push_back(&residual_);
  }
  return all;
}

std::vector<const RowRegion*> NodeStore::regions() const {
  std::vector<const RowRegion*> all = {&high_, &low_, &headers_, &links_, &infos_};
  if (with_residual_) {
    all.push_back(&residual_);
  }
  return all;
}

absl::Status NodeStore::Reserve(size_t nodes) {
  RUVD_CHECK(nodes < kNoNode);
  capacity_ = nodes;
  RETURN_IF_ERROR(high_.Reserve(nodes, layout_.plane_bytes));
  RETURN_IF_ERROR(low_.Reserve(nodes, layout_.plane_bytes));
  if (with_residual_) {
    RETURN_IF_ERROR(residual_.Reserve(nodes, layout_.plane_bytes));
  }
  RETURN_IF_ERROR(headers_.Reserve(nodes, sizeof(RowHeader)));
  RETURN_IF_ERROR(links_.Reserve(nodes, 2 * m_ * sizeof(uint32_t)));
  return infos_.Reserve(nodes, sizeof(NodeInfo));
}

absl::Status NodeStore::GrowTo(size_t nodes) {
  for (RowRegion* region : regions()) {
    RETURN_IF_ERROR(region->Grow(nodes));
  }
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> NodeStore::Allocate(const NodeInfo& node_info) {
  auto node = static_cast<uint32_t>(size());
  if (!free_.empty()) {
    node = free_.front();
    std::pop_heap(free_.begin(), free_.end(), std::greater<>());
    free_.pop_back();
  } else if (size() < capacity_) {
    RETURN_IF_ERROR(GrowTo(size() + 1));
  } else {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "the vector index holds its limit of {} nodes, removed ones included; delete rows "
                 "or let repairs finish",
                 capacity_);
  }
  auto* entries = reinterpret_cast<std::atomic<uint32_t>*>(links_.Row(node));
  for (size_t i = 0; i < 2 * m_; ++i) {
    new (entries + i) std::atomic<uint32_t>(kNoNode);
  }
  auto* made = new (&info(node)) NodeInfo(node_info);
  if (const size_t upper = made->level * m_; upper > 0) {
    made->upper = new std::atomic<uint32_t>[upper];
    for (size_t i = 0; i < upper; ++i) {
      made->upper[i].store(kNoNode, std::memory_order_relaxed);
    }
    upper_bytes_ += upper * sizeof(uint32_t);
  }
  size_.store(std::max<size_t>(size(), node + size_t{1}), std::memory_order_release);
  return node;
}

void NodeStore::Free(uint32_t node) {
  upper_bytes_ -= info(node).level * m_ * sizeof(uint32_t);
  delete[] info(node).upper;
  new (&info(node)) NodeInfo();
  for (uint8_t* plane : {high(node), low(node), residual(node)}) {
    if (plane != nullptr) {
      std::memset(plane, 0, layout_.plane_bytes);
    }
  }
  header(node) = {};
  Links(node, 0).Write({});
  free_.push_back(node);
  std::push_heap(free_.begin(), free_.end(), std::greater<>());
}

void NodeStore::Trim() {
  std::sort(free_.begin(), free_.end());
  const size_t old_size = size();
  size_t trimmed = old_size;
  while (!free_.empty() && free_.back() + size_t{1} == trimmed) {
    free_.pop_back();
    --trimmed;
  }
  // The array is sorted, and a sorted array is a heap.
  if (trimmed < old_size) {
    size_.store(trimmed, std::memory_order_release);
    for (RowRegion* region : regions()) {
      region->Shrink(trimmed);
    }
  }
}

size_t NodeStore::committed_bytes() const {
  size_t bytes = upper_bytes_.load();
  for (const RowRegion* region : regions()) {
    bytes += region->committed_bytes();
  }
  return bytes;
}

}  // namespace ruvd::storage::hnsw
