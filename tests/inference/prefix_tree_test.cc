// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/prefix/prefix_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "base/random.h"
#include "tests/inference/kv_tokens.h"

namespace ruvd::inference {
namespace {

using test::AppendRows;
using test::KvShape;
using test::StoredToken;

using Tokens = std::vector<TokenId>;

constexpr int kCapacity = 256;

std::shared_ptr<KvPool> Pool(uint64_t pages) {
  const ModelConfig shape = KvShape(1, 1, 1, 2);
  const uint64_t page = KvLayout(shape, KvFormat::kF32).page_bytes();
  return KvPool::Create(shape, KvFormat::kF32, pages * page).value();
}

// Returns values that depend on the token and all tokens before it, as keys and values do; they are
// exact in float32.
std::vector<float> Fingerprints(size_t key, const Tokens& tokens) {
  std::vector<float> values;
  uint64_t hash = key + 1;
  for (const TokenId token : tokens) {
    hash = (hash * 6364136223846793005ULL + token + 1442695040888963407ULL) >> 1;
    values.push_back(static_cast<float>(hash % (1U << 24)));
  }
  return values;
}

// Computes the part of `tokens` that `cache` lacks.
absl::Status Fill(size_t key, const Tokens& tokens, KvCache* cache) {
  const std::vector<float> prints = Fingerprints(key, tokens);
  std::vector<float> rows;
  for (size_t i = static_cast<size_t>(cache->length()); i < prints.size(); ++i) {
    rows.insert(rows.end(), 2, prints[i]);
  }
  return AppendRows(cache, static_cast<int>(rows.size() / 2), rows.data(), rows.data());
}

void ExpectPrefix(size_t key, const Tokens& tokens, const KvCache& cache) {
  const std::vector<float> prints = Fingerprints(key, tokens);
  ASSERT_LE(cache.length(), static_cast<int>(tokens.size()));
  for (size_t i = 0; i < static_cast<size_t>(cache.length()); ++i) {
    ASSERT_EQ(StoredToken(cache, 0, 0, i).first.front(), static_cast<double>(prints[i])) << i;
  }
}

PrefixTree::Key Causal() {
  return {.mix = {}, .attention = {.kind = Attention::Kind::kCausal}};
}

Tokens Range(TokenId first, size_t count) {
  Tokens tokens(count);
  for (size_t i = 0; i < count; ++i) {
    tokens[i] = first + static_cast<TokenId>(i);
  }
  return tokens;
}

TEST(PrefixTreeTest, WholePrefixComesBackWithItsHiddenState) {
  const auto pool = Pool(16);
  PrefixTree tree(pool);
  const Tokens tokens = Range(0, 37);
  KvCache first(pool, kCapacity);
  ASSERT_TRUE(Fill(0, tokens, &first).ok());
  tree.Insert(Causal(), tokens, first, std::vector<float>{1, 2});
  KvCache second(pool, kCapacity);
  const PrefixTree::Match match = tree.Lookup(Causal(), tokens, &second);
  EXPECT_EQ(match.length, 37);
  EXPECT_EQ(match.last_hidden, (std::vector<float>{1, 2}));
  EXPECT_EQ(pool->usage().pages, 3);
  // Appending copies the page that is not full, and changes the pages of no other cache.
  Tokens longer = tokens;
  longer.push_back(99);
  ASSERT_TRUE(Fill(0, longer, &second).ok());
  EXPECT_EQ(pool->usage().pages, 4);
  ExpectPrefix(0, longer, second);
  ExpectPrefix(0, tokens, first);
  EXPECT_EQ(tree.stats().hits, 1);
  EXPECT_EQ(tree.stats().reused_tokens, 37);
}

TEST(PrefixTreeTest, LastTokenIsLeftToComputeWhereItsHiddenStateIsUnknown) {
  const auto pool = Pool(16);
  PrefixTree tree(pool);
  const Tokens tokens = Range(0, 48);
  KvCache first(pool, kCapacity);
  ASSERT_TRUE(Fill(0, tokens, &first).ok());
  tree.Insert(Causal(), tokens, first, std::vector<float>{1});
  KvCache second(pool, kCapacity);
  const PrefixTree::Match match = tree.Lookup(Causal(), Range(0, 32), &second);
  EXPECT_EQ(match.length, 31);
  EXPECT_TRUE(match.last_hidden.empty());
}

TEST(PrefixTreeTest, BlockCausalPrefixesEndAtBlocks) {
  const auto pool = Pool(16);
  PrefixTree tree(pool);
  const PrefixTree::Key key{
      .mix = {}, .attention = {.kind = Attention::Kind::kBlockCausal, .block_length = 12}};
  const Tokens tokens = Range(0, 60);
  KvCache first(pool, kCapacity);
  ASSERT_TRUE(Fill(0, tokens, &first).ok());
  tree.Insert(key, tokens, first, std::vector<float>{1});
  Tokens other = tokens;
  other[40] = 7;
  KvCache second(pool, kCapacity);
  EXPECT_EQ(tree.Lookup(key, other, &second).length, 36);
  KvCache third(pool, kCapacity);
  EXPECT_EQ(tree.Lookup(Causal(), tokens, &third).length, 0);
}

TEST(PrefixTreeTest, AnotherMixFindsNothing) {
  const auto pool = Pool(16);
  PrefixTree tree(pool);
  PrefixTree::Key key = Causal();
  key.mix.parts.push_back({std::make_shared<const Adapter>(), 0.5F});
  const Tokens tokens = Range(0, 20);
  KvCache first(pool, kCapacity);
  ASSERT_TRUE(Fill(0, tokens, &first).ok());
  tree.Insert(key, tokens, first, std::vector<float>{1});
  KvCache second(pool, kCapacity);
  EXPECT_EQ(tree.Lookup(Causal(), tokens, &second).length, 0);
  key.mix.parts.front().weight = 0.25F;
  EXPECT_EQ(tree.Lookup(key, tokens, &second).length, 0);
  key.mix.parts.front().weight = 0.5F;
  EXPECT_EQ(tree.Lookup(key, tokens, &second).length, 20);
}

TEST(PrefixTreeTest, EvictsTheLeastRecentlyUsedAndNeverPagesInUse) {
  const auto pool = Pool(6);
  PrefixTree tree(pool);
  for (const TokenId start : {0U, 100U, 200U}) {
    KvCache cache(pool, kCapacity);
    ASSERT_TRUE(Fill(0, Range(start, 32), &cache).ok());
    tree.Insert(Causal(), Range(start, 32), cache, {});
  }
  KvCache used(pool, kCapacity);
  EXPECT_EQ(tree.Lookup(Causal(), Range(0, 33), &used).length, 32);
  KvCache recent(pool, kCapacity);
  EXPECT_EQ(tree.Lookup(Causal(), Range(200, 33), &recent).length, 32);
  recent.Truncate(0);
  KvCache fresh(pool, kCapacity);
  ASSERT_TRUE(Fill(0, Range(300, 33), &fresh).ok());  // three pages: all of 100, one of 200
  ExpectPrefix(0, Range(0, 32), used);
  EXPECT_EQ(tree.stats().evicted_pages, 3);
  KvCache probe(pool, kCapacity);
  EXPECT_EQ(tree.Lookup(Causal(), Range(100, 33), &probe).length, 0);
  EXPECT_EQ(tree.Lookup(Causal(), Range(200, 33), &probe).length, 16);
  EXPECT_FALSE(Fill(0, Range(400, 64), &fresh).ok());  // the rest is in use
  ExpectPrefix(0, Range(0, 32), used);
}

// A plain list of the prefixes that the tree knows.
struct Known {
  size_t key;
  Tokens tokens;
  bool hidden;
};

size_t ExpectedLength(const std::vector<Known>& all, size_t key, size_t block,
                      const Tokens& tokens) {
  size_t best = 0;
  for (const Known& known : all) {
    if (known.key != key) {
      continue;
    }
    if (known.hidden && known.tokens == tokens) {
      return tokens.size();
    }
    const size_t most = std::min(known.tokens.size(), tokens.size());
    size_t common = 0;
    while (common < most && known.tokens[common] == tokens[common]) {
      ++common;
    }
    best = std::max(best, common);
  }
  return std::min(best, tokens.size() - 1) / block * block;
}

struct Request {
  size_t key;
  Tokens tokens;
  KvCache cache;
};

// Makes random requests that begin like earlier ones. While nothing is evicted they are compared
// with the plain list; under pressure, what is found must still be right and no longer than what
// the list knows.
class RandomRequests {
 public:
  RandomRequests(uint64_t seed, uint64_t budget, bool evicts)
      : evicts_(evicts), random_(seed), pool_(Pool(budget)) {
    keys_.push_back(keys_[1]);
    keys_[2].mix.parts.push_back({std::make_shared<const Adapter>(), 1.0F});
  }

