// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Compares the pattern store with a map, under random changes with maintenance, checkpoints, damage
// to these and reopening in between.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "storage/patterns/pattern_keys.h"
#include "tests/storage/pattern_fixture.h"

namespace ruvd::storage {
namespace {

constexpr uint32_t kIds = 40;
constexpr int kSteps = 500;

class PatternModelTest : public PatternTest, public testing::WithParamInterface<uint64_t> {
 protected:
  void SetUp() override {
    PatternTest::SetUp();
    options_.durability = Durability::kProcessCrash;
    options_.checkpoint_changes = 20;
    Reopen();
  }
  PatternId AnyId() { return Id(static_cast<uint32_t>(random_.Below(kIds))); }

  void PutOne() {
    const auto n = static_cast<uint32_t>(random_.Below(1000));
    Pattern pattern = MakePattern(n, n % 3);
    pattern.id = AnyId();
    pattern.task = "task " + std::to_string(n % 4);
    if (random_.Bernoulli(0.2)) {
      pattern.expires_ms = clock_.WallMillis() + 1 + static_cast<int64_t>(random_.Below(3000));
    }
    ASSERT_TRUE(store_->Put(pattern).ok());
    if (const auto replaced = model_.find(pattern.id); replaced != model_.end()) {
      pattern.uses = std::max(pattern.uses, replaced->second.uses);
    }
    model_[pattern.id] = pattern;
    expired_.erase(pattern.id);
  }
  void DeleteOne() {
    const PatternId id = AnyId();
    const absl::Status deleted = store_->Delete(id);
    if (expired_.erase(id) == 0) {
      EXPECT_EQ(deleted.ok(), model_.erase(id) == 1) << deleted;
    } else {  // it can be deleted until it is removed
      EXPECT_TRUE(deleted.ok() || absl::IsNotFound(deleted)) << deleted;
    }
  }
  void UseOne() {
    const auto row = model_.find(AnyId());
    if (row != model_.end()) {
      ASSERT_TRUE(store_->RecordUse(row->first).ok());
      ++row->second.uses;
    }
  }
  void ShareOne() {
    const auto row = model_.find(AnyId());
    if (row != model_.end()) {
      row->second.tier = static_cast<SharingTier>(1 + random_.Below(4));
      ASSERT_TRUE(store_->SetTier(row->first, row->second.tier).ok());
    }
  }
  void Wait() {
    clock_.Advance(std::chrono::milliseconds(random_.Below(1000)));
    std::erase_if(model_, [this](const auto& row) {
      const bool expired =
          row.second.expires_ms != 0 && row.second.expires_ms <= clock_.WallMillis();
      if (expired) {
        expired_.insert(row.first);
      }
      return expired;
    });
  }
  // Deletes a chunk of a checkpoint, if there is one.
  void DamageCheckpoint() {
    std::vector<std::string> keys;
    ASSERT_TRUE(database_
                    ->Scan(ColumnFamily::kGraph, "", "",
                           [&](const RowView& row) -> absl::StatusOr<bool> {
                             keys.emplace_back(row.key);
                             return true;
                           })
                    .ok());
    if (!keys.empty()) {
      Batch batch;
      batch.Delete(ColumnFamily::kGraph, keys[random_.Below(keys.size())]);
      ASSERT_TRUE(database_->Write(std::move(batch), Durability::kProcessCrash).ok());
    }
  }
  void Step() {
    const uint64_t choice = random_.Below(100);
    if (choice < 45) {
      PutOne();
    } else if (choice < 60) {
      DeleteOne();
    } else if (choice < 68) {
      UseOne();
    } else if (choice < 74) {
      ShareOne();
    } else if (choice < 80) {
      Wait();
    } else if (choice < 90) {
      ASSERT_TRUE(store_->Maintain(Duration(0)).status.ok());
    } else if (choice < 94) {
      ASSERT_TRUE(store_->Checkpoint().ok());
    } else if (choice < 97) {
      Reopen();
    } else if (choice < 98) {
      DamageCheckpoint();
      Reopen();
    } else {
      Maintain();
    }
  }
  void Compare() {
    const auto page = store_->List(kIds, "");
    ASSERT_TRUE(page.ok()) << page.status();
    ASSERT_EQ(page->patterns.size(), model_.size());
    auto expected = model_.begin();
    for (const Pattern& listed : page->patterns) {
      Pattern without_payload = expected->second;
      without_payload.payload.clear();
      ExpectSame(listed, without_payload);
      ++expected;
    }
    const PatternId id = AnyId();
    const auto row = model_.find(id);
    const auto got = store_->Get(id);
    ASSERT_EQ(got.ok(), row != model_.end()) << got.status();
    if (got.ok()) {
      ExpectSame(*got, row->second);
    }
    CompareSearch();
  }
  void CompareSearch() {
    const Pattern like = MakePattern(static_cast<uint32_t>(random_.Below(1000)));
    PatternFilter filter;
    if (random_.Bernoulli(0.5)) {
      filter.bank = static_cast<uint32_t>(random_.Below(3));
    }
    if (random_.Bernoulli(0.3)) {
      filter.task = "task " + std::to_string(random_.Below(5));
    }
    size_t matching = 0;
    for (const auto& [id, pattern] : model_) {
      matching += filter.Admits(pattern) ? 1 : 0;
    }
    const auto hits = store_->Search(like.embedding, {.k = kIds, .filter = filter});
    ASSERT_TRUE(hits.ok()) << hits.status();
    EXPECT_EQ(hits->size(), matching);
    float last = 2;
    for (const PatternHit& hit : *hits) {
      EXPECT_LE(hit.similarity, last);
      last = hit.similarity;
      Pattern expected = model_.at(hit.pattern.id);
      expected.payload.clear();
      ExpectSame(hit.pattern, expected);
    }
  }

  Random random_{GetParam()};
  std::map<PatternId, Pattern> model_;
  std::set<PatternId> expired_;  // and neither deleted nor put again since
};

TEST_P(PatternModelTest, AgreesUnderRandomChanges) {
  for (int step = 0; step < kSteps && !HasFailure(); ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    Step();
    if (step % 5 == 0) {
      Compare();
    }
  }
  Reopen();
  Compare();
}

INSTANTIATE_TEST_SUITE_P(Seeds, PatternModelTest, testing::Range<uint64_t>(1, 7));

}  // namespace
}  // namespace ruvd::storage
