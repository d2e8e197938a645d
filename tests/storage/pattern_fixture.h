// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "storage/patterns/pattern_store.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {

inline constexpr uint32_t kPatternDimension = 8;

inline PatternId Id(uint32_t n) {
  PatternId id{};
  id[0] = static_cast<uint8_t>(n >> 8);
  id[1] = static_cast<uint8_t>(n);
  return id;
}

// Returns a pattern that is a function of n and the bank alone.
inline Pattern MakePattern(uint32_t n, uint32_t bank = 0) {
  Random random(n + 1);
  Pattern pattern{.id = Id(n), .bank = bank, .task = "summary", .quality = 0.75F};
  for (uint32_t i = 0; i < kPatternDimension; ++i) {
    pattern.embedding.push_back(static_cast<float>(random.Normal()));
  }
  pattern.tier = SharingTier::kPublic;
  pattern.examples = 3;
  pattern.origin = Sha256("node");
  pattern.created_ms = 1000 + n;
  pattern.updated_ms = 2000 + n;
  pattern.adapter_name = "overlay";
  pattern.adapter_version = n;
  pattern.payload = "adapter bytes " + std::to_string(n);
  return pattern;
}

// Compares everything except what the store sets itself: stamp and time of the last use.
inline void ExpectSame(const Pattern& a, const Pattern& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.embedding, b.embedding);
  EXPECT_EQ(a.bank, b.bank);
  EXPECT_EQ(a.task, b.task);
  EXPECT_EQ(a.quality, b.quality);
  EXPECT_EQ(a.tier, b.tier);
  EXPECT_EQ(a.standing, b.standing);
  EXPECT_EQ(a.uses, b.uses);
  EXPECT_EQ(a.examples, b.examples);
  EXPECT_EQ(a.origin, b.origin);
  EXPECT_EQ(a.created_ms, b.created_ms);
  EXPECT_EQ(a.updated_ms, b.updated_ms);
  EXPECT_EQ(a.expires_ms, b.expires_ms);
  EXPECT_EQ(a.adapter_name, b.adapter_name);
  EXPECT_EQ(a.adapter_version, b.adapter_version);
  EXPECT_EQ(a.payload, b.payload);
}

// A store of patterns on a temporary database.
class PatternTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    options_ = {.dimension = kPatternDimension,
                .model_hash = Sha256("model"),
                .m = 8,
                .ef_construction = 32};
    Reopen();
  }
  void TearDown() override {
    store_.reset();
    database_.reset();
    StoreTest::TearDown();
  }
  void Close() {
    store_.reset();
    database_.reset();
  }
  void Reopen() {
    Close();
    database_ = OpenStore();
    store_ = OpenPatterns();
  }
  std::unique_ptr<PatternStore> OpenPatterns() {
    auto store = PatternStore::Open(*database_, options_);
    EXPECT_TRUE(store.ok()) << store.status();
    return store.ok() ? std::move(*store) : nullptr;
  }
  // Does all the work that is due; the clock stands still meanwhile.
  PatternMaintenance Maintain() {
    const PatternMaintenance done = store_->Maintain(std::chrono::seconds(1));
    EXPECT_TRUE(done.status.ok()) << done.status;
    EXPECT_FALSE(done.more);
    return done;
  }
  // Returns the versions of the patterns that a search finds, nearest first.
  std::vector<uint32_t> Found(const Pattern& like, const PatternFilter& filter = {},
                              size_t k = 100) {
    std::vector<uint32_t> found;
    const auto hits = store_->Search(like.embedding, {.k = k, .filter = filter});
    EXPECT_TRUE(hits.ok()) << hits.status();
    for (const PatternHit& hit : hits.value_or(std::vector<PatternHit>{})) {
      found.push_back(hit.pattern.adapter_version);
    }
    return found;
  }

  PatternStoreOptions options_;
  std::unique_ptr<Database> database_;
  std::unique_ptr<PatternStore> store_;
};

}  // namespace ruvd::storage
