// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/pattern_upsert.h"

#include <google/protobuf/util/time_util.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "node/serving/pattern_payload.h"
#include "node/sharing/shared_items.h"
#include "ruvd/privacy/v1/privacy.pb.h"
#include "storage/patterns/pattern_keys.h"
#include "tests/inference/text_model.h"
#include "tests/node/database_fixture.h"
#include "tests/node/node_fixture.h"

namespace ruvd::api {
namespace {

constexpr uint32_t kUpsertDimension = 4;
constexpr storage::PatternId kUpsertId{1, 2, 3};

google::protobuf::Timestamp At(int64_t millis) {
  return google::protobuf::util::TimeUtil::MillisecondsToTimestamp(millis);
}

class PatternUpsertTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    model_ = inference::Model::Load(kSmallModel).value();
    frame_ =
        RandomFrameSet(*model_, LinearTargets(*model_, inference::Modules::kQv, 1), 2, 1).value();
    patterns_ = storage::PatternStore::Open(*database_, {.dimension = kUpsertDimension}).value();
    upsert_ = std::make_unique<PatternUpsert>(PatternUpsert::Options{
        .clock = &clock_, .model = model_.get(), .patterns = patterns_.get(), .frame = &frame_});
  }
  inference::CoreSet Cores() const {
    inference::CoreSet cores{.frame_id = frame_.id, .model_hash = frame_.model_hash, .cores = {}};
    for (const auto& [target, module] : frame_.modules) {
      cores.cores[target] = {.rank = 2, .values = {1, 2, 3, 4}};
    }
    return cores;
  }
  std::shared_ptr<const inference::Adapter> Learned() const {
    return AdapterFromCores(frame_, Cores(), "anything", 3, 1.0F).value();
  }
  // Returns the bytes of the adapter as a client sends them.
  std::string Adapter() const { return inference::EncodeAdapter(*Learned()); }
  // Stores a pattern that the node learned, with what it may share.
  void StoreLearned() { Store({.cores = Cores(), .shareable = true}); }
  void Store(const serving::PatternPayload& payload) {
    ASSERT_TRUE(patterns_
                    ->Put({.id = kUpsertId,
                           .embedding = {1, 2, 3, 4},
                           .task = "walks",
                           .quality = 0.5F,
                           .examples = 3,
                           .created_ms = 1,
                           .adapter_name = "learned",
                           .adapter_version = 7,
                           .payload = serving::EncodePatternPayload(payload)})
                    .ok());
  }
  // Returns the stored pattern as a client sends it again.
  pattern::v1::UpsertPatternRequest Again() {
    const storage::Pattern stored = *patterns_->Get(kUpsertId);
    pattern::v1::UpsertPatternRequest request;
    auto& pattern = *request.mutable_pattern();
    pattern.set_id(ToHex(kUpsertId));
    pattern.mutable_embedding()->mutable_values()->Add(stored.embedding.begin(),
                                                       stored.embedding.end());
    pattern.set_task(stored.task);
    pattern.set_quality(stored.quality);
    pattern.set_examples(stored.examples);
    return request;
  }
  absl::Status Upsert(const pattern::v1::UpsertPatternRequest& request) {
    pattern::v1::UpsertPatternResponse response;
    return upsert_->Run(request, Adapter(), &response);
  }
  bool Shareable() { return sharing::ShareablePattern(*patterns_->Get(kUpsertId), &frame_).ok(); }

  std::shared_ptr<const inference::Model> model_;
  inference::FrameSet frame_;
  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<PatternUpsert> upsert_;
};

