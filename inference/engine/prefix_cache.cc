// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/engine/prefix_cache.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/status.h"
#include "inference/limits.h"

namespace ruvd {

bool SameMix(const AdapterMix& a, const AdapterMix& b) {
  return std::equal(a.parts.begin(), a.parts.end(), b.parts.begin(), b.parts.end(),
                    [](const AdapterMix::Part& x, const AdapterMix::Part& y) {
                      return x.adapter == y.adapter && x.weight == y.weight;
                    });
}

PrefixCaches::PrefixCaches(const ModelConfig& config, Attention attention, int capacity)
    : config_(config), attention_(attention), capacity_(capacity) {}

PrefixCaches::Prefix& PrefixCaches::Find(const AdapterMix& mix) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Prefix& entry) { return SameMix(entry.mix, mix); });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front();
  }
  if (entries_.size() == limits::kMaxPrefixCaches) {  // recycle the memory of the oldest
    entries_.splice(entries_.begin(), entries_, std::prev(entries_.end()));
    entries_.front().mix = mix;
    entries_.front().cache.Truncate(0);
    entries_.front().last_hidden.clear();
  } else {
    entries_.push_front(Prefix{mix, KvCache(config_, capacity_), {}});
  }
  return entries_.front();
}

std::optional<ForwardInput> PrefixCaches::Missing(Prefix& prefix,
                                                  std::span<const TokenId> tokens) const {
  const auto held = static_cast<size_t>(prefix.cache.length());
  RUVD_CHECK(held <= tokens.size());
  if (held == tokens.size()) {
    return std::nullopt;
  }
  size_t piece = limits::kPrefillRows;
  if (attention_.kind == Attention::Kind::kBlockCausal) {  // pieces end between blocks
    const auto block = static_cast<size_t>(attention_.block_length);
    piece = std::max(piece / block * block, block);
  }
  piece = std::min(piece, tokens.size() - held);
  std::vector<int> rows;
  if (held + piece == tokens.size()) {
    rows.push_back(static_cast<int>(piece) - 1);
  }
  return ForwardInput{.tokens = tokens.subspan(held, piece),
                      .attention = attention_,
                      .cache = &prefix.cache,
                      .extend_cache = true,
                      .adapters = &prefix.mix,
                      .rows = std::move(rows)};
}

}  // namespace ruvd
