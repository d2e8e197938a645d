// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests learned policies: rows of every kind, search, eviction, the cache of the request path.

#include "storage/policies/policy_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/random.h"
#include "storage/policies/policy_rows.h"
#include "tests/storage/raw_store.h"
#include "tests/storage/store_fixture.h"

namespace ruvd::storage {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

PolicyId Id(uint8_t number) {
  return PolicyId{number};
}

RouterPolicy MakeRouter() {
  return {.cell = {.input_size = 3,
                   .hidden_size = 2,
                   .rank = 1,
                   .w1 = {1, 2},
                   .w2 = {3, 4, 5},
                   .u1 = {6, 7},
                   .u2 = {8, 9},
                   .gate_bias = {10, 11},
                   .update_bias = {12, 13},
                   .zeta = 0.5F,
                   .nu = 0.25F},
          .heads = {.model = {1, 2}, .context = {3}, .temperature = 4, .top_p = 5, .confidence = 6},
          .ewc_lambda = 0.1F,
          .training_loss = 2};
}

Policy MakePolicy(uint8_t number, PolicyParameters parameters = EwcPolicy{}) {
  return {.id = Id(number),
          .parameters = std::move(parameters),
          .embedding = {1, static_cast<float>(number)},
          .confidence = 0.75F,
          .source = PolicySource::kDeep,
          .created_ms = 5};
}

class PolicyStoreTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    Reopen();
  }
  void TearDown() override {
    store_.reset();
    database_.reset();
    StoreTest::TearDown();
  }
  void Reopen() {
    store_.reset();
    database_.reset();
    database_ = OpenStore();
    auto store = PolicyStore::Open(*database_, options_);
    ASSERT_TRUE(store.ok()) << store.status();
    store_ = std::move(*store);
  }
  std::vector<int> List(PolicyKind kind, size_t page_size = 2) {
    std::vector<int> ids;
    std::string token;
    do {
      const auto page = store_->List(kind, page_size, token);
      EXPECT_TRUE(page.ok()) << page.status();
      for (const SharedPolicy& policy : page->policies) {
        ids.push_back(policy->id[0]);
      }
      token = page->next_page_token;
    } while (!token.empty());
    return ids;
  }
  std::vector<int> Search(PolicyKind kind, const std::vector<float>& embedding, size_t k) {
    std::vector<int> ids;
    const auto hits = store_->Search(kind, embedding, k);
    EXPECT_TRUE(hits.ok()) << hits.status();
    for (const PolicyHit& hit : *hits) {
      ids.push_back(hit.policy->id[0]);
    }
    return ids;
  }

  PolicyStoreOptions options_{
      .dimension = 2, .capacity = 50, .cached = 4, .cache_ttl = seconds(60)};
  std::unique_ptr<Database> database_;
  std::unique_ptr<PolicyStore> store_;
};

TEST_F(PolicyStoreTest, EveryKindKeepsEveryFieldOverAReopen) {
  const std::vector<Policy> policies = {
      MakePolicy(1, QuantizationPolicy{2, 5, "q4_k", 0.5F, 1 << 20, 0.25F}),
      MakePolicy(2, MakeRouter()),
      MakePolicy(3, EwcPolicy{100, 0.9F, 3, "base@2"}),
      MakePolicy(4, PatternPolicy{{{1, 2}, {3, 4}}, 2, 0.8F, "overlay@1", 0.5F, 12}),
  };
  for (const Policy& policy : policies) {
    ASSERT_TRUE(store_->Put(policy).ok());
  }
  Reopen();
  for (const Policy& policy : policies) {
    const auto got = store_->Get(policy.id);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(**got, policy);
  }
  EXPECT_EQ(store_->size(), 4U);
  EXPECT_EQ(ReasonOf(store_->Get(Id(9)).status()), reasons::kNotFound);
}