TEST_F(PatternUpsertTest, WhatAClientChangesIsNotSharedAsLearned) {
  StoreLearned();
  ASSERT_TRUE(Shareable());
  auto request = Again();
  *request.mutable_pattern()->mutable_expire_time() = At(clock_.WallMillis() + 1000);
  ASSERT_TRUE(Upsert(request).ok());
  EXPECT_TRUE(Shareable()) << "peers get the same";
  request.mutable_pattern()->set_examples(4'000'000'000);
  ASSERT_TRUE(Upsert(request).ok());
  EXPECT_FALSE(Shareable());
  EXPECT_EQ(patterns_->Get(kUpsertId)->adapter_name, "learned") << "the adapter is the same";
  EXPECT_EQ(patterns_->Get(kUpsertId)->adapter_version, 7U);
}

TEST_F(PatternUpsertTest, APatternThatAClientMadePrivateIsNotShared) {
  StoreLearned();
  auto request = Again();
  request.mutable_pattern()->set_tier(privacy::v1::SHARING_TIER_PRIVATE);
  ASSERT_TRUE(Upsert(request).ok());
  EXPECT_FALSE(Shareable());
  request.mutable_pattern()->clear_tier();
  *request.mutable_pattern()->mutable_expire_time() = At(clock_.WallMillis() + 1000);
  ASSERT_TRUE(Upsert(request).ok());
  EXPECT_FALSE(Shareable()) << "who names no tier changes nothing of it";
  request.mutable_pattern()->set_tier(privacy::v1::SHARING_TIER_PUBLIC);
  ASSERT_TRUE(Upsert(request).ok());
  EXPECT_TRUE(Shareable());
}

// Regression test: "private" was shown for a pattern that continued to be shared.
TEST_F(PatternUpsertTest, WhoNamesNoTierLeavesItAsItWas) {
  StoreLearned();
  ASSERT_TRUE(patterns_->SetTier(kUpsertId, storage::SharingTier::kPublic).ok());
  auto request = Again();
  *request.mutable_pattern()->mutable_expire_time() = At(clock_.WallMillis() + 1000);
  ASSERT_TRUE(Upsert(request).ok());
  EXPECT_EQ(patterns_->Get(kUpsertId)->tier, storage::SharingTier::kPublic);
  EXPECT_TRUE(Shareable());
}

// Regression test: no client could repair a pattern whose rows cannot be read. Importing an earlier
// export is the natural way.
TEST_F(PatternUpsertTest, ADamagedPatternIsReplacedWhateverItsTime) {
  constexpr uint32_t kOtherGeneration = 99;  // the row has another one, so it does not open
  for (const storage::ColumnFamily family :
       {storage::ColumnFamily::kPayload, storage::ColumnFamily::kMeta}) {
    StoreLearned();
    auto request = Again();
    *request.mutable_pattern()->mutable_update_time() = At(1);
    request.set_only_if_newer(true);
    storage::Batch damage;
    damage.Put(family, storage::patterns::IdKey(patterns_->collection(), kUpsertId), "damage",
               kOtherGeneration);
    ASSERT_TRUE(database_->Write(std::move(damage), storage::Durability::kProcessCrash).ok());
    ASSERT_TRUE(absl::IsDataLoss(patterns_->Get(kUpsertId).status()));
    pattern::v1::UpsertPatternResponse response;
    ASSERT_TRUE(upsert_->Run(request, Adapter(), &response).ok());
    EXPECT_EQ(response.outcome(), pattern::v1::UpsertPatternResponse::OUTCOME_REPLACED);
    ASSERT_TRUE(patterns_->Get(kUpsertId).ok());
    EXPECT_EQ(patterns_->Get(kUpsertId)->task, "walks");
    EXPECT_FALSE(Shareable());
  }
}

TEST_F(PatternUpsertTest, AStoredAdapterThatDoesNotDecodeIsReplaced) {
  Store({.adapter = "no adapter"});
  ASSERT_TRUE(Upsert(Again()).ok());
  const storage::Pattern stored = *patterns_->Get(kUpsertId);
  EXPECT_EQ(stored.adapter_name,
            serving::PatternAdapterName(kUpsertId, inference::AdapterId(*Learned())));
  EXPECT_EQ(stored.adapter_version, 1U);
}

TEST_F(PatternUpsertTest, AReplacementKeepsTheTimeOfTheLastUse) {
  StoreLearned();
  ASSERT_TRUE(patterns_->RecordUse(kUpsertId).ok());
  const int64_t used_ms = patterns_->Get(kUpsertId)->last_used_ms;
  EXPECT_GT(used_ms, 0);
  auto request = Again();
  request.mutable_pattern()->set_task("runs");
  ASSERT_TRUE(Upsert(request).ok());
  EXPECT_EQ(patterns_->Get(kUpsertId)->last_used_ms, used_ms);
  EXPECT_EQ(patterns_->Get(kUpsertId)->uses, 1U);
}

}  // namespace
}  // namespace ruvd::api
