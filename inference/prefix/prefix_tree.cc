// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/prefix/prefix_tree.h"

#include <algorithm>
#include <map>
#include <queue>
#include <utility>

#include "base/status.h"

namespace ruvd::inference {
namespace {

using Tokens = std::vector<TokenId>;

bool SameKey(const PrefixTree::Key& a, const PrefixTree::Key& b) {
  return a.attention.kind == b.attention.kind &&
         a.attention.block_length == b.attention.block_length &&
         a.attention.window == b.attention.window && SameMix(a.mix, b.mix);
}

// Returns the number of leading tokens that both have in common.
size_t CommonPrefix(std::span<const TokenId> a, std::span<const TokenId> b) {
  const size_t most = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(most), b.begin()).first -
      a.begin());
}

}  // namespace

struct PrefixTree::Node {
  Node* parent = nullptr;  // null at a root
  // These are the tokens of the page. Only a leaf may have fewer than sixteen.
  Tokens tokens;
  KvPage page;
  std::vector<float> last_hidden;
  uint64_t used = 0;
  std::map<Tokens, Node*> children;
  std::list<Node>::iterator self;
};

struct PrefixTree::Root {
  Key key;
  Node node;
};

struct PrefixTree::Path {
  std::vector<Node*> nodes;  // full pages whose tokens all match
  Node* partial = nullptr;   // the child after them whose first `extra` tokens match
  size_t extra = 0;
};

PrefixTree::PrefixTree(std::shared_ptr<KvPool> pool) : pool_(std::move(pool)) {
  pool_->set_reclaimer([this](uint64_t pages) { Evict(pages); });
}

PrefixTree::~PrefixTree() {
  pool_->set_reclaimer(nullptr);
}

PrefixTree::Root* PrefixTree::FindRoot(const Key& key) {
  const auto found =
      std::find_if(roots_.begin(), roots_.end(),
                   [&](const std::unique_ptr<Root>& root) { return SameKey(root->key, key); });
  return found == roots_.end() ? nullptr : found->get();
}

PrefixTree::Path PrefixTree::Descend(Root& root, std::span<const TokenId> tokens) const {
  Path path;
  Node* node = &root.node;
  while (tokens.size() >= kKvTileTokens) {
    const auto child = node->children.find(Tokens(tokens.begin(), tokens.begin() + kKvTileTokens));
    if (child == node->children.end()) {
      break;
    }
    node = child->second;
    path.nodes.push_back(node);
    tokens = tokens.subspan(kKvTileTokens);
  }
  // The child with the longest common prefix is a neighbour in lexicographic order.
  const auto consider = [&](Node* child) {
    if (const size_t common = CommonPrefix(child->tokens, tokens); common > path.extra) {
      path.partial = child;
      path.extra = common;
    }
  };
  const size_t digit = std::min(tokens.size(), kKvTileTokens);
  const auto place = node->children.lower_bound(
      Tokens(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(digit)));
  if (place != node->children.end()) {
    consider(place->second);
  }
  if (place != node->children.begin()) {
    consider(std::prev(place)->second);
  }
  return path;
}

void PrefixTree::Use(Node* last) {
  ++clock_;
  for (Node* node = last; node != nullptr; node = node->parent) {
    node->used = clock_;
  }
}

PrefixTree::Match PrefixTree::Lookup(const Key& key, std::span<const TokenId> tokens,
                                     KvCache* cache) {
  RUVD_CHECK(cache->layout() == pool_->layout());
  const std::lock_guard lock(mutex_);
  ++stats_.lookups;
  stats_.looked_up_tokens += tokens.size();
  Match match;
  Root* root = FindRoot(key);
  if (root == nullptr || tokens.empty()) {
    return match;
  }
  const Path path = Descend(*root, tokens);
  size_t length = path.nodes.size() * kKvTileTokens + path.extra;
  const Node* end = path.extra > 0       ? path.partial
                    : path.nodes.empty() ? nullptr
                                         : path.nodes.back();
  const bool whole = length == tokens.size() && !end->last_hidden.empty() &&
                     (path.extra == 0 || end->tokens.size() == path.extra);
  if (whole) {
    match.last_hidden = end->last_hidden;
  } else {
    length = std::min(length, tokens.size() - 1);
    if (key.attention.kind == Attention::Kind::kBlockCausal) {
      const auto block = static_cast<size_t>(key.attention.block_length);
      length = length / block * block;
    }
  }
  std::vector<KvPage> pages;
  for (size_t i = 0; i * kKvTileTokens < length; ++i) {
    Node* node = i < path.nodes.size() ? path.nodes[i] : path.partial;
    pages.push_back(node->page);
    if ((i + 1) * kKvTileTokens >= length) {
      Use(node);
    }
  }
  cache->Adopt(pages, static_cast<int>(length));
  match.length = static_cast<int>(length);
  stats_.hits += length > 0 ? 1 : 0;
  stats_.reused_tokens += length;
  return match;
}