TEST_F(PolicyStoreTest, AFisherDiagonalIsKeptBesideItsPolicy) {
  std::vector<float> diagonal(300'000);
  for (size_t i = 0; i < diagonal.size(); ++i) {
    diagonal[i] = static_cast<float>(i) / 7;
  }
  ASSERT_TRUE(store_->Put(MakePolicy(1), diagonal).ok());
  Reopen();
  EXPECT_EQ((*store_->Get(Id(1)))->fisher_values, diagonal.size());
  EXPECT_EQ(store_->FisherDiagonal(Id(1)).value(), diagonal);
  ASSERT_TRUE(store_->Put(MakePolicy(1)).ok());  // replaced by one without an embedding
  EXPECT_EQ((*store_->Get(Id(1)))->fisher_values, 0U);
  EXPECT_EQ(ReasonOf(store_->FisherDiagonal(Id(1)).status()), reasons::kNotFound);
  EXPECT_EQ(ReasonOf(store_->Put(MakePolicy(1), std::vector<float>(limits::kMaxFisherValues + 1))),
            reasons::kLimitExceeded);
}

TEST_F(PolicyStoreTest, ListsAndSearchesByKind) {
  for (uint8_t i = 1; i <= 8; ++i) {
    ASSERT_TRUE(
        store_
            ->Put(i % 2 == 0 ? MakePolicy(i) : MakePolicy(i, QuantizationPolicy{.precision = "q8"}))
            .ok());
  }
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_THAT(List(PolicyKind::kEwc), ElementsAre(2, 4, 6, 8));
    EXPECT_THAT(List(PolicyKind::kQuantization, 3), ElementsAre(1, 3, 5, 7));
    EXPECT_THAT(List(PolicyKind::kRouter), IsEmpty());
    EXPECT_THAT(Search(PolicyKind::kEwc, {0, 1}, 2), ElementsAre(8, 6));
    EXPECT_THAT(Search(PolicyKind::kQuantization, {1, 0}, 1), ElementsAre(1));
    EXPECT_THAT(Search(PolicyKind::kRouter, {1, 0}, 1), IsEmpty());
    Reopen();
  }
  ASSERT_TRUE(store_->Put(MakePolicy(7)).ok());  // changes its kind
  EXPECT_THAT(List(PolicyKind::kEwc), ElementsAre(2, 4, 6, 7, 8));
  EXPECT_THAT(Search(PolicyKind::kQuantization, {0, 1}, 1), ElementsAre(5));
  ASSERT_TRUE(store_->Delete(Id(8)).ok());
  EXPECT_EQ(ReasonOf(store_->Delete(Id(8))), reasons::kNotFound);
  EXPECT_THAT(Search(PolicyKind::kEwc, {0, 1}, 1), ElementsAre(7));
  EXPECT_EQ(ReasonOf(store_->List(PolicyKind::kEwc, 0, "").status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(store_->List(PolicyKind::kEwc, 1, "zz").status()), reasons::kInvalidArgument);
  EXPECT_EQ(ReasonOf(store_->Search(PolicyKind::kEwc, std::vector<float>{1}, 1).status()),
            reasons::kWrongDimension);
}

TEST_F(PolicyStoreTest, ADamagedPolicyHidesNoOther) {
  for (const int n : {1, 2, 3}) {
    ASSERT_TRUE(store_->Put(MakePolicy(static_cast<uint8_t>(n))).ok());
  }
  store_.reset();
  database_.reset();
  DamageRows(Options().path, {{ColumnFamily::kPolicy, policies::PolicyKey(Id(2))},
                              {ColumnFamily::kPolicy, policies::AccessKey(Id(3))}});
  Reopen();
  EXPECT_EQ(store_->undecodable(), 1U);
  EXPECT_THAT(List(PolicyKind::kEwc), ElementsAre(1, 3));
}

TEST_F(PolicyStoreTest, TheLeastRecentlyAccessedMakesRoom) {
  options_.capacity = 3;
  Reopen();
  for (uint8_t i = 1; i <= 3; ++i) {
    ASSERT_TRUE(store_->Put(MakePolicy(i)).ok());
    clock_.Advance(seconds(1));
  }
  ASSERT_TRUE(store_->Get(Id(1)).ok());
  clock_.Advance(seconds(1));
  ASSERT_TRUE(store_->Put(MakePolicy(4)).ok());
  EXPECT_THAT(List(PolicyKind::kEwc), ElementsAre(1, 3, 4));
  EXPECT_EQ(ReasonOf(store_->Get(Id(2)).status()), reasons::kNotFound);
  ASSERT_TRUE(store_->Put(MakePolicy(3)).ok());  // replacing evicts no policy
  EXPECT_EQ(store_->size(), 3U);
  Reopen();
  EXPECT_THAT(List(PolicyKind::kEwc), ElementsAre(1, 3, 4));
}

// Found by review: embeddings of equal width were compared, even if they came from different
// models.
TEST_F(PolicyStoreTest, PoliciesOfAnotherModelAreFoundByIdOnly) {
  options_.embedded_by = "package A";
  Reopen();
  Policy policy = MakePolicy(1);
  policy.embedded_by = "package A";
  ASSERT_TRUE(store_->Put(policy).ok());
  EXPECT_THAT(Search(PolicyKind::kEwc, {1, 1}, 1), ElementsAre(1));
  options_.embedded_by = "package B";
  Reopen();
  EXPECT_THAT(Search(PolicyKind::kEwc, {1, 1}, 1), IsEmpty());
  EXPECT_EQ(**store_->Get(Id(1)), policy);
  policy.embedded_by = "package B";
  ASSERT_TRUE(store_->Put(policy).ok());
  EXPECT_THAT(Search(PolicyKind::kEwc, {1, 1}, 1), ElementsAre(1));
  policy.embedded_by = "package A";
  ASSERT_TRUE(store_->Put(policy).ok());
  EXPECT_THAT(Search(PolicyKind::kEwc, {1, 1}, 1), IsEmpty());
}

TEST_F(PolicyStoreTest, AClockThatWentBackMakesNoPolicyTheLeastRecentlyUsed) {
  options_.capacity = 2;
  Reopen();
  for (uint8_t i = 1; i <= 4; ++i) {
    clock_.Advance(seconds(1));
    ASSERT_TRUE(store_->Put(MakePolicy(i)).ok());
    if (i == 2) {
      clock_.StepWall(-86'400'000);
    }
  }
  EXPECT_THAT(List(PolicyKind::kEwc), ElementsAre(3, 4));
}

TEST_F(PolicyStoreTest, ReadsComeFromTheCacheUntilAWriteOrTheirTime) {
  ASSERT_TRUE(store_->Put(MakePolicy(1)).ok());
  const SharedPolicy first = *store_->Get(Id(1));
  EXPECT_EQ(*store_->Get(Id(1)), first);
  EXPECT_EQ(store_->cache_counts().hits, 1U);
  EXPECT_EQ(store_->cache_counts().misses, 1U);
  Policy changed = MakePolicy(1);
  changed.confidence = 0.25F;
  ASSERT_TRUE(store_->Put(changed).ok());
  EXPECT_EQ((*store_->Get(Id(1)))->confidence, 0.25F);
  EXPECT_EQ(first->confidence, 0.75F);  // a reader keeps what it got
  clock_.Advance(seconds(60));
  ASSERT_TRUE(store_->Get(Id(1)).ok());
  EXPECT_EQ(store_->cache_counts().misses, 3U);
}

TEST_F(PolicyStoreTest, RefusesPoliciesThatCannotBeStored) {
  const auto reason = [this](const Policy& policy) { return ReasonOf(store_->Put(policy)); };
  EXPECT_EQ(reason(MakePolicy(1, QuantizationPolicy{.precision = "q5"})),
            reasons::kInvalidArgument);
  EXPECT_EQ(reason(MakePolicy(1, QuantizationPolicy{3, 2, "q8", 0, 0, 0})),
            reasons::kInvalidArgument);
  RouterPolicy router = MakeRouter();
  router.cell.w2.pop_back();
  EXPECT_EQ(reason(MakePolicy(1, router)), reasons::kInvalidArgument);
  EXPECT_EQ(reason(MakePolicy(1, EwcPolicy{.lambda = -1})), reasons::kInvalidArgument);
  EXPECT_EQ(reason(MakePolicy(1, PatternPolicy{.bank = limits::kMaxBanks})),
            reasons::kInvalidArgument);
  // Found by review: values that are not numbers were accepted wherever no range was checked.
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    EXPECT_EQ(reason(MakePolicy(1, EwcPolicy{.lambda = bad})), reasons::kInvalidArgument);
    EXPECT_EQ(reason(MakePolicy(1, QuantizationPolicy{0, 1, "q8", bad, 0, 0})),
              reasons::kInvalidArgument);
    for (std::vector<float> FastGrnnWeights::* weights :
         {&FastGrnnWeights::w1, &FastGrnnWeights::w2, &FastGrnnWeights::u1, &FastGrnnWeights::u2,
          &FastGrnnWeights::gate_bias, &FastGrnnWeights::update_bias}) {
      router = MakeRouter();
      (router.cell.*weights)[0] = bad;
      EXPECT_EQ(reason(MakePolicy(1, router)), reasons::kInvalidArgument);
    }
    router = MakeRouter();
    router.heads.temperature = bad;
    EXPECT_EQ(reason(MakePolicy(1, router)), reasons::kInvalidArgument);
    EXPECT_EQ(ReasonOf(store_->Put(MakePolicy(1), std::vector<float>{1, bad})),
              reasons::kInvalidArgument);
  }
  Policy policy = MakePolicy(1);
  policy.confidence = NAN;
  EXPECT_EQ(reason(policy), reasons::kInvalidArgument);
  policy = MakePolicy(1);
  policy.source = static_cast<PolicySource>(0);
  EXPECT_EQ(reason(policy), reasons::kInvalidArgument);
  policy = MakePolicy(1);
  policy.embedding = {1, 2, 3};
  EXPECT_EQ(reason(policy), reasons::kWrongDimension);
  EXPECT_EQ(store_->size(), 0U);
}

