// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/adapter_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "node/serving/pattern_payload.h"
#include "tests/inference/text_model.h"
#include "tests/node/database_fixture.h"

namespace ruvd::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// Patterns are vectors in the first two dimensions; their names give their angle in degrees.
class AdapterSourceTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    patterns_ = storage::PatternStore::Open(
                    *database_, {.dimension = static_cast<uint32_t>(model_->config().width)})
                    .value();
    source_ = std::make_unique<AdapterSource>(
        *patterns_, *model_, inference::SelectionOptions{.threshold = 0.5F, .max_adapters = 2},
        catalog_);
  }
  std::vector<float> At(double degrees) const {
    std::vector<float> vector(static_cast<size_t>(model_->config().width));
    vector[0] = static_cast<float>(std::cos(degrees * std::numbers::pi / 180));
    vector[1] = static_cast<float>(std::sin(degrees * std::numbers::pi / 180));
    return vector;
  }
  void Put(uint8_t degrees) {
    const std::string target = "blk.1.attn_output.weight";
    inference::Adapter adapter =
        *test::RandomAdapter(*model_, {{target, inference::FindMatrix(*model_, target)}}, degrees);
    adapter.name = std::to_string(degrees);
    const storage::Pattern pattern{
        .id = storage::PatternId{degrees},
        .embedding = At(degrees),
        .bank = static_cast<uint32_t>(inference::BankOf(1)),
        .created_ms = 1,
        .updated_ms = 1,
        .adapter_name = adapter.name,
        .adapter_version = adapter.version,
        .payload = EncodePatternPayload({.adapter = inference::EncodeAdapter(adapter)})};
    ASSERT_TRUE(patterns_->Put(pattern).ok());
  }
  static std::vector<std::string> Names(const absl::StatusOr<ChosenAdapters>& chosen) {
    std::vector<std::string> names;
    for (const AdapterUse& use : chosen.value().uses) {
      names.push_back(use.name);
    }
    return names;
  }
  std::vector<std::string> Again(const ChosenAdapters& current, double degrees,
                                 inference::UncertaintyKind kind,
                                 const AdapterSource::PatternFactor& factor = nullptr) {
    return Names(source_->Reselect(current, At(degrees), inference::BankOf(1), kind, factor));
  }

  const std::shared_ptr<const inference::Model> model_ = test::TinyTextModel();
  AdapterCatalog catalog_{*model_, {}};
  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<AdapterSource> source_;
};

// Adapters in a frame are large beside what the store holds of them.
TEST_F(AdapterSourceTest, AdaptersInMemoryAreBoundInBytes) {
  constexpr uint8_t kPatterns = 40;
  for (uint8_t i = 0; i < kPatterns; ++i) {
    Put(static_cast<uint8_t>(4 * i));
  }
  const auto visit = [&] {
    for (uint8_t i = 0; i < kPatterns; ++i) {
      EXPECT_FALSE(source_->Choose(At(4 * i), {}).value().uses.empty());
    }
  };
  visit();
  const uint64_t all = source_->CachedBytes();
  source_ = std::make_unique<AdapterSource>(
      *patterns_, *model_, inference::SelectionOptions{.threshold = 0.5F, .max_adapters = 2},
      catalog_, nullptr, all / 3);
  visit();
  EXPECT_LE(source_->CachedBytes(), all / 3);
  EXPECT_GT(source_->CachedBytes(), all / 4);
  visit();  // what was removed is loaded again
}

// Found by review: patterns of a former frame kept those behind them from serving.
TEST_F(AdapterSourceTest, PatternsThatCannotServeTakeNoPlaceOfOthers) {
  for (uint8_t degrees = 0; degrees < 8; ++degrees) {
    Put(degrees);
    storage::Pattern pattern = *patterns_->Get(storage::PatternId{degrees});
    pattern.payload = EncodePatternPayload({.cores = inference::CoreSet{.frame_id = {1}}});
    ASSERT_TRUE(patterns_->Put(pattern).ok());
  }
  Put(20);
  Put(30);
  Put(40);
  EXPECT_THAT(Names(source_->Choose(At(0), {})), ElementsAre("20", "30"));
  Put(90);
  EXPECT_THAT(Names(source_->Choose(At(70), {})), UnorderedElementsAre("90", "40"));
}

TEST_F(AdapterSourceTest, OthersAreTakenByTheKindOfUncertainty) {
  for (const uint8_t degrees : {10, 20, 40, 55}) {
    Put(degrees);
  }
  const ChosenAdapters begun = source_->Choose(At(0), {}).value();
  ASSERT_THAT(Names(begun), UnorderedElementsAre("10", "20"));
  // The nearest of all patterns are chosen; some of them may be in use.
  EXPECT_THAT(Again(begun, 29, inference::UncertaintyKind::kDiffuse),
              UnorderedElementsAre("20", "40"));
  EXPECT_THAT(Again(begun, 15, inference::UncertaintyKind::kDiffuse), ElementsAre("10", "20"));
  // Other patterns are chosen, although those in use are the nearest.
  EXPECT_THAT(Again(begun, 15, inference::UncertaintyKind::kUnstable),
              UnorderedElementsAre("40", "55"));
  // Patterns are chosen that are nearer to this query than those in use.
  EXPECT_THAT(Again(begun, 15, inference::UncertaintyKind::kContested), ElementsAre("10", "20"));
  EXPECT_THAT(Again(begun, 33, inference::UncertaintyKind::kContested), ElementsAre("40"));
  EXPECT_THAT(Again(begun, 50, inference::UncertaintyKind::kContested),
              UnorderedElementsAre("40", "55"));
}

TEST_F(AdapterSourceTest, ASessionsLikingCountsWheneverPatternsAreCompared) {
  for (const uint8_t degrees : {10, 40, 55}) {
    Put(degrees);
  }
  const auto liked = [](const std::string& name, float by) {
    storage::PatternId id{static_cast<uint8_t>(std::stoi(name))};
    return [own = ToHex(id), by](const std::string& other) { return other == own ? by : 1.0F; };
  };
  const ChosenAdapters begun = source_->Choose(At(0), {}, liked("40", 0.1F)).value();
  ASSERT_THAT(Names(begun), ElementsAre("10"));
  EXPECT_THAT(Again(begun, 25, inference::UncertaintyKind::kUnstable),
              UnorderedElementsAre("40", "55"));
  EXPECT_THAT(Again(begun, 25, inference::UncertaintyKind::kUnstable, liked("40", 0.4F)),
              ElementsAre("55"));
  // At 30 degrees, pattern 40 is nearer than 10 by five hundredths of the cosine.
  EXPECT_THAT(Again(begun, 30, inference::UncertaintyKind::kContested), ElementsAre("40"));
  EXPECT_THAT(Again(begun, 30, inference::UncertaintyKind::kContested, liked("40", 0.9F)),
              ElementsAre("10"));
  EXPECT_THAT(Again(begun, 30, inference::UncertaintyKind::kContested, liked("10", 1.2F)),
              ElementsAre("10"));
}

}  // namespace
}  // namespace ruvd::serving