  void Run() {
    for (int step = 0; step < 1500; ++step) {
      const size_t key = random_.Below(keys_.size());
      ASSERT_NO_FATAL_FAILURE(Serve(key, AnyTokens(key == 0 ? 1 : 8)));
      ASSERT_LE(pool_->usage().pages, pool_->budget_pages());
      if (evicts_ && random_.Below(50) == 0) {
        tree_->Evict(random_.Below(10));
      }
    }
    EXPECT_EQ(evicts_, tree_->stats().evicted_pages > 0);
    EXPECT_EQ(evicts_, refused_ > 0);
    running_.clear();
    EXPECT_EQ(pool_->usage().pages, tree_->stats().pages);
    EXPECT_EQ(pool_->usage().shared_pages, 0);
    tree_.reset();
    EXPECT_EQ(pool_->usage().pages, 0);
  }

 private:
  // Often returns the beginning of a known prefix, then some more, up to a block's end.
  Tokens AnyTokens(size_t block) {
    Tokens tokens;
    if (!known_.empty() && random_.Below(5) != 0) {
      tokens = known_[random_.Below(known_.size())].tokens;
      tokens.resize(random_.Below(tokens.size() + 1));
    }
    for (size_t added = 1 + random_.Below(40); added > 0 && tokens.size() < 200; --added) {
      tokens.push_back(static_cast<TokenId>(random_.Below(3)));
    }
    tokens.resize((tokens.size() + block - 1) / block * block);
    return tokens;
  }