// Compares random changes with a map, with reopening in between.
TEST_F(PolicyStoreTest, AgreesWithAModel) {
  Random random(9);
  std::map<PolicyId, std::pair<Policy, std::vector<float>>> model;
  for (int step = 0; step < 250; ++step) {
    const auto number = static_cast<uint8_t>(random.Below(30));
    const uint64_t what = random.Below(20);
    clock_.Advance(seconds(random.Below(20)));
    if (what < 10) {
      Policy policy = random.Bernoulli(0.5) ? MakePolicy(number) : MakePolicy(number, MakeRouter());
      policy.confidence = static_cast<float>(random.Uniform());
      const std::vector<float> fisher(random.Below(5), policy.confidence);
      ASSERT_TRUE(store_->Put(policy, fisher).ok());
      policy.fisher_values = static_cast<uint32_t>(fisher.size());
      model[policy.id] = {policy, fisher};
    } else if (what < 14) {
      EXPECT_EQ(store_->Delete(Id(number)).ok(), model.erase(Id(number)) == 1);
    } else if (what < 18) {
      const auto got = store_->Get(Id(number));
      ASSERT_EQ(got.ok(), model.contains(Id(number)));
      if (got.ok()) {
        ASSERT_EQ(**got, model[Id(number)].first);
        EXPECT_EQ(store_->FisherDiagonal(Id(number)).value_or(std::vector<float>{}),
                  model[Id(number)].second);
      }
    } else if (what == 19) {
      Reopen();
    }
    ASSERT_EQ(store_->size(), model.size()) << step;
  }
  size_t routers = 0;
  for (const auto& [id, stored] : model) {
    routers += stored.first.kind() == PolicyKind::kRouter ? 1 : 0;
  }
  EXPECT_EQ(List(PolicyKind::kRouter).size(), routers);
  EXPECT_EQ(Search(PolicyKind::kRouter, {1, 1}, 50).size(), routers);
}

