// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "node/sharing/dp_centroids.h"
#include "node/sharing/own_patterns.h"
#include "node/sharing/peer_patterns.h"
#include "tests/federation/fixture.h"
#include "tests/node/consent_fixture.h"
#include "tests/node/database_fixture.h"

namespace ruvd::sharing {

struct CentroidTestTerms {
  bool enabled = true;
  double epsilon = 8;
  double lesson_epsilon = 20;
  std::string scope = "lab";
};

// Alice's lessons lie along one direction of 64, Bob's lessons along another.
class DpCentroidsTest : public DatabaseTest {
 protected:
  static constexpr uint32_t kCentroidDimension = 64;
  static constexpr uint32_t kLeast = 20;
  static constexpr char kCentroidPolicy[] =
      "version = 1\n[scope.lab]\ntiers = [\"dp\"]\npurposes = [\"training\", \"sharing\"]\n"
      "[scope.ward]\ntiers = [\"masked\"]\npurposes = [\"training\", \"sharing\"]\n";

  void SetUp() override {
    clock_.StepWall(test::kWallStart + 1000 - clock_.WallMillis());
    DatabaseTest::SetUp();
    store_ = std::make_unique<storage::UserConsentStore>(*database_);
    book_ = storage::ConsentBook::Open(*store_, key_).value();
    Say("alice", privacy::consent_purposes::kAll);
    Say("bob", privacy::consent_purposes::kAll);
    Teach("alice", 0, 100);
    patterns_ = storage::PatternStore::Open(*database_, {.dimension = kCentroidDimension}).value();
    sources_ = std::make_unique<storage::ReleaseSourceStore>(*database_);
    frame_.id.fill(0x22);  // equal to that of test::ConfigFor
    frame_.target = test::kTarget;
    frame_.rank = 2;
    Open({});
    Start({});
  }
  void Say(const std::string& user, uint8_t purposes) {
    SayUnderDp(*book_, user, purposes, clock_.WallMillis());
  }
  void Teach(const std::string& user, size_t axis, size_t count) {
    std::vector<float> embedding(kCentroidDimension);
    embedding[axis] = 1;
    lessons_.embeddings.insert(lessons_.embeddings.end(), count, embedding);
    lessons_.contributors.push_back(book_->ContributorOf({.user_id = user}));
  }
  // Opens the parts as a node that starts does.
  void Open(const CentroidTestTerms& terms) {
    centroids_.reset();
    ledger_.reset();
    DpCentroidsOptions options{.enabled = terms.enabled,
                               .policy = privacy::SitePolicy::Parse(kCentroidPolicy).value(),
                               .scope = terms.scope,
                               .epsilon = terms.epsilon,
                               .examples = kLeast,
                               .interval = kEvery,
                               .dimension = kCentroidDimension,
                               .space = Sha256("a model"),
                               .self = key_.id(),
                               .lessons =
                                   [this](int64_t) {
                                     ++asked_;
                                     return absl::StatusOr<learning::CentroidLessons>(lessons_);
                                   },
                               .random = test::EntropyOf(1),
                               .clock = &clock_};
    options.budget_epsilon = terms.lesson_epsilon;
    const privacy::UnitBudget lessons =
        privacy::UnitBudget::Within(privacy::PrivacyUnit::kLesson, terms.lesson_epsilon,
                                    options.delta)
            .value();
    ledger_ =
        storage::PrivacyLedgerStore::Open(
            *database_,
            {.budgets = {lessons}, .key = &key_, .counter_file = (folder_ / "counter").string()})
            .value();
    options.ledger = ledger_.get();
    centroids_ = DpCentroids::Create(options);
  }
  // Starts the part that offers, with the items that it stored before.
  void Start(std::vector<federation::Item> stored) {
    federation::GossipConfig config = test::ConfigFor(key_, 1);
    config.boot_counter = ++boot_;
    config.pattern_rules = {.dimension = kCentroidDimension,
                            .cores = {.rank_of_target = {{test::kTarget, 2}}, .banks = 4}};
    core_ =
        federation::GossipCore::Create(config, key_, test::EntropyOf(boot_), boot_, Now()).value();
    SetTier(tier_);
    own_ = std::make_unique<OwnPatterns>(*patterns_, frame_, key_.id(), book_.get(), 1,
                                         sources_.get());
    removed_ = own_->RemoveWithdrawn(&stored, tier_, Now());
    core_->Restore(std::move(stored), Now());
    ASSERT_TRUE(own_->RefreshAll(*core_, Now()).ok());
  }
  // Starts a peer that stores what this node offers.
  void StartPeer() {
    peer_ = std::make_unique<PeerPatterns>(*patterns_, frame_, test::SeedOf(9),
                                           PatternGate{.quality = 0.25F, .examples = 10});
  }
  void SetTier(privacy::ConsentTier tier) {
    tier_ = tier;
    ASSERT_TRUE(
        core_->SetConsent(privacy::ConsentRecord::Sign(tier, clock_.WallMillis(), key_), Now())
            .ok());
  }
  federation::Actions Offer() { return own_->OfferCentroids(*centroids_, *core_, Now()).value(); }
  void Wait(Duration time) { clock_.Advance(time); }
  federation::Instant Now() const { return federation::Instant::Of(clock_); }
  std::vector<federation::Item> PatternItems() const {
    std::vector<federation::Item> items;
    for (const federation::Item& item : core_->Items()) {
      if (item.kind == federation::ItemKind::kPattern) {
        items.push_back(item);
      }
    }
    return items;
  }
  std::vector<federation::SharedPattern> Offered() const {
    std::vector<federation::SharedPattern> patterns;
    for (const federation::Item& item : PatternItems()) {
      patterns.push_back(federation::DecodeSharedPattern(AsBytes(*item.payload)).value());
    }
    return patterns;
  }
  storage::LedgerTotals Spent() const { return ledger_->totals(privacy::PrivacyUnit::kLesson); }
  double SpentEpsilon() const {
    return ledger_->LargestEpsilon(privacy::PrivacyUnit::kLesson, 1e-6).value();
  }

  static constexpr Duration kEvery = std::chrono::hours(24);
  const privacy::NodeKey key_ = privacy::NodeKey::FromSeed(test::SeedOf(1));
  privacy::ConsentTier tier_ = privacy::ConsentTier::kDp;
  learning::CentroidLessons lessons_;
  int asked_ = 0;
  uint64_t boot_ = 0;
  inference::ProjectionFrame frame_;
  std::unique_ptr<storage::UserConsentStore> store_;
  std::unique_ptr<storage::ConsentBook> book_;
  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<storage::ReleaseSourceStore> sources_;
  std::unique_ptr<storage::PrivacyLedgerStore> ledger_;
  std::unique_ptr<DpCentroids> centroids_;
  std::unique_ptr<federation::GossipCore> core_;
  std::unique_ptr<OwnPatterns> own_;
  std::unique_ptr<PeerPatterns> peer_;
  std::vector<federation::Item> removed_;
};

}  // namespace ruvd::sharing
