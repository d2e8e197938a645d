// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs readers, writers, maintenance and checkpoints of the pattern store at the same time, for
// ThreadSanitizer and for states that readers must never see.

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>
#include <vector>

#include "tests/storage/pattern_fixture.h"

namespace ruvd::storage {
namespace {

constexpr uint32_t kStable = 60;     // patterns that do not change
constexpr uint32_t kReplaced = 500;  // a pattern that is stored again and again
constexpr uint32_t kVolatile = 600;  // patterns from this number on come and go
constexpr uint32_t kRounds = 60;

class PatternConcurrencyTest : public PatternTest {
 protected:
  void SetUp() override {
    PatternTest::SetUp();
    for (uint32_t n = 0; n < kStable; ++n) {
      ASSERT_TRUE(store_->Put(MakePattern(n, n % 2)).ok());
    }
    ASSERT_TRUE(store_->Put(MakePattern(kReplaced)).ok());
    Maintain();
  }
  // The end of the first job ends the others.
  void RunBeside(const std::function<void(uint32_t)>& leader,
                 const std::vector<std::function<void(uint32_t)>>& jobs) {
    std::atomic<bool> done = false;
    std::vector<std::jthread> threads;
    for (const auto& job : jobs) {
      threads.emplace_back([&] {
        for (uint32_t round = 0; !done || round < 10; ++round) {
          job(round);
        }
      });
    }
    for (uint32_t round = 0; round < kRounds; ++round) {
      leader(round);
    }
    done = true;
  }
  void ComeAndGo(uint32_t round) {
    EXPECT_TRUE(store_->Put(MakePattern(kVolatile + round % 20, round % 3)).ok());
    if (round >= 10) {
      (void)store_->Delete(Id(kVolatile + (round - 10) % 20));
    }
    Pattern again = MakePattern(kReplaced);
    again.adapter_version = round;
    EXPECT_TRUE(store_->Put(again).ok());
  }
  // Patterns that stay are found, and one that is replaced is there at every moment.
  void SearchAll(uint32_t round) {
    for (const uint32_t n : {round % kStable, kReplaced}) {
      const auto hits = store_->Search(MakePattern(n).embedding, {.k = 3});
      ASSERT_TRUE(hits.ok()) << hits.status();
      ASSERT_EQ(hits->size(), 3U);
      EXPECT_EQ(hits->front().pattern.id, Id(n));
      EXPECT_NEAR(hits->front().similarity, 1.0, 1e-6);
    }
    const PatternFilter odd = {.bank = 1, .created_before_ms = 1000 + kStable};
    const auto hits = store_->Search(MakePattern(1).embedding, {.k = 100, .filter = odd});
    ASSERT_TRUE(hits.ok()) << hits.status();
    EXPECT_EQ(hits->size(), kStable / 2);
  }
  void ReadAll(uint32_t round) {
    EXPECT_TRUE(store_->Get(Id(kReplaced)).ok());
    ExpectSame(*store_->Get(Id(round % kStable)),
               MakePattern(round % kStable, round % kStable % 2));
    const auto page = store_->List(limits::kMaxListPageSize, "");
    ASSERT_TRUE(page.ok()) << page.status();
    EXPECT_GE(page->patterns.size(), kStable + 1);
    EXPECT_FALSE(*store_->WasDeleted(Id(3)));
    (void)store_->Stats();
  }
};

TEST_F(PatternConcurrencyTest, ReadersNeverMissWhatIsThere) {
  options_.durability = Durability::kProcessCrash;
  Reopen();
  RunBeside(
      [this](uint32_t round) { ComeAndGo(round); },
      {[this](uint32_t round) { SearchAll(round); }, [this](uint32_t round) { ReadAll(round); },
       [this](uint32_t) {
         ASSERT_TRUE(store_->Maintain(Duration(0)).status.ok());
         ASSERT_TRUE(store_->Checkpoint().ok());
       }});
  Maintain();
  const size_t size = store_->size();
  ASSERT_TRUE(store_->Checkpoint().ok());
  Reopen();
  EXPECT_TRUE(store_->Stats().checkpoint.restored);
  EXPECT_EQ(store_->size(), size);
}

TEST_F(PatternConcurrencyTest, WritersListenersAndFollowersGoTogether) {
  std::atomic<uint64_t> heard = 0;
  store_->SetChangeListener([&](uint64_t sequence) {
    uint64_t before = heard;
    while (before < sequence && !heard.compare_exchange_weak(before, sequence)) {
    }
  });
  uint64_t followed = 0;
  size_t seen = 0;
  RunBeside([this](uint32_t round) { ComeAndGo(round); },
            {[this](uint32_t round) { ASSERT_TRUE(store_->RecordUse(Id(round % kStable)).ok()); },
             [this](uint32_t round) {
               const auto tier = static_cast<SharingTier>(1 + round % 4);
               ASSERT_TRUE(store_->SetTier(Id(kReplaced), tier).ok());
             },
             [&](uint32_t) {
               const auto page = store_->Changes(followed, 50);
               ASSERT_TRUE(page.ok()) << page.status();
               followed = page->last_sequence;
               seen += page->changes.size();
             },
             [this](uint32_t) { ASSERT_TRUE(store_->Maintain(Duration(0)).status.ok()); }});
  for (auto page = store_->Changes(followed, 1000); !page->changes.empty();
       page = store_->Changes(followed, 1000)) {
    followed = page->last_sequence;
    seen += page->changes.size();
  }
  EXPECT_EQ(followed, store_->Stats().last_sequence);
  EXPECT_EQ(seen, followed) << "each once";
  EXPECT_EQ(heard, followed);
}

}  // namespace
}  // namespace ruvd::storage
