// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/adapter_scope.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "inference/adapter/adapter.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/talora.h"
#include "node/limits.h"
#include "node/serving/adapter_catalog.h"
#include "ruvd/storage/v1/state.pb.h"
#include "tests/inference/text_model.h"
#include "tests/node/database_fixture.h"

namespace ruvd::serving {
namespace {

const Digest kPackage = Sha256("package");
constexpr float kNear = 0.8F;

std::vector<float> At(double degrees) {
  const double radians = degrees / 180 * std::acos(-1.0);
  return {static_cast<float>(std::cos(radians)), static_cast<float>(std::sin(radians))};
}

TEST(AdapterScope, CoversWhatIsNearItsTextsAndNothingElse) {
  const std::vector<std::vector<float>> texts = {At(0), At(10), At(-10), At(180), {0, 0}};
  const auto scope = BuildAdapterScope(kPackage, texts, kNear);
  ASSERT_TRUE(scope.has_value());
  EXPECT_EQ(scope->centroids.size(), 2u);
  EXPECT_TRUE(Covers(*scope, At(30), kNear));
  EXPECT_TRUE(Covers(*scope, At(170), kNear));
  EXPECT_FALSE(Covers(*scope, At(90), kNear));
  EXPECT_FALSE(Covers(*scope, std::vector<float>{0, 0}, kNear));
  EXPECT_FALSE(Covers(*scope, std::vector<float>{1, 0, 0}, kNear));  // embeddings of another model
}

TEST(AdapterScope, OfNoTextThereIsNone) {
  EXPECT_FALSE(BuildAdapterScope(kPackage, {}, kNear).has_value());
  EXPECT_FALSE(
      BuildAdapterScope(kPackage, std::vector<std::vector<float>>{{0, 0}}, kNear).has_value());
}

TEST(AdapterScope, ManyTextsMakeABoundedNumberOfCentroids) {
  Random random(3);
  std::vector<std::vector<float>> texts;
  for (size_t i = 0; i < limits::kMaxScopeCentroids * 2; ++i) {
    std::vector<float>& text = texts.emplace_back(64);
    for (float& value : text) {
      value = static_cast<float>(random.Normal());
    }
  }
  EXPECT_EQ(BuildAdapterScope(kPackage, texts, 0.99F)->centroids.size(),
            limits::kMaxScopeCentroids);
}

RC_GTEST_PROP(AdapterScope, ComesBackAndNothingElseIsRead, ()) {
  Random random(*rc::gen::arbitrary<uint32_t>());
  AdapterScope scope{.embedded_by = kPackage, .centroids = {}};
  const size_t length = 1 + random.Below(8);
  for (size_t i = 0; i < 1 + random.Below(4); ++i) {
    std::vector<float>& centroid = scope.centroids.emplace_back(length);
    for (float& value : centroid) {
      value = static_cast<float>(random.Normal());
    }
  }
  const storage::v1::AdapterReach stored = ToStored(scope);
  const auto read = FromStored(stored);
  RC_ASSERT(read.ok());
  RC_ASSERT(*read == scope);
  storage::v1::AdapterReach damaged = stored;
  damaged.mutable_centroids()->pop_back();
  RC_ASSERT(!FromStored(damaged).ok());
  damaged = stored;
  damaged.set_length(stored.length() * static_cast<uint32_t>(scope.centroids.size()) + 1);
  RC_ASSERT(!FromStored(damaged).ok());
  damaged = stored;
  damaged.mutable_embedded_by()->pop_back();
  RC_ASSERT(!FromStored(damaged).ok());
}

TEST(AdapterScope, MoreOrLongerCentroidsThanAnyReachHasAreRefused) {
  storage::v1::AdapterReach stored = ToStored({.embedded_by = kPackage, .centroids = {}});
  EXPECT_TRUE(FromStored(stored).value().centroids.empty()) << "it covers no prompt";
  stored.set_centroids(std::string(sizeof(float), '\0'));
  EXPECT_FALSE(FromStored(stored).ok()) << "a centroid of no length";
  stored.set_length(1);
  EXPECT_TRUE(FromStored(stored).ok());
  stored.set_centroids(std::string((limits::kMaxScopeCentroids + 1) * sizeof(float), '\0'));
  EXPECT_FALSE(FromStored(stored).ok());
  stored.set_length(limits::kMaxScopeLength + 1);
  stored.set_centroids(std::string((limits::kMaxScopeLength + 1) * sizeof(float), '\0'));
  EXPECT_FALSE(FromStored(stored).ok());
}

TEST(AdapterScope, ValuesThatAreNotFiniteAreRefused) {
  const AdapterScope scope{.embedded_by = kPackage,
                           .centroids = {{1, std::numeric_limits<float>::quiet_NaN()}}};
  EXPECT_FALSE(FromStored(ToStored(scope)).ok());
}

class ScopedAdapterTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    state_.emplace(*database_);
  }
  AdapterCatalog Catalog() {
    return {*model_, AdapterCatalogOptions{
                         .state = &*state_, .package_id = package_, .scope_similarity = kNear}};
  }
  std::shared_ptr<const inference::Talora> Learned(uint32_t version) {
    const std::string target = "blk.1.attn_output.weight";
    inference::Adapter adapter =
        *test::RandomAdapter(*model_, {{target, inference::FindMatrix(*model_, target)}}, 1);
    adapter.name = "deep";
    adapter.version = version;
    return StaticTalora(std::make_shared<const inference::Adapter>(std::move(adapter)));
  }
  // Whether a request gets the adapter if its prompt is at this angle.
  static bool Serves(AdapterCatalog& catalog, double degrees) {
    const std::vector<float> prompt = At(degrees);
    const auto parts = catalog.Choose({}, prompt);
    EXPECT_TRUE(parts.ok()) << parts.status();
    return parts.ok() && !parts->empty();
  }
  static bool ServesWhoNamesIt(AdapterCatalog& catalog) {
    const std::vector<float> far = At(90);
    const std::vector<AdapterChoice> choices = {{.name = "deep"}};
    return catalog.Choose(choices, far)->size() == 1;
  }

