// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Noised centroids are charged first, reveal only where groups lie, and are withdrawn as a whole.

#include "node/sharing/dp_centroids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "inference/adapter/bank.h"
#include "node/serving/pattern_payload.h"
#include "node/serving/store_pattern_index.h"
#include "node/sharing/own_patterns.h"
#include "node/sharing/peer_patterns.h"
#include "node/sharing/release_preview.h"
#include "privacy/reasons.h"
#include "ruvd/admin/v1/admin.pb.h"
#include "tests/federation/fixture.h"
#include "tests/node/consent_fixture.h"
#include "tests/node/database_fixture.h"

namespace ruvd::sharing {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr uint32_t kCentroidDimension = 64;
constexpr uint32_t kLeast = 20;
constexpr char kCentroidPolicy[] =
    "version = 1\n[scope.lab]\ntiers = [\"dp\"]\npurposes = [\"training\", \"sharing\"]\n"
    "[scope.ward]\ntiers = [\"masked\"]\npurposes = [\"training\", \"sharing\"]\n";

struct CentroidTestTerms {
  bool enabled = true;
  double epsilon = 8;
  double example_epsilon = 20;
  std::string scope = "lab";
};

// Alice's lessons lie along one direction of 64, Bob's lessons along another.
class DpCentroidsTest : public DatabaseTest {
 protected:
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
    options.budget = privacy::PrivacyBudget::Within(privacy::PrivacyUnit::kExample,
                                                    terms.example_epsilon, options.delta)
                         .value();
    const privacy::PrivacyBudget nodes =
        privacy::PrivacyBudget::Within(privacy::PrivacyUnit::kNode, 100, options.delta).value();
    ledger_ = storage::PrivacyLedgerStore::Open(*database_,
                                                {.budgets = {options.budget, nodes},
                                                 .key = &key_,
                                                 .counter_file = (folder_ / "counter").string()})
                  .value();
    options.ledger = ledger_.get();
    centroids_ = DpCentroids::Create(options);
  }
  // Starts the part that offers, with the items that it stored before.
  void Start(std::vector<federation::Item> stored) {
    federation::GossipConfig config = test::ConfigFor(key_, 1);
    config.boot_counter = ++boot_;
    config.update_rules = {.rank_of_target = {{test::kTarget, 2}}, .banks = 4};
    config.pattern_rules = {.dimension = kCentroidDimension, .cores = config.update_rules};
    core_ =
        federation::GossipCore::Create(config, key_, test::EntropyOf(boot_), boot_, Now()).value();
    SetTier(tier_);
    own_ = std::make_unique<OwnPatterns>(
        *patterns_,
        UpdateLayout{.frame = &frame_, .model_hash = test::ConfigFor(key_, 1).model_hash},
        key_.id(), book_.get(), 1, sources_.get());
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
  storage::LedgerTotals Spent() const { return ledger_->totals(privacy::PrivacyUnit::kExample); }

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

TEST_F(DpCentroidsTest, AReleaseIsChargedOnceAndNotedAsSent) {
  Offer();
  ASSERT_EQ(Offered().size(), 1u);
  EXPECT_GT(Offered()[0].centroid[0], 0.9);
  EXPECT_EQ(Spent().reservations, 1u);
  EXPECT_EQ(Spent().unreleased, 0u);
  EXPECT_EQ(ledger_->totals(privacy::PrivacyUnit::kNode).reservations, 0u);
  const admin::v1::CentroidStatus view = centroids_->View();
  EXPECT_NEAR(view.spent_epsilon(), view.epsilon(), 1e-6);
  EXPECT_LE(view.epsilon(), 8);
  EXPECT_GT(view.epsilon(), 7);
  EXPECT_GE(view.predicted_snr(), 1);
  EXPECT_EQ(view.releases(), 1u);
  EXPECT_TRUE(view.refusal().empty());
  EXPECT_EQ(view.payload_bytes(), PatternItems()[0].payload->size());
}

// Every field that leaves is a constant, the time of the release, a cell's name, or noised.
TEST_F(DpCentroidsTest, NothingButTheDirectionDependsOnTheLessons) {
  Offer();
  ASSERT_EQ(Offered().size(), 1u);
  federation::SharedPattern one = Offered()[0];
  EXPECT_TRUE(one.cores.empty());
  EXPECT_EQ(one.examples, kLeast) << "how many there were is not noised";
  EXPECT_EQ(one.created_ms, clock_.WallMillis());
  EXPECT_TRUE(IsNoised(one));
  const federation::SharedPattern other =
      NoisedPatternOf({.cell = 3, .direction = one.centroid}, key_.id(), kLeast, one.created_ms);
  EXPECT_NE(other.id, one.id);
  one.id = other.id;
  EXPECT_EQ(one, other);
}

TEST_F(DpCentroidsTest, NoRawEmbeddingLeavesTheNode) {
  lessons_ = {};
  Random random(4);
  std::vector<float> middle(kCentroidDimension);
  middle[5] = 1;
  for (int i = 0; i < 100; ++i) {
    std::vector<float> lesson = middle;
    std::ranges::for_each(
        lesson, [&random](float& v) { v += 0.05F * static_cast<float>(random.Normal()); });
    lessons_.embeddings.push_back(lesson);
  }
  lessons_.contributors = {book_->ContributorOf({.user_id = "alice"})};
  const federation::Actions actions = Offer();
  ASSERT_THAT(Offered(), Not(IsEmpty()));
  for (const federation::Item& item : core_->Items()) {
    for (const std::vector<float>& lesson : lessons_.embeddings) {
      for (size_t i = 0; i + 1 < lesson.size(); ++i) {  // not even two of its values
        const std::string_view pair(reinterpret_cast<const char*>(&lesson[i]), 2 * sizeof(float));
        EXPECT_EQ(item.payload->find(pair), std::string::npos);
      }
    }
  }
}

TEST_F(DpCentroidsTest, IsOffUntilTheOperatorAsksForIt) {
  Open({.enabled = false});
  Offer();
  EXPECT_THAT(Offered(), IsEmpty());
  EXPECT_FALSE(centroids_->Check().ok());
  EXPECT_EQ(asked_, 0) << "nobody looked at the lessons";
  EXPECT_FALSE(DpCentroidsOptions().enabled);
}

TEST_F(DpCentroidsTest, UnderOtherTiersNothingIsCharged) {
  for (const privacy::ConsentTier tier :
       {privacy::ConsentTier::kPrivate, privacy::ConsentTier::kMasked}) {
    SetTier(tier);
    Offer();
    EXPECT_THAT(Offered(), IsEmpty());
  }
  EXPECT_EQ(Spent().reservations, 0u);
}

TEST_F(DpCentroidsTest, MoreNoiseThanSignalIsRefusedWithTheFigureAndCostsNothing) {
  Open({.epsilon = 1});
  Offer();
  EXPECT_THAT(Offered(), IsEmpty());
  const admin::v1::CentroidStatus refused = centroids_->View();
  EXPECT_EQ(refused.refusal_reason(), reasons::kSignalTooWeak);
  EXPECT_THAT(refused.refusal(), HasSubstr("predicted signal of a centroid of 20 examples is 0."));
  EXPECT_THAT(refused.refusal(), HasSubstr("privacy.centroid_epsilon"));
  EXPECT_EQ(asked_, 0) << "nobody looked at the lessons";
  EXPECT_EQ(Spent().reservations, 0u);
}

TEST_F(DpCentroidsTest, FewerLessonsThanOneCentroidNeedsWaitWithoutACharge) {
  lessons_.embeddings.resize(kLeast - 1);
  Offer();
  EXPECT_EQ(centroids_->View().refusal_reason(), reasons::kSignalTooWeak);
  EXPECT_EQ(Spent().reservations, 0u);
  Teach("alice", 0, 100);
  Offer();
  EXPECT_EQ(Spent().reservations, 0u) << "not tried again at once";
  Wait(std::chrono::hours(1));
  Offer();
  EXPECT_EQ(Offered().size(), 1u);
}

TEST_F(DpCentroidsTest, ThePolicyAndTheBudgetDecide) {
  Open({.scope = "garden"});
  EXPECT_EQ(ReasonOf(centroids_->Check()), reasons::kScopeUnknown);
  Open({.scope = "ward"});
  EXPECT_EQ(ReasonOf(centroids_->Check()), reasons::kPolicyRefuses);
  Open({.example_epsilon = 0});
  EXPECT_EQ(ReasonOf(centroids_->Check()), reasons::kPrivacyBudgetSpent);
  EXPECT_EQ(Spent().reservations, 0u);
}

// A lesson is also in the updates of its node.
TEST_F(DpCentroidsTest, WhatNoisedUpdatesCostCountsForEachLesson) {
  Open({.example_epsilon = 9});
  ASSERT_TRUE(centroids_->Check().ok());
  const privacy::LedgerCharge update{.unit = privacy::PrivacyUnit::kNode,
                                     .mechanism = privacy::PrivacyMechanism::kDiscreteGaussian,
                                     .sigma = 2,
                                     .epsilon = 3,
                                     .delta = 1e-6,
                                     .rho_q32 = uint64_t{1} << 31};
  ASSERT_TRUE(ledger_->Reserve(update).ok());
  EXPECT_EQ(ReasonOf(centroids_->Check()), reasons::kPrivacyBudgetSpent);
}

TEST_F(DpCentroidsTest, ARestartNeitherChargesNorReleasesAgain) {
  Offer();
  ASSERT_EQ(Offered().size(), 1u);
  const std::vector<federation::SharedPattern> before = Offered();
  const storage::LedgerTotals spent = Spent();
  for (int i = 0; i < 3; ++i) {
    Open({});
    Start(PatternItems());
    EXPECT_THAT(removed_, IsEmpty());
    Offer();
    Wait(std::chrono::hours(2));
    Offer();
    EXPECT_EQ(Offered(), before);
    EXPECT_EQ(Spent().reservations, 1u);
    EXPECT_EQ(Spent().rho_q32, spent.rho_q32);
  }
}

TEST_F(DpCentroidsTest, EachReleaseReplacesTheLastAndWaitsTwiceAsLong) {
  Offer();
  const federation::SharedPattern first = Offered().at(0);
  Wait(kEvery - std::chrono::seconds(1));
  Offer();
  EXPECT_EQ(Spent().reservations, 1u);
  Wait(std::chrono::seconds(1));
  lessons_ = {};  // alice's lessons are gone
  Teach("bob", 7, 200);
  Offer();
  EXPECT_EQ(Spent().reservations, 2u);
  for (const federation::SharedPattern& pattern : Offered()) {
    EXPECT_GT(pattern.centroid[7], 0.9);
    EXPECT_GT(pattern.created_ms, first.created_ms);
  }
  ASSERT_THAT(Offered(), Not(IsEmpty()));
  Open({});
  Wait(kEvery);
  Offer();
  EXPECT_EQ(Spent().reservations, 2u);
  Wait(kEvery);
  Offer();
  EXPECT_EQ(Spent().reservations, 3u);
}

TEST_F(DpCentroidsTest, WhoWithdrawsTakesTheWholeReleaseBack) {
  Teach("bob", 7, 200);
  Offer();
  ASSERT_GE(Offered().size(), 2u);
  Say("bob", 0);
  const federation::Actions actions = own_->RefreshAll(*core_, Now()).value();
  EXPECT_THAT(Offered(), IsEmpty()) << "which of them was bob's is nobody's business";
  EXPECT_TRUE(std::ranges::any_of(actions, [](const federation::Action& action) {
    return std::holds_alternative<federation::ItemWithdrawn>(action);
  }));
  EXPECT_EQ(Spent().reservations, 1u) << "nothing is given back";
}

TEST_F(DpCentroidsTest, AWithdrawalHoldsOverARestart) {
  Offer();
  const std::vector<federation::Item> stored = PatternItems();
  Say("alice", 0);
  Start(stored);
  EXPECT_EQ(removed_.size(), 1u);
  EXPECT_THAT(Offered(), IsEmpty());
}

TEST_F(DpCentroidsTest, WithoutConsentAtTheReleaseNothingIsPaid) {
  Say("alice", 0);  // after her lessons were gathered
  Offer();
  EXPECT_EQ(centroids_->View().refusal_reason(), reasons::kConsentMissing);
  EXPECT_EQ(Spent().reservations, 0u);
}

TEST_F(DpCentroidsTest, AnotherTierTakesCentroidsBack) {
  Offer();
  ASSERT_THAT(Offered(), Not(IsEmpty()));
  SetTier(privacy::ConsentTier::kPrivate);
  EXPECT_THAT(Offered(), IsEmpty());
}

// Renewing the consent for an equal tier is no reason to withdraw them.
TEST_F(DpCentroidsTest, ARenewedConsentKeepsThem) {
  Offer();
  SetTier(privacy::ConsentTier::kDp);
  ASSERT_TRUE(own_->RefreshAll(*core_, Now()).ok());
  EXPECT_EQ(Offered().size(), 1u);
}

TEST_F(DpCentroidsTest, StoredPatternsStillDoNotLeave) {
  std::vector<float> embedding(kCentroidDimension);
  embedding[9] = 1;
  const serving::PatternPayload payload{.core = std::vector<float>(4, 0.5F),
                                        .frame_id = frame_.id,
                                        .contributors = lessons_.contributors};
  ASSERT_TRUE(patterns_
                  ->Put({.id = storage::PatternId{1},
                         .embedding = embedding,
                         .bank = static_cast<uint32_t>(inference::BankOf(1)),
                         .examples = 500,
                         .origin = key_.id(),
                         .created_ms = 1,
                         .updated_ms = 2,
                         .payload = serving::EncodePatternPayload(payload)})
                  .ok());
  ASSERT_TRUE(own_->FollowChanges(*core_, Now()).ok());
  Offer();
  ASSERT_EQ(Offered().size(), 1u);
  EXPECT_NE(Offered()[0].id, storage::PatternId{1});
}

// A peer marks them as noised, and they take no place from patterns that bring an adapter.
TEST_F(DpCentroidsTest, APeerMarksThemAndServesAsBefore) {
  Offer();
  const federation::SharedPattern noised = Offered().at(0);
  StartPeer();
  ASSERT_TRUE(peer_->Store(noised, key_.id()).ok());
  const storage::Pattern stored = patterns_->Get(noised.id).value();
  EXPECT_EQ(stored.tier, storage::SharingTier::kDp);
  EXPECT_TRUE(stored.adapter_name.empty());
  EXPECT_EQ(stored.embedding, noised.centroid);

  std::vector<float> query(kCentroidDimension);
  query[0] = 1;
  const auto hits = patterns_->Search(query, {.k = 1}).value();
  ASSERT_EQ(hits.size(), 1u);
  EXPECT_EQ(hits[0].pattern.id, noised.id);
  std::vector<float> farther = query;
  farther[1] = 2;
  ASSERT_TRUE(patterns_
                  ->Put({.id = storage::PatternId{2},
                         .embedding = farther,
                         .bank = static_cast<uint32_t>(inference::BankOf(1)),
                         .origin = test::SeedOf(9),
                         .created_ms = 1,
                         .updated_ms = 2,
                         .adapter_name = "other",
                         .adapter_version = 1})
                  .ok());
  const auto served =
      serving::StorePatternIndex(*patterns_).Search(query, inference::BankOf(1), 1).value();
  ASSERT_EQ(served.size(), 1u);
  EXPECT_EQ(served[0].adapter, "other");
}

// Regression test: after the former release had ended, a peer took the next release's centroid for
// one that had been removed.
TEST_F(DpCentroidsTest, APeerKeepsThemForSevenDays) {
  StartPeer();
  Offer();
  const federation::SharedPattern first = Offered().at(0);
  ASSERT_TRUE(peer_->Store(first, key_.id()).ok());
  Wait(std::chrono::milliseconds(limits::kItemLifeMillis - 1));
  EXPECT_TRUE(patterns_->Get(first.id).ok());
  Wait(std::chrono::milliseconds(1));
  EXPECT_FALSE(patterns_->Get(first.id).ok());
  core_->OnTick(Now());
  EXPECT_THAT(Offered(), IsEmpty());
  patterns_->Maintain(std::chrono::seconds(1));
  ASSERT_TRUE(patterns_->WasDeleted(first.id).value());
  Offer();
  ASSERT_THAT(Offered(), Not(IsEmpty()));
  const federation::SharedPattern second = Offered().at(0);
  ASSERT_TRUE(peer_->Store(second, key_.id()).ok());
  EXPECT_TRUE(patterns_->Get(second.id).ok());
}

// A preview shows what would leave, or why nothing would, and charges nothing.
TEST_F(DpCentroidsTest, APreviewSaysWhatWouldLeaveAndChargesNothing) {
  const auto update = DpRelease::Create({.layout = {.frame = &frame_}, .clock = &clock_});
  const auto preview = [&](privacy::ConsentTier tier) {
    return PreviewNextRelease({.tier = tier,
                               .own = own_.get(),
                               .release = update.get(),
                               .centroids = centroids_.get(),
                               .now = Now()})
        .value();
  };
  EXPECT_FALSE(preview(privacy::ConsentTier::kPrivate).has_centroids());
  EXPECT_FALSE(preview(privacy::ConsentTier::kPublic).has_centroids());
  const auto next = preview(privacy::ConsentTier::kDp);
  ASSERT_TRUE(next.has_centroids());
  EXPECT_EQ(next.centroids().refusal(), "");
  EXPECT_EQ(next.centroids().lessons(), 100u);
  EXPECT_EQ(next.centroids().contributors(), 1u);
  lessons_.embeddings.resize(kLeast - 1);
  EXPECT_EQ(preview(privacy::ConsentTier::kDp).centroids().refusal_reason(),
            reasons::kSignalTooWeak);
  Open({.enabled = false});
  EXPECT_THAT(preview(privacy::ConsentTier::kDp).centroids().refusal(),
              HasSubstr("privacy.centroids is off"));
  EXPECT_EQ(Spent().reservations, 0u);
  EXPECT_THAT(Offered(), IsEmpty());
}

}  // namespace
}  // namespace ruvd::sharing