PrefixTree::Node* PrefixTree::AddChild(Node* parent, std::span<const TokenId> tokens,
                                       const KvPage& page) {
  Node& node = nodes_.emplace_back();
  node.parent = parent;
  node.tokens.assign(tokens.begin(), tokens.end());
  node.page = page;
  node.self = std::prev(nodes_.end());
  parent->children.emplace(node.tokens, &node);
  return &node;
}

void PrefixTree::Insert(const Key& key, std::span<const TokenId> tokens, const KvCache& cache,
                        std::span<const float> last_hidden) {
  RUVD_CHECK(static_cast<size_t>(cache.length()) == tokens.size());
  RUVD_CHECK(cache.layout() == pool_->layout());
  RUVD_CHECK(key.attention.kind == Attention::Kind::kCausal ||
             (key.attention.kind == Attention::Kind::kBlockCausal &&
              tokens.size() % static_cast<size_t>(key.attention.block_length) == 0));
  // an incomplete page is worth its memory only at the end of a prefix with its hidden state
  if (last_hidden.empty()) {
    tokens = tokens.first(tokens.size() / kKvTileTokens * kKvTileTokens);
  }
  if (tokens.empty()) {
    return;
  }
  const std::lock_guard lock(mutex_);
  Root* root = FindRoot(key);
  if (root == nullptr) {
    root = roots_.emplace_back(std::make_unique<Root>(Root{.key = key, .node = {}})).get();
  }
  Node* node = &root->node;
  for (size_t i = 0; i * kKvTileTokens < tokens.size(); ++i) {
    const size_t begin = i * kKvTileTokens;
    const std::span<const TokenId> digit =
        tokens.subspan(begin, std::min(kKvTileTokens, tokens.size() - begin));
    const auto child = node->children.find(Tokens(digit.begin(), digit.end()));
    node = child != node->children.end() ? child->second : AddChild(node, digit, cache.pages()[i]);
  }
  if (node->last_hidden.empty()) {
    node->last_hidden.assign(last_hidden.begin(), last_hidden.end());
  }
  Use(node);
}

// Removes a leaf. Returns its parent if that is now a leaf, else null.
PrefixTree::Node* PrefixTree::Remove(Node* leaf) {
  Node* parent = leaf->parent;
  parent->children.erase(leaf->tokens);
  nodes_.erase(leaf->self);
  ++stats_.evicted_pages;
  return parent->parent != nullptr && parent->children.empty() ? parent : nullptr;
}

void PrefixTree::Evict(uint64_t pages) {
  const std::lock_guard lock(mutex_);
  const auto later = [](const Node* a, const Node* b) { return a->used > b->used; };
  std::priority_queue<Node*, std::vector<Node*>, decltype(later)> leaves(later);
  const auto consider = [&](Node* node) {
    if (node->children.empty() && !node->page.shared()) {
      leaves.push(node);
    }
  };
  for (Node& node : nodes_) {
    consider(&node);
  }
  for (; pages > 0 && !leaves.empty(); --pages) {
    Node* const leaf = leaves.top();
    leaves.pop();
    if (Node* const parent = Remove(leaf); parent != nullptr) {
      consider(parent);
    }
  }
  std::erase_if(roots_,
                [](const std::unique_ptr<Root>& root) { return root->node.children.empty(); });
}

PrefixTree::Stats PrefixTree::stats() const {
  const std::lock_guard lock(mutex_);
  Stats stats = stats_;
  stats.pages = nodes_.size();
  return stats;
}

}  // namespace ruvd::inference