  const std::shared_ptr<const inference::Model> model_ = test::TinyTextModel();
  std::optional<storage::StateStore> state_;
  Digest package_ = kPackage;
  const AdapterScope reach_ =
      *BuildAdapterScope(kPackage, std::vector<std::vector<float>>{At(0)}, kNear);
};

TEST_F(ScopedAdapterTest, IsServedToPromptsWithinReachAlsoAfterARestart) {
  for (int start = 0; start < 2; ++start) {
    AdapterCatalog catalog = Catalog();
    if (start == 0) {
      ASSERT_TRUE(catalog.Publish(Learned(1), 1, reach_).ok());
    } else {
      catalog.LoadLearned();
    }
    EXPECT_TRUE(Serves(catalog, 20));
    EXPECT_FALSE(Serves(catalog, 90));
    EXPECT_TRUE(ServesWhoNamesIt(catalog));
  }
}

TEST_F(ScopedAdapterTest, WithoutAReachItIsServedToAll) {
  AdapterCatalog catalog = Catalog();
  ASSERT_TRUE(catalog.Publish(Learned(1), 1).ok());
  EXPECT_TRUE(Serves(catalog, 90));
}

TEST_F(ScopedAdapterTest, ADamagedReachIsNobodysAndNotEverybodys) {
  ASSERT_TRUE(Catalog().Publish(Learned(1), 1, reach_).ok());
  const auto name = storage::state::LearnedAdapter("deep", 1);
  storage::v1::LearnedAdapter stored = state_->Get(name)->value();
  stored.mutable_reach()->mutable_centroids()->pop_back();
  ASSERT_TRUE(state_->Put(name, stored).ok());
  AdapterCatalog catalog = Catalog();
  catalog.LoadLearned();
  EXPECT_FALSE(Serves(catalog, 0));
  EXPECT_TRUE(ServesWhoNamesIt(catalog));
}

TEST_F(ScopedAdapterTest, EmbeddingsOfAnotherPackageAreNotCompared) {
  ASSERT_TRUE(Catalog().Publish(Learned(1), 1, reach_).ok());
  package_ = Sha256("another whitening");
  AdapterCatalog catalog = Catalog();
  catalog.LoadLearned();
  EXPECT_FALSE(Serves(catalog, 0));
  EXPECT_TRUE(ServesWhoNamesIt(catalog));
}

TEST_F(ScopedAdapterTest, NothingOfItStaysWhenItIsUnloaded) {
  AdapterCatalog catalog = Catalog();
  ASSERT_TRUE(catalog.Publish(Learned(1), 1, reach_).ok());
  ASSERT_TRUE(catalog.Unload("deep", 1).ok());
  EXPECT_TRUE(state_->Names("")->empty());
}

}  // namespace
}  // namespace ruvd::serving