TEST(TtlCacheTest, IsBoundedAndForgetsTheLeastRecentlyUsed) {
  ManualClock clock;
  TtlCache<int, std::string> cache(2, seconds(10), clock);
  cache.Put(1, "a", cache.epoch());
  cache.Put(2, "b", cache.epoch());
  EXPECT_EQ(cache.Get(1), "a");
  cache.Put(3, "c", cache.epoch());
  EXPECT_EQ(cache.Get(2), std::nullopt);
  EXPECT_EQ(cache.size(), 2U);
  clock.Advance(seconds(10));
  EXPECT_EQ(cache.Get(1), std::nullopt);
  EXPECT_EQ(cache.size(), 1U);
}

TEST(TtlCacheTest, AValueReadBeforeAnInvalidationIsNotKept) {
  ManualClock clock;
  TtlCache<int, std::string> cache(2, seconds(10), clock);
  const uint64_t epoch = cache.epoch();
  cache.Invalidate(1);  // a write while the reader holds the old value
  cache.Put(1, "old", epoch);
  EXPECT_EQ(cache.Get(1), std::nullopt);
}

TEST(PolicyRowsTest, OtherBytesAreRefused) {
  for (const char* bytes : {"", "\xFF\xFF", "text"}) {
    EXPECT_EQ(ReasonOf(policies::DecodePolicy(bytes, {}).status()), reasons::kStoreCorrupt);
    EXPECT_EQ(ReasonOf(policies::DecodeFisher(bytes).status()), reasons::kStoreCorrupt);
    EXPECT_EQ(ReasonOf(policies::DecodeAccess(bytes).status()), reasons::kStoreCorrupt);
  }
  const std::string fisher = policies::EncodeFisher(std::vector<float>{1, 2});
  for (size_t n = 0; n < fisher.size(); ++n) {
    EXPECT_FALSE(policies::DecodeFisher(fisher.substr(0, n)).ok());
  }
}

// Found by fuzzing under UBSan: zero bytes were copied from a null pointer.
TEST(PolicyRowsTest, AnEmptyFisherDiagonalComesBack) {
  const auto diagonal = policies::DecodeFisher(policies::EncodeFisher({}));
  ASSERT_TRUE(diagonal.ok()) << diagonal.status();
  EXPECT_TRUE(diagonal->empty());
}

}  // namespace
}  // namespace ruvd::storage