  void Serve(size_t key, const Tokens& tokens) {
    Request request{key, tokens, KvCache(pool_, kCapacity)};
    ASSERT_NO_FATAL_FAILURE(LookUp(&request));
    if (!Fill(key, tokens, &request.cache).ok()) {
      ++refused_;
      running_.clear();
      return;
    }
    const bool hidden = random_.Below(2) == 0;
    std::vector<float> last;
    if (hidden) {
      last.push_back(Fingerprints(key, tokens).back());
    }
    tree_->Insert(keys_[key], tokens, request.cache, last);
    known_.push_back({key, tokens, hidden});
    if (!hidden) {
      known_.back().tokens.resize(tokens.size() / 16 * 16);
    }
    running_.push_back(std::move(request));
    if (random_.Below(3) != 0) {
      running_.pop_front();
    }
    for (const Request& other : running_) {
      ExpectPrefix(other.key, other.tokens, other.cache);
    }
  }

  void LookUp(Request* request) {
    const Tokens& tokens = request->tokens;
    const PrefixTree::Match match = tree_->Lookup(keys_[request->key], tokens, &request->cache);
    const auto length = static_cast<size_t>(match.length);
    ASSERT_EQ(match.length, request->cache.length());
    ExpectPrefix(request->key, tokens, request->cache);
    const size_t block = request->key == 0 ? 1 : 8;
    const size_t expected = ExpectedLength(known_, request->key, block, tokens);
    if (evicts_) {
      ASSERT_LE(length, expected);
    } else {
      ASSERT_EQ(length, expected);
    }
    if (length == tokens.size()) {
      ASSERT_EQ(match.last_hidden, std::vector<float>{Fingerprints(request->key, tokens).back()});
    }
  }

  const bool evicts_;
  Random random_;
  const std::shared_ptr<KvPool> pool_;
  std::unique_ptr<PrefixTree> tree_ = std::make_unique<PrefixTree>(pool_);
  std::vector<PrefixTree::Key> keys_ = {
      Causal(),
      {.mix = {}, .attention = {.kind = Attention::Kind::kBlockCausal, .block_length = 8}}};
  std::vector<Known> known_;
  std::deque<Request> running_;
  int refused_ = 0;
};

TEST(PrefixTreeTest, RandomRequestsEqualAPlainList) {
  RandomRequests(1, 1U << 20, false).Run();
}

TEST(PrefixTreeTest, RandomRequestsUnderPressureStayRight) {
  for (uint64_t seed = 2; seed < 5; ++seed) {
    RandomRequests(seed, 60, true).Run();
  }
}

}  // namespace
}  // namespace ruvd::inference
