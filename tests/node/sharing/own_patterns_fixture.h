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
#include "federation/daf/update_payload.h"
#include "inference/adapter/bank.h"
#include "node/serving/pattern_payload.h"
#include "node/sharing/own_patterns.h"
#include "tests/federation/fixture.h"
#include "tests/node/database_fixture.h"

namespace ruvd {

inline constexpr uint32_t kOwnDimension = 4;
inline constexpr uint32_t kOwnRank = 2;
inline constexpr PatternId kOwnFirst{1};
inline constexpr PatternId kOwnSecond{2};

// What a node offers of its own patterns, with the store and the gossip core of one.
class OwnPatternsTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    frame_.id.fill(0x22);  // as that of test::ConfigFor
    frame_.target = test::kTarget;
    frame_.rank = kOwnRank;
    patterns_ = PatternStore::Open(*database_, {.dimension = kOwnDimension}).value();
    Start();
  }
  // As a node starts: with an own state of gossip, and items that it stored before.
  void Start(std::vector<Item> stored = {}) {
    GossipConfig config = test::ConfigFor(key_, 1);
    config.boot_counter = ++boot_;
    config.update_rules = {.rank_of_target = {{test::kTarget, kOwnRank}}, .banks = 4};
    config.pattern_rules = {.dimension = kOwnDimension, .cores = config.update_rules};
    core_ = GossipCore::Create(config, key_, test::EntropyOf(boot_), boot_, now_).value();
    SetTier(tier_);
    own_ =
        std::make_unique<OwnPatterns>(*patterns_, Layout(), key_.id(), book_.get(), 1, &releases());
    removed_ = own_->RemoveTakenBack(&stored, tier_, now_);
    core_->Restore(std::move(stored), now_);
    ASSERT_TRUE(own_->RefreshAll(*core_, now_).ok());
    if (own_->delta_changed()) {
      OfferDelta();
    }
  }
  UpdateLayout Layout() const {
    return {.frame = &frame_, .model_hash = test::ConfigFor(key_, 1).model_hash};
  }
  ReleaseSourceStore& releases() {
    if (releases_ == nullptr) {
      releases_ = std::make_unique<ReleaseSourceStore>(*database_);
    }
    return *releases_;
  }
  void SetTier(ConsentTier tier) {
    tier_ = tier;
    ASSERT_TRUE(core_->SetConsent(ConsentRecord::Sign(tier, now_.wall_ms, key_), now_).ok());
  }
  virtual void OfferDelta() { ASSERT_TRUE(own_->OfferDelta(++round_, *core_, now_).ok()); }
  void Follow() { ASSERT_TRUE(own_->FollowChanges(*core_, now_).ok()); }
  void Put(const PatternId& id, float core, bool withheld = false) {
    PutPayload(id, {.core = std::vector<float>(kOwnRank * kOwnRank, core),
                    .frame_id = frame_.id,
                    .withheld = withheld,
                    .contributors = contributors_});
  }
  void PutPayload(const PatternId& id, const PatternPayload& payload) {
    ASSERT_TRUE(patterns_
                    ->Put({.id = id,
                           .embedding = {1, 0, 0, 0},
                           .bank = static_cast<uint32_t>(BankOf(1)),
                           .examples = 1,
                           .origin = key_.id(),
                           .created_ms = 1,
                           .updated_ms = ++updated_,
                           .payload = EncodePatternPayload(payload)})
                    .ok());
  }
  std::vector<PatternId> Offered() const {
    std::vector<PatternId> ids;
    for (const Item& item : core_->Items()) {
      if (item.kind == ItemKind::kPattern) {
        ids.push_back(DecodeSharedPattern(AsBytes(*item.payload))->id);
      }
    }
    return ids;
  }
  // The values of the offered updates, the first of each.
  std::vector<float> Deltas() const {
    std::vector<float> values;
    for (const Item& item : core_->Items()) {
      if (item.kind == ItemKind::kAdapterDelta) {
        values.push_back(DecodeAdapterUpdate(AsBytes(*item.payload))->banks[0].values[0]);
      }
    }
    return values;
  }

  const NodeKey key_ = NodeKey::FromSeed(test::SeedOf(1));
  Instant now_ = test::At(std::chrono::seconds(1));
  ConsentTier tier_ = ConsentTier::kPublic;
  std::unique_ptr<ConsentBook> book_;      // null: patterns are nobody's
  std::vector<Contributor> contributors_;  // of the patterns that are put
  Frame frame_;
  uint64_t boot_ = 0;
  uint64_t round_ = 0;
  int64_t updated_ = 1;
  std::unique_ptr<PatternStore> patterns_;
  std::unique_ptr<ReleaseSourceStore> releases_;
  std::unique_ptr<GossipCore> core_;
  std::unique_ptr<OwnPatterns> own_;
  std::vector<Item> removed_;
};

}  // namespace ruvd
