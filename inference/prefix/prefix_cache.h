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
// Adapters change keys and values, so a set must never serve another mix. When a mix is used again,
// its set is found and only the tokens since then are computed. Exact for causal and block-causal
// attention. With a tree, a new set starts with what earlier completions computed for the same
// tokens, and later completions find this one's; the results stay equal bit for bit. Not
// thread-safe.
class PrefixCaches {
 public:
  struct Prefix {
    AdapterMix mix;
    KvCache cache;
    // The final hidden state of the prefix's last token, which predicts the next token; empty for
    // an empty prefix.
    std::vector<float> last_hidden;
    // The number of tokens that the tree has received or already had; -1 if it has not been asked
    // yet.
    int published = -1;
    bool shared_prompt = false;  // the tree has the prompt including its last page
  };

  // `capacity` is the number of tokens of the longest prefix. If `tree` is null, the caches use
  // float32 memory of their own.
  PrefixCaches(const ModelConfig& config, Attention attention, int capacity,
               std::shared_ptr<PrefixTree> tree);

  // Returns the number of pages held by all sets.
  size_t pages_held() const;
  // Empties all sets and releases their pages. References to the sets stay valid.
  void Release();

  // Returns the prefix held for a mix; it is empty if there was none. The reference is valid until
  // the next call with another mix.
  Prefix& Find(const AdapterMix& mix);

  // Returns the forward that extends `prefix` towards exactly `tokens`, or nullopt if nothing is
  // missing. `tokens` must continue what the prefix holds (a prefix never changes) and, with
  // block-causal attention, end at a block boundary. A long prefix is computed in pieces of
  // limits::kPrefillRows tokens, so that other completions do not wait. The caller stores the
  // hidden state of the last piece; only that piece asks for a row.
  std::optional<ForwardInput> MissingForward(Prefix& prefix, std::span<const TokenId> tokens);

 private:
  KvCache MakeCache() const;
  static void Empty(Prefix* prefix);
  // Takes from the tree the known part of a new prefix, and adds to the tree what has been computed
  // since.
  void Share(Prefix& prefix, std::span<const TokenId> tokens);

  ModelConfig config_;
  Attention attention_;
  int capacity_;
  std::shared_ptr<PrefixTree> tree_;
  std::list<Prefix> entries_;  // most recently used first
};

}  // namespace ruvd::inference
