// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <list>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "inference/adapter/adapter.h"
#include "inference/prefix/prefix_tree.h"
#include "inference/transformer/transformer.h"

namespace ruvd::inference {

// Keys and values of the committed prefix of one completion, one set for each adapter mix in use.
// Adapters change keys and values, so a set must never serve another mix; a mix that returns finds
// its set and only the tokens since then are computed. Exact for causal and block-causal attention.
// With a tree, sets begin with what earlier completions computed for the same tokens and are found
// by later ones; the results stay the same bit for bit. Not thread-safe.
class PrefixCaches {
 public:
  struct Prefix {
    AdapterMix mix;
    KvCache cache;
    // Final hidden state of the prefix's last token, which predicts the next one; empty for an
    // empty prefix.
    std::vector<float> last_hidden;
    // Tokens that the tree was told about, or had; -1: it was not asked yet.
    int published = -1;
    bool shared_prompt = false;  // the tree has the prompt with its end
  };

  // `capacity`: tokens of the longest prefix. `tree` may be null: memory of its own, in float32.
  PrefixCaches(const ModelConfig& config, Attention attention, int capacity,
               std::shared_ptr<PrefixTree> tree);

  // Pages held by all sets.
  size_t pages_held() const;
  // Empties all sets and gives their pages back. References to them stay valid.
  void Release();

  // The prefix held for a mix, empty if there is none. Valid until the call for another mix.
  Prefix& Find(const AdapterMix& mix);

  // The forward that brings `prefix` closer to exactly `tokens`, which must continue what it holds
  // (a prefix never changes) and, with block-causal attention, end at a block boundary; nullopt
  // where nothing is missing. A long prefix comes in pieces of limits::kPrefillRows tokens, so that
  // it does not hold up others. The caller stores the hidden state of the last piece, which is the
  // only row asked for (none of earlier ones).
  std::optional<ForwardInput> Missing(Prefix& prefix, std::span<const TokenId> tokens);

 private:
  KvCache MakeCache() const;
  static void Empty(Prefix* prefix);
  // Takes from the tree what it knows of a new prefix, and adds what has been computed since.
  void Share(Prefix& prefix, std::span<const TokenId> tokens);

  ModelConfig config_;
  Attention attention_;
  int capacity_;
  std::shared_ptr<PrefixTree> tree_;
  std::list<Prefix> entries_;  // most recently used first
};

}  // namespace ruvd::inference
