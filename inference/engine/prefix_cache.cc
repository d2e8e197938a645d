// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/engine/prefix_cache.h"

#include <algorithm>
#include <iterator>

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

PrefixCaches::Entry& PrefixCaches::Find(const AdapterMix& mix) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return SameMix(entry.mix, mix); });
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
    entries_.push_front(Entry{mix, KvCache(config_, capacity_), {}});
  }
  return entries_.front();
}

absl::StatusOr<PrefixCaches::Prefix> PrefixCaches::Extend(Transformer& transformer,
                                                          std::span<const TokenId> tokens,
                                                          const AdapterMix& mix, int* forwards) {
  Entry& entry = Find(mix);
  const auto held = static_cast<size_t>(entry.cache.length());
  RUVD_CHECK(held <= tokens.size());
  if (held < tokens.size()) {
    ForwardOutput output;
    RETURN_IF_ERROR(transformer.Forward({.tokens = tokens.subspan(held),
                                         .attention = attention_,
                                         .cache = &entry.cache,
                                         .extend_cache = true,
                                         .adapters = &entry.mix},
                                        &output));
    ++*forwards;
    entry.last_hidden.assign(output.hidden.end() - config_.width, output.hidden.end());
  }
  return Prefix{&entry.cache, entry.last_hidden};
}

}  // namespace ruvd
