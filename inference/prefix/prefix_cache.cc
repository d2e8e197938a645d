// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/prefix/prefix_cache.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/status.h"
#include "inference/limits.h"

namespace ruvd::inference {

PrefixCaches::PrefixCaches(const ModelConfig& config, Attention attention, int capacity,
                           std::shared_ptr<PrefixTree> tree)
    : config_(config), attention_(attention), capacity_(capacity), tree_(std::move(tree)) {}

KvCache PrefixCaches::MakeCache() const {
  return tree_ == nullptr ? KvCache(config_, capacity_) : KvCache(tree_->pool(), capacity_);
}

void PrefixCaches::Empty(Prefix* prefix) {
  prefix->cache.Truncate(0);
  prefix->last_hidden.clear();
  prefix->published = -1;
}

size_t PrefixCaches::pages_held() const {
  size_t pages = 0;
  for (const Prefix& entry : entries_) {
    pages += entry.cache.pages().size();
  }
  return pages;
}

void PrefixCaches::Release() {
  for (Prefix& entry : entries_) {
    Empty(&entry);
  }
}

PrefixCaches::Prefix& PrefixCaches::Find(const AdapterMix& mix) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Prefix& entry) { return SameMix(entry.mix, mix); });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return entries_.front();
  }
  if (entries_.size() == limits::kMaxPrefixCaches) {  // reuses the memory of the oldest
    entries_.splice(entries_.begin(), entries_, std::prev(entries_.end()));
    entries_.front().mix = mix;
    Empty(&entries_.front());
    entries_.front().shared_prompt = false;
  } else {
    entries_.push_front(Prefix{mix, MakeCache(), {}});
  }
  return entries_.front();
}

void PrefixCaches::Share(Prefix& prefix, std::span<const TokenId> tokens) {
  if (tree_ == nullptr || tokens.empty()) {
    return;
  }
  const PrefixTree::Key key{.mix = prefix.mix, .attention = attention_};
  if (prefix.published < 0) {
    prefix.last_hidden = tree_->Lookup(key, tokens, &prefix.cache).last_hidden;
    prefix.published = prefix.cache.length();
    return;
  }
  const int length = prefix.cache.length();
  constexpr int kPage = static_cast<int>(kKvTileTokens);
  // A prompt is inserted as a whole, including its incomplete last page. Later, only whole pages
  // are inserted, because an incomplete page would have to be copied for every following token.
  const bool prompt = static_cast<size_t>(length) + 1 >= tokens.size() && !prefix.shared_prompt &&
                      !prefix.last_hidden.empty();
  if (length == prefix.published || (!prompt && length / kPage == prefix.published / kPage)) {
    return;
  }
  const bool end_known = prompt || length % kPage == 0;
  tree_->Insert(key, tokens.first(static_cast<size_t>(length)), prefix.cache,
                end_known ? std::span<const float>(prefix.last_hidden) : std::span<const float>());
  prefix.published = length;
  prefix.shared_prompt = prefix.shared_prompt || prompt;
}

std::optional<ForwardInput> PrefixCaches::MissingForward(Prefix& prefix,
                                                         std::span<const TokenId> tokens) {
  Share(prefix, tokens);
  const auto held = static_cast<size_t>(prefix.cache.length());
  RUVD_CHECK(held <= tokens.size());
  if (held == tokens.size()) {
    return std::nullopt;
  }
  size_t piece = limits::kPrefillRows;
  if (attention_.kind == Attention::Kind::kBlockCausal) {  // a piece must end between two blocks
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

}  // namespace ruvd::inference
