// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <list>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/adapter/adapter.h"
#include "inference/model/transformer.h"

namespace ruvd {

// Keys and values of the committed prefix of one completion, one set for each adapter mix in use.
// Adapters change keys and values, so a set must never serve another mix; a mix that returns finds
// its set and only the tokens since then are computed. Exact for causal and block-causal attention.
// Not thread-safe.
class PrefixCaches {
 public:
  struct Prefix {
    KvCache* cache = nullptr;
    // Final hidden state of the prefix's last token, which predicts the next one; empty for an
    // empty prefix.
    std::span<const float> last_hidden;
  };

  // `capacity`: tokens of the longest prefix.
  PrefixCaches(const ModelConfig& config, Attention attention, int capacity);

  // Brings the set of `mix` to exactly `tokens`, which must continue what it holds (a prefix never
  // changes) and, with block-causal attention, end at a block boundary. Adds the forwards run to
  // `forwards`. The result is valid until the next call.
  absl::StatusOr<Prefix> Extend(Transformer& transformer, std::span<const TokenId> tokens,
                                const AdapterMix& mix, int* forwards);

 private:
  struct Entry {
    AdapterMix mix;
    KvCache cache;
    std::vector<float> last_hidden;
  };
  Entry& Find(const AdapterMix& mix);

  ModelConfig config_;
  Attention attention_;
  int capacity_;
  std::list<Entry> entries_;  // most recently used first
};

// The same adapters with the same weights in the same order.
bool SameMix(const AdapterMix& a, const AdapterMix& b);

}  // namespace ruvd
