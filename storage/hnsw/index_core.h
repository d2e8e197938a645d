// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "storage/hnsw/attributes.h"
#include "storage/hnsw/bit_column.h"
#include "storage/hnsw/hnsw_options.h"
#include "storage/hnsw/node_store.h"
#include "storage/hnsw/reader_epochs.h"
#include "storage/hnsw/recent_rows.h"
#include "storage/limits.h"

namespace ruvd::storage::hnsw {

// Where a search of one bank's graph begins: a node on the graph's highest level.
struct EntryPoint {
  uint32_t node = kNoNode;
  uint32_t level = 0;
};

// The graph of one timestep bank. The node store holds its links: a node belongs to one bank, and
// no link leaves the bank. Only the writer changes the counts; readers use them as estimates for
// planning.
class BankGraph {
 public:
  EntryPoint entry() const {
    const uint64_t packed = entry_.load(std::memory_order_acquire);
    return {static_cast<uint32_t>(packed), static_cast<uint32_t>(packed >> 32)};
  }
  void set_entry(const EntryPoint& entry) {
    entry_.store(uint64_t{entry.level} << 32 | entry.node, std::memory_order_release);
  }

  std::atomic<uint32_t> live{0};         // rows of the bank, linked or not
  std::atomic<uint32_t> linked{0};       // live rows in the graph
  std::atomic<uint32_t> linked_dead{0};  // removed rows still in the graph

 private:
  std::atomic<uint64_t> entry_{kNoNode};
};

inline void Add(std::atomic<uint32_t>& count, int32_t change) {
  count.fetch_add(static_cast<uint32_t>(change), std::memory_order_relaxed);
}

// The state that all parts of the index share. The writer publishes in this order: codes,
// attributes and info of a node; the node store's size; the node's bits in `pending` and `live`;
// its number in `recent` when it replaces another node; links to it. A reader that learns of a node
// by any of these may read everything earlier in the list.
struct IndexCore {
  explicit IndexCore(const HnswOptions& given)
      : options(given),
        nodes(CodeLayout(given.dimension), given.m, given.rescore == HnswRescore::kResidual) {}

  const HnswOptions options;
  NodeStore nodes;
  AttributeTable attributes;
  BitSet live;      // rows that a search may return
  BitSet pending;   // rows that are in no graph (not yet, or not any more): the flat tail
  BitSet replaced;  // nodes whose rows have another node since; it may be gone, too
  BitSet in_graph;  // nodes that links may lead to, removed ones included
  RecentRows recent;
  std::atomic<uint32_t> pending_count{0};
  std::array<BankGraph, limits::kMaxBanks> banks;
  mutable ReaderEpochs epochs;
};

}  // namespace ruvd::storage::hnsw
