// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/bank.h"
#include "inference/adapter/registry.h"
#include "inference/retrieval/pattern_index.h"

namespace ruvd::inference {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

std::shared_ptr<const Adapter> Make(const std::string& name, uint32_t version, float value = 1) {
  auto adapter = std::make_shared<Adapter>();
  adapter->name = name;
  adapter->version = version;
  adapter->targets["blk.0.attn_q.weight"] = {
      .rank = 1, .in = 1, .out = 1, .a = {value}, .b = {value}};
  return adapter;
}

TEST(RegistryTest, GetsTheNewestOrTheNamedVersion) {
  AdapterRegistry registry{Digest{}};
  EXPECT_EQ(registry.NextVersion("a"), 1U);
  ASSERT_TRUE(registry.Publish(Make("a", 1)).ok());
  ASSERT_TRUE(registry.Publish(Make("a", 3)).ok());
  ASSERT_TRUE(registry.Publish(Make("a", 2)).ok());
  EXPECT_EQ((*registry.Get("a"))->version, 3U);
  EXPECT_EQ((*registry.Get("a", 2))->version, 2U);
  EXPECT_EQ(registry.NextVersion("a"), 4U);
  EXPECT_EQ(ReasonOf(registry.Get("a", 9).status()), reasons::kNotFound);
  EXPECT_EQ(ReasonOf(registry.Get("b").status()), reasons::kNotFound);
}

TEST(RegistryTest, AVersionNeverChanges) {
  AdapterRegistry registry{Digest{}};
  ASSERT_TRUE(registry.Publish(Make("a", 1, 1)).ok());
  EXPECT_TRUE(registry.Publish(Make("a", 1, 1)).ok());
  EXPECT_EQ(registry.Publish(Make("a", 1, 2)).code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ((*registry.Get("a", 1))->targets.begin()->second.a[0], 1.0F);
}

TEST(RegistryTest, ALaterVersionCanAlwaysFollow) {
  AdapterRegistry registry{Digest{}};
  EXPECT_EQ(registry.Publish(Make("a", UINT32_MAX)).code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(registry.Publish(Make("a", UINT32_MAX - 1)).ok());
  EXPECT_EQ(registry.NextVersion("a"), UINT32_MAX);
}

TEST(RegistryTest, RefusesAdaptersOfOtherModels) {
  Digest other{};
  other[0] = 1;
  AdapterRegistry registry{other};
  EXPECT_EQ(ReasonOf(registry.Publish(Make("a", 1))), reasons::kAdapterForOtherModel);
}

TEST(RegistryTest, WhoHoldsAnAdapterKeepsIt) {
  AdapterRegistry registry{Digest{}};
  ASSERT_TRUE(registry.Publish(Make("a", 1, 5)).ok());
  const auto pinned = *registry.Get("a");
  EXPECT_TRUE(registry.Remove("a", 1).ok());
  EXPECT_EQ(ReasonOf(registry.Remove("a", 1)), reasons::kNotFound);
  EXPECT_FALSE(registry.Get("a").ok());
  EXPECT_EQ(pinned->targets.begin()->second.a[0], 5.0F);
  EXPECT_TRUE(registry.List().empty());
}

TEST(RegistryTest, PublishersAndReadersMayRace) {
  AdapterRegistry registry{Digest{}};
  ASSERT_TRUE(registry.Publish(Make("a", 1)).ok());
  std::thread writer([&] {
    for (uint32_t version = 2; version < 200; ++version) {
      ASSERT_TRUE(registry.Publish(Make("a", version)).ok());
      ASSERT_TRUE(registry.Remove("a", version - 1).ok());
    }
  });
  uint32_t seen = 1;
  while (seen < 199) {
    const auto adapter = registry.Get("a");
    ASSERT_TRUE(adapter.ok());
    ASSERT_GE((*adapter)->version, seen);
    seen = (*adapter)->version;
  }
  writer.join();
  EXPECT_EQ(registry.List().size(), 1U);
}

TEST(BankTest, BoundariesBelongToTheBankAbove) {
  EXPECT_EQ(BankOf(0.0F), TimestepBank::kLow);
  EXPECT_EQ(BankOf(0.29F), TimestepBank::kLow);
  EXPECT_EQ(BankOf(0.3F), TimestepBank::kMiddle);
  EXPECT_EQ(BankOf(0.6F), TimestepBank::kHigh);
  EXPECT_EQ(BankOf(1.0F), TimestepBank::kHigh);
}

class SelectAdaptersTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"a", "b", "c"}) {
      ASSERT_TRUE(registry_.Publish(Make(name, 1)).ok());
    }
  }
  static std::vector<std::string> Ids(const Selection& selection) {
    std::vector<std::string> ids;
    for (const RetrievedPattern& hit : selection.hits) {
      ids.push_back(hit.pattern_id);
    }
    return ids;
  }
  AdapterRegistry registry_{Digest{}};
};

TEST_F(SelectAdaptersTest, TakesTheBestAboveTheThreshold) {
  const std::vector<RetrievedPattern> hits = {
      {"p3", 0.5F, "c", 1}, {"p2", 0.8F, "b", 1}, {"p1", 0.9F, "a", 1}};
  const Selection selection = SelectAdapters(hits, registry_, {.threshold = 0.6F});
  EXPECT_THAT(Ids(selection), ElementsAre("p1", "p2"));
  ASSERT_EQ(selection.mix.parts.size(), 2U);
  EXPECT_EQ(selection.mix.parts[0].adapter->name, "a");
  const double ratio = std::exp(-0.1 / 0.05);
  EXPECT_THAT(selection.mix.parts[0].weight, FloatNear(static_cast<float>(1 / (1 + ratio)), 1e-5F));
  EXPECT_THAT(selection.mix.parts[1].weight,
              FloatNear(static_cast<float>(ratio / (1 + ratio)), 1e-5F));
}

TEST_F(SelectAdaptersTest, NothingNearMeansTheBaseModel) {
  const std::vector<RetrievedPattern> hits = {{"p1", 0.3F, "a", 1}, {"p2", std::nanf(""), "b", 1}};
  EXPECT_TRUE(SelectAdapters(hits, registry_, {}).mix.empty());
  EXPECT_TRUE(SelectAdapters({}, registry_, {}).mix.empty());
}

TEST_F(SelectAdaptersTest, SkipsRemovedAndRepeatedAdapters) {
  const std::vector<RetrievedPattern> hits = {{"p1", 0.99F, "gone", 1},
                                              {"p2", 0.98F, "a", 7},
                                              {"p3", 0.97F, "a", 1},
                                              {"p4", 0.96F, "a", 1},
                                              {"p5", 0.95F, "b", 1}};
  EXPECT_THAT(Ids(SelectAdapters(hits, registry_, {})), ElementsAre("p3", "p5"));
}

TEST_F(SelectAdaptersTest, TiesAndTemperatureZeroAreDeterministic) {
  const std::vector<RetrievedPattern> hits = {{"q", 0.9F, "b", 1}, {"p", 0.9F, "a", 1}};
  const Selection selection =
      SelectAdapters(hits, registry_, {.total_weight = 0.5F, .temperature = 0});
  EXPECT_THAT(Ids(selection), ElementsAre("p", "q"));
  EXPECT_EQ(selection.mix.parts[0].weight, 0.5F);
  EXPECT_EQ(selection.mix.parts[1].weight, 0.0F);
}

}  // namespace
}  // namespace ruvd::inference
