// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "inference/adapter/adapter.h"
#include "inference/cache/kv_cache.h"
#include "inference/transformer/attention.h"

namespace ruvd::inference {

// Keys and values of token prefixes that requests have in common. They are kept after the requests
// until their memory is needed. This is a radix tree over tokens whose edges are pages: the tokens
// of its page lead to a child, sixteen of them or, at the end of an inserted prefix, fewer. What is
// found is exact for causal and block-causal attention, and equals bit for bit what computing it
// would give, because keys and values are rounded to the pool's format as soon as they are
// computed.
//
// Prefixes are separate for each adapter mix and attention, because keys and values depend on them.
// Pages belong to the pool and count against its budget. The tree is the pool's reclaimer: it gives
// back the least recently used pages that only the tree holds. Thread-safe.
class PrefixTree {
 public:
  // Everything except the tokens that keys and values depend on.
  struct Key {
    AdapterMix mix;
    Attention attention;  // kCausal or kBlockCausal
  };
  struct Match {
    int length = 0;  // tokens that the cache holds after the lookup
    // The final hidden state of the last token, if length is that of the whole prefix.
    std::vector<float> last_hidden;
  };
  struct Stats {
    uint64_t lookups = 0;
    uint64_t hits = 0;  // lookups that found at least one token
    uint64_t looked_up_tokens = 0;
    uint64_t reused_tokens = 0;
    uint64_t evicted_pages = 0;
    uint64_t pages = 0;  // held at present
  };

  explicit PrefixTree(std::shared_ptr<KvPool> pool);
  // Releases all pages. No forward that extends a cache of the pool may be running.
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  const std::shared_ptr<KvPool>& pool() const { return pool_; }

  // Makes `cache`, which must use the same pool, hold the longest known prefix of `tokens`, sharing
  // its pages. With block-causal attention the prefix ends at the end of a block. It is shorter
  // than `tokens` if the last token's hidden state is unknown, so that the caller computes it.
  Match Lookup(const Key& key, std::span<const TokenId> tokens, KvCache* cache);

  // Keeps the pages of `tokens`, which must be the tokens that `cache` holds. A `last_hidden` that
  // is not empty is kept with them (width floats, not counted against the budget). Nothing is
  // stored twice.
  void Insert(const Key& key, std::span<const TokenId> tokens, const KvCache& cache,
              std::span<const float> last_hidden);

  // Releases up to `pages` pages that only this tree holds, least recently used first.
  void Evict(uint64_t pages);

  Stats stats() const;

 private:
  struct Node;
  struct Root;
  struct Path;
  Root* FindRoot(const Key& key);
  // Follows `tokens` from the root as far as they are known.
  Path Descend(Root& root, std::span<const TokenId> tokens) const;
  void Use(Node* last);
  Node* AddChild(Node* parent, std::span<const TokenId> tokens, const KvPage& page);
  Node* Remove(Node* leaf);

  const std::shared_ptr<KvPool> pool_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Root>> roots_;
  std::list<Node>
      // all except the roots' own, unordered; a flat list keeps destruction from recursing deeply
      nodes_;
  uint64_t clock_ = 0;  // counts uses
  Stats stats_;
};

}  // namespace ruvd::inference
