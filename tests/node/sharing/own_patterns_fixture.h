// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "inference/adapter/bank.h"
#include "node/serving/pattern_payload.h"
#include "node/sharing/own_patterns.h"
#include "tests/federation/fixture.h"
#include "tests/node/database_fixture.h"

namespace ruvd::sharing {

inline constexpr uint32_t kOwnDimension = 4;
inline constexpr uint32_t kOwnRank = 2;
inline constexpr storage::PatternId kOwnFirst{1};
inline constexpr storage::PatternId kOwnSecond{2};

// Tests what a node offers of its own patterns, with its store and its gossip core.
class OwnPatternsTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    frame_.id.fill(0x22);  // equal to that of test::ConfigFor
    patterns_ = storage::PatternStore::Open(*database_, {.dimension = kOwnDimension}).value();
    Start();
  }
  // Starts like a node, with gossip state of its own and items that it stored before.
  void Start(std::vector<federation::Item> stored = {}) {
    federation::GossipConfig config = test::ConfigFor(key_, 1);
    config.boot_counter = ++boot_;
    config.plan = plan_;
    config.pattern_rules = {.dimension = kOwnDimension,
                            .cores = {.rank_of_target = {{test::kTarget, kOwnRank}}, .banks = 4}};
    core_ =
        federation::GossipCore::Create(config, key_, test::EntropyOf(boot_), boot_, now_).value();
    SetTier(tier_);
    own_ =
        std::make_unique<OwnPatterns>(*patterns_, &frame_, key_.id(), book_.get(), 1, &releases());
    removed_ = own_->RemoveWithdrawn(&stored, tier_, now_);
    core_->Restore(std::move(stored), now_);
    ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
  }
  storage::ReleaseSourceStore& releases() {
    if (releases_ == nullptr) {
      releases_ = std::make_unique<storage::ReleaseSourceStore>(*database_);
    }
    return *releases_;
  }
  void SetTier(privacy::ConsentTier tier) {
    tier_ = tier;
    ASSERT_TRUE(
        core_->SetConsent(privacy::ConsentRecord::Sign(tier, now_.wall_ms, key_), now_).ok());
  }
  void Follow() { ASSERT_TRUE(own_->FollowChanges(*core_, now_).ok()); }
  void Put(const storage::PatternId& id, float core, bool withheld = false) {
    PutPayload(id, {.cores = Cores(core),
                    .withheld = withheld,
                    .contributors = contributors_,
                    .shareable = true});
  }
  inference::CoreSet Cores(float value) const {
    return {
        .frame_id = frame_.id,
        .cores = {{test::kTarget,
                   {.rank = kOwnRank, .values = std::vector<float>(kOwnRank * kOwnRank, value)}}}};
  }
  void PutPayload(const storage::PatternId& id, const serving::PatternPayload& payload) {
    ASSERT_TRUE(patterns_
                    ->Put({.id = id,
                           .embedding = {1, 0, 0, 0},
                           .bank = static_cast<uint32_t>(inference::BankOf(1)),
                           .examples = 1,
                           .origin = key_.id(),
                           .created_ms = 1,
                           .updated_ms = ++updated_,
                           .payload = serving::EncodePatternPayload(payload)})
                    .ok());
  }
  std::vector<storage::PatternId> Offered() const {
    std::vector<storage::PatternId> ids;
    for (const federation::Item& item : core_->Items()) {
      if (item.kind == federation::ItemKind::kPattern) {
        ids.push_back(federation::DecodeSharedPattern(AsBytes(*item.payload))->id);
      }
    }
    return ids;
  }
  const privacy::NodeKey key_ = privacy::NodeKey::FromSeed(test::SeedOf(1));
  federation::Instant now_ = test::At(std::chrono::seconds(1));
  privacy::ConsentTier tier_ = privacy::ConsentTier::kPublic;
  std::unique_ptr<storage::ConsentBook> book_;      // null: patterns have no contributors
  std::vector<privacy::Contributor> contributors_;  // of the patterns that are put
  inference::FrameSet frame_;                       // its factors play no part here
  uint64_t boot_ = 0;
  int64_t updated_ = 1;
  std::shared_ptr<const federation::LearnerPlan> plan_;  // null: contributions cannot be offered
  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<storage::ReleaseSourceStore> releases_;
  std::unique_ptr<federation::GossipCore> core_;
  std::unique_ptr<OwnPatterns> own_;
  std::vector<federation::Item> removed_;
};

}  // namespace ruvd::sharing
