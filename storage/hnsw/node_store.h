// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/hnsw/codes.h"
#include "storage/hnsw/node_id.h"
#include "storage/hnsw/row_region.h"

namespace ruvd::storage::hnsw {

// The links of a node on one level: a list of fixed width, ended by kNoNode when it is shorter.
// Every entry is an atomic of its own. A reader that comes while the writer rewrites the list sees
// some old and some new links. It may follow all of them, because a node is reused only after all
// readers that could have seen it are gone. So nothing is copied, and following a link costs one
// load.
class LinkList {
 public:
  LinkList(std::atomic<uint32_t>* ids, size_t width) : ids_(ids), width_(width) {}

  // Returns the link at place i, or kNoNode at the end of the list; i < width().
  uint32_t At(size_t i) const { return ids_[i].load(std::memory_order_acquire); }
  // Appends all links to `out`.
  void AppendTo(std::vector<uint32_t>* out) const;
  size_t width() const { return width_; }
  void Prefetch() const;

  // The functions below are for the writer only. `ids` has at most width() elements.
  void Write(std::span<const uint32_t> ids) const;
  // Returns false when the list is full.
  bool Append(uint32_t id) const;
  // Replaces the link `old` by `id`, if the list contains it.
  void Replace(uint32_t old, uint32_t id) const;

 private:
  std::atomic<uint32_t>* ids_;
  size_t width_;
};

// The properties of a node besides its codes. They are written before the node is published and
// stay constant until it is reclaimed.
struct NodeInfo {
  uint32_t label = 0;
  uint32_t generation = 0;
  std::atomic<uint32_t>* upper = nullptr;  // links of levels 1 to `level`, m each; owned
  uint8_t level = 0;
  uint8_t bank = 0;
};

// Holds the memory of all nodes: codes, headers and links. There is one writer. Readers use only
// nodes that they found through a link or a bit that the writer published.
class NodeStore {
 public:
  NodeStore(const CodeLayout& layout, size_t m, bool residual)
      : layout_(layout), m_(m), with_residual_(residual) {}
  ~NodeStore();
  NodeStore(const NodeStore&) = delete;
  NodeStore& operator=(const NodeStore&) = delete;

  absl::Status Reserve(size_t nodes);

  // Returns a node without links for the writer to fill; it has the lowest free number. Returns
  // RESOURCE_EXHAUSTED when the store is full.
  absl::StatusOr<uint32_t> Allocate(const NodeInfo& info);
  // Frees a node that no reader can reach and overwrites its codes with zeros.
  void Free(uint32_t node);
  // Gives the memory behind the last node in use back to the system.
  void Trim();

  LinkList Links(uint32_t node, size_t level) const {
    if (level == 0) {
      return {reinterpret_cast<std::atomic<uint32_t>*>(links_.Row(node)), 2 * m_};
    }
    return {info(node).upper + (level - 1) * m_, m_};
  }
  NodeInfo& info(uint32_t node) const { return reinterpret_cast<NodeInfo*>(infos_.base())[node]; }
  RowHeader& header(uint32_t node) const {
    return reinterpret_cast<RowHeader*>(headers_.base())[node];
  }
  uint8_t* high(uint32_t node) const { return high_.Row(node); }
  void PrefetchHigh(uint32_t node) const {
    constexpr size_t kCacheLine = 64;
    const uint8_t* row = high(node);
    for (size_t j = 0; j < layout_.plane_bytes; j += kCacheLine) {
      __builtin_prefetch(row + j);
    }
  }
  uint8_t* low(uint32_t node) const { return low_.Row(node); }
  uint8_t* residual(uint32_t node) const { return with_residual_ ? residual_.Row(node) : nullptr; }
  const uint8_t* high_plane() const { return high_.base(); }
  const uint8_t* low_plane() const { return low_.base(); }
  const uint8_t* residual_plane() const { return residual_.base(); }

  const CodeLayout& layout() const { return layout_; }
  size_t m() const { return m_; }
  bool has_residual() const { return with_residual_; }
  // Numbers in use are below this value; some numbers below it may be free.
  size_t size() const { return size_.load(std::memory_order_acquire); }
  size_t free_count() const { return free_.size(); }
  size_t committed_bytes() const;

 private:
  std::vector<RowRegion*> regions();
  std::vector<const RowRegion*> regions() const;
  absl::Status GrowTo(size_t nodes);

  const CodeLayout layout_;
  const size_t m_;
  const bool with_residual_;
  RowRegion high_, low_, residual_, headers_, links_, infos_;
  std::atomic<size_t> upper_bytes_{0};
  size_t capacity_ = 0;
  std::atomic<size_t> size_{0};
  std::vector<uint32_t> free_;  // a heap with the lowest number on top
};

}  // namespace ruvd::storage::hnsw
