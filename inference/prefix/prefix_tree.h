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

// Keys and values of token prefixes that requests have in common, kept after the requests until
// their memory is needed. A radix tree over tokens whose edges are pages: a child is reached by the
// tokens of its page, sixteen of them or, for the end of an inserted prefix, fewer. What is found
// is exact for causal and block-causal attention, and bit for bit what computing it would give,
// because keys and values are rounded to the pool's format as soon as they are computed.
//
// Prefixes are kept apart by what else keys and values depend on: the adapter mix and the
// attention. Pages are the pool's, so they count against its budget; the tree is the pool's
// reclaimer and gives back least recently used pages that nobody else holds. Thread-safe.
class PrefixTree {
 public:
  // What computes different keys and values for the same tokens.
  struct Key {
    AdapterMix mix;
    Attention attention;  // kCausal or kBlockCausal
  };
  struct Match {
    int length = 0;  // tokens that the cache holds now
    // The final hidden state of the last token, where length is that of the whole prefix.
    std::vector<float> last_hidden;
  };
  struct Stats {
    uint64_t lookups = 0;
    uint64_t hits = 0;  // that found at least one token
    uint64_t looked_up_tokens = 0;
    uint64_t reused_tokens = 0;
    uint64_t evicted_pages = 0;
    uint64_t pages = 0;  // held now
  };

  explicit PrefixTree(std::shared_ptr<KvPool> pool);
  // Gives back all pages. Forwards that extend caches of the pool must be over.
  ~PrefixTree();
  PrefixTree(const PrefixTree&) = delete;
  PrefixTree& operator=(const PrefixTree&) = delete;

  const std::shared_ptr<KvPool>& pool() const { return pool_; }

  // Makes `cache`, a cache of the pool, hold the longest known prefix of `tokens`, sharing its
  // pages. With block-causal attention it ends at a block's end. It is shorter than `tokens` if the
  // last token's hidden state is not known, so that the caller computes it.
  Match Lookup(const Key& key, std::span<const TokenId> tokens, KvCache* cache);

  // Keeps the pages of `tokens`, which are the tokens that `cache` holds. `last_hidden`, if not
  // empty, is kept with them (width floats, not counted against the budget). What is known already
  // is not kept twice.
  void Insert(const Key& key, std::span<const TokenId> tokens, const KvCache& cache,
              std::span<const float> last_hidden);

  // Gives back up to `pages` pages, least recently used first, that only this tree holds.
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
      nodes_;           // all but the roots' own, in no order; flat, so that none is too deep
  uint64_t clock_ = 0;  // of uses
  Stats stats_;
};

}  // namespace ruvd::inference
