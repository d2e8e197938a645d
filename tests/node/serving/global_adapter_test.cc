// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests that the adapter of the cluster's rounds acts beneath the others, and what clients can do
// with it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_file.h"
#include "node/serving/adapter_source.h"
#include "node/serving/served_adapters.h"
#include "tests/node/global_cores.h"
#include "tests/node/serving/generation_fixture.h"

namespace ruvd::serving {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kOneTarget[] = "blk.1.attn_output.weight";

class GlobalAdapterTest : public GenerationTaskTest {
 protected:
  void SetUp() override {
    GenerationTaskTest::SetUp();
    Use(test::TinyTextModel());
  }
  std::shared_ptr<const inference::Talora> Version(uint32_t version) const {
    return cores_.Adapter(cores_.Random(version, 1), version);
  }
  // Loads an adapter from a file NAME.gguf.
  absl::Status Load(const std::string& name, float weight) {
    inference::Adapter adapter = *test::RandomAdapter(
        *model_, {{kOneTarget, inference::FindMatrix(*model_, kOneTarget)}}, 1);
    adapter.name = name;
    const std::string path = folder_ / (name + ".gguf");
    EXPECT_TRUE(inference::SaveAdapterFile(adapter, *model_, path).ok());
    return catalog_->Load(path, weight).status();
  }
  // Returns the adapters that a request with these choices gets, as NAME@VERSION*WEIGHT.
  std::vector<std::string> Get(const std::vector<AdapterChoice>& choices,
                               const std::vector<float>& embedding = {}) {
    const absl::StatusOr<ChosenAdapters> chosen = adapters_->Choose(embedding, choices);
    EXPECT_TRUE(chosen.ok()) << chosen.status();
    std::vector<std::string> uses;
    for (const AdapterUse& use : chosen.value_or(ChosenAdapters()).uses) {
      uses.push_back(fmt::format("{}@{}*{:g}", use.name, use.version, use.weight));
    }
    return uses;
  }
  // Returns the text of a completion; without adapters if `disabled`.
  std::string Complete(bool disabled, std::vector<AdapterUse>* uses = nullptr,
                       inference::DecodingMode mode = inference::DecodingMode::kDiffusion) {
    listener_ = std::make_shared<KeptEnd>();
    GenerationJob job;
    job.prompt = "once upon a time";
    job.options = {.mode = mode, .max_tokens = 12, .ignore_end_of_text = true};
    job.use_adapters = !disabled;
    job.listener = listener_;
    GenerationTask task(services_, "r", std::move(job));
    RunToEnd(&task);
    EXPECT_TRUE(listener_->end.ok()) << listener_->end.status();
    if (uses != nullptr) {
      *uses = listener_->end->adapters;
    }
    return trajectories_->Get("r")->completion;
  }

  const test::GlobalCores cores_{test::TinyTextModel()};
};

TEST_F(GlobalAdapterTest, ItActsBeneathTheCataloguesAdaptersAndThePatterns) {
  std::vector<float> near(static_cast<size_t>(model_->config().width));
  near.front() = 1;
  PutPattern(near);
  ASSERT_TRUE(Load("own", 0.5F).ok());
  EXPECT_THAT(Get({}, near), ElementsAre("own@1*0.5", HasSubstr("random-1@1*")));
  const auto global = Version(3);
  catalog_->SetGlobal(global);
  EXPECT_THAT(Get({}, near), ElementsAre("global@3*1", "own@1*0.5", HasSubstr("random-1@1*")));
  const ChosenAdapters chosen = adapters_->Choose(near, {}).value();
  EXPECT_EQ(chosen.from_catalog, 2u);
  const inference::AdapterMix mix = chosen.At(0.5F);
  ASSERT_EQ(mix.parts.size(), 3u);
  EXPECT_EQ(mix.parts[0].adapter, global->trunk);
  EXPECT_EQ(mix.parts[0].weight, 1.0F);
  catalog_->SetGlobal(nullptr);
  EXPECT_THAT(Get({}, near), ElementsAre("own@1*0.5", HasSubstr("random-1@1*")));
}

TEST_F(GlobalAdapterTest, ChoicesKeepItUnlessTheyNameIt) {
  ASSERT_TRUE(Load("own", 0).ok());
  catalog_->SetGlobal(Version(3));
  EXPECT_THAT(Get({}), ElementsAre("global@3*1"));
  EXPECT_THAT(Get({{.name = "own", .weight = 2}}), ElementsAre("global@3*1", "own@1*2"));
  EXPECT_THAT(Get({{.name = "own"}, {.name = kGlobalAdapter, .weight = 0.5F}}),
              ElementsAre("own@1*1", "global@3*0.5"));
  EXPECT_THAT(Get({{.name = kGlobalAdapter, .version = 3}}), ElementsAre("global@3*1"));
  EXPECT_THAT(Get({{.name = kGlobalAdapter, .weight = 0}}), IsEmpty());
  const std::vector<AdapterChoice> high = {{.name = kGlobalAdapter, .t_min = 0.5F}};
  const ChosenAdapters ranged = adapters_->Choose({}, high).value();
  EXPECT_TRUE(ranged.At(0.4F).empty());
  EXPECT_FALSE(ranged.At(0.6F).empty());
  const std::vector<AdapterChoice> former = {{.name = kGlobalAdapter, .version = 2}};
  EXPECT_EQ(ReasonOf(adapters_->Choose({}, former).status()), reasons::kNotFound);
  catalog_->SetGlobal(nullptr);
  const std::vector<AdapterChoice> none = {{.name = kGlobalAdapter}};
  EXPECT_EQ(ReasonOf(adapters_->Choose({}, none).status()), reasons::kNotFound);
}

TEST_F(GlobalAdapterTest, ARequestKeepsTheVersionWithWhichItBegan) {
  catalog_->SetGlobal(Version(1));
  const ChosenAdapters chosen = adapters_->Choose({}, {}).value();
  const inference::AdapterMix before = chosen.At(1);
  catalog_->SetGlobal(Version(2));
  EXPECT_TRUE(inference::SameMix(chosen.At(1), before));
  EXPECT_EQ(chosen.uses.front().version, 1u);
  // Other patterns that a running completion takes leave it as it is, too.
  std::vector<float> near(static_cast<size_t>(model_->config().width));
  near.front() = 1;
  PutPattern(near);
  const ChosenAdapters next =
      adapters_->Reselect(chosen, near, inference::BankOf(1), inference::UncertaintyKind::kDiffuse)
          .value();
  ASSERT_EQ(next.uses.size(), 2u);
  EXPECT_EQ(next.uses.front().version, 1u);
}

TEST_F(GlobalAdapterTest, ItIsListedButNotManaged) {
  ASSERT_TRUE(Load("a", 1).ok());
  ASSERT_TRUE(Load("z", 1).ok());
  EXPECT_EQ(ReasonOf(catalog_->Unload(kGlobalAdapter, std::nullopt).status()), reasons::kNotFound)
      << "there is none yet";
  const uint64_t bytes = catalog_->Stats().hot_bytes;
  const auto global = Version(7);
  catalog_->SetGlobal(global);
  EXPECT_EQ(catalog_->Stats().hot_bytes, bytes) << "it counts in no budget";
  EXPECT_THAT(Get({}), ElementsAre("global@7*1", "a@1*1", "z@1*1"));
  const std::vector<CatalogEntry> entries = catalog_->List();
  ASSERT_EQ(entries.size(), 3u);
  const CatalogEntry& entry = entries[1];
  EXPECT_EQ(entry.info.name, kGlobalAdapter);
  EXPECT_EQ(entry.info.version, 7u);
  EXPECT_EQ(entry.info.id, inference::AdapterId(*global));
  EXPECT_EQ(entry.info.uses, 1u);
  EXPECT_TRUE(entry.info.served);
  EXPECT_EQ(entry.weight, 1);
  EXPECT_EQ(entry.origin, AdapterOrigin::kRounds);
  EXPECT_EQ(entry.summary.kind, inference::AdapterKind::kCore);
  EXPECT_EQ(catalog_->Find(kGlobalAdapter, std::nullopt)->adapter, global);
  EXPECT_EQ(catalog_->Find(kGlobalAdapter, 7)->adapter, global);
  EXPECT_TRUE(absl::IsNotFound(catalog_->Find(kGlobalAdapter, 6).status()));
  const absl::Status refused = catalog_->Unload(kGlobalAdapter, 7).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_THAT(MessageOf(refused), AllOf(HasSubstr("rounds"), HasSubstr("weight 0")));
  EXPECT_EQ(catalog_->SetPinned(kGlobalAdapter, std::nullopt, true).status(), refused);
  EXPECT_EQ(catalog_->Rollback(kGlobalAdapter, std::nullopt).status(), refused);
  EXPECT_THAT(MessageOf(catalog_->Choose(std::vector<AdapterChoice>{{.name = "two"}}).status()),
              HasSubstr("a, global, z"));
}

TEST_F(GlobalAdapterTest, ItsNameIsNotFree) {
  EXPECT_THAT(MessageOf(Load(kGlobalAdapter, 1)),
              AllOf(HasSubstr("called 'global'"), HasSubstr("--name")));
}

TEST_F(GlobalAdapterTest, TrainingHasTheMeanOfItsBanksBeneath) {
  const test::GlobalCores banked(test::TinyTextModel(), {0.25F});
  const auto global = banked.Adapter(banked.Random(1, 1));
  ASSERT_EQ(global->residuals.size(), 2u);
  catalog_->SetGlobal(global);
  const std::vector<RangedPart> parts = catalog_->Choose({}).value();
  EXPECT_EQ(MixAt(parts, 0.1F).parts.front().adapter, global->residuals[0]);
  EXPECT_EQ(MixAt(parts, 0.9F).parts.front().adapter, global->residuals[1]);
  const inference::AdapterMix mix = MixForAllT(parts);
  ASSERT_EQ(mix.parts.size(), 2u);
  EXPECT_EQ(mix.parts[0].adapter, global->residuals[0]);
  EXPECT_NEAR(mix.parts[0].weight, 0.25F, 1e-5F);
  EXPECT_NEAR(mix.parts[1].weight, 0.75F, 1e-5F);
}

TEST_F(GlobalAdapterTest, ARequestWithoutAdaptersGetsTheBaseModel) {
  std::vector<AdapterUse> uses;
  const std::string bare = Complete(false);
  catalog_->SetGlobal(Version(1));
  EXPECT_NE(Complete(false, &uses), bare);
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses.front().name, kGlobalAdapter);
  EXPECT_EQ(Complete(true, &uses), bare);
  EXPECT_TRUE(uses.empty());
}

// Keys and values in the cache of prefixes belong to the adapters that made them.
TEST_F(GlobalAdapterTest, NoVersionReadsThePrefixesOfAnother) {
  constexpr auto kMode = inference::DecodingMode::kAutoregressive;
  const auto model = std::make_shared<test::TextModel>();
  model->mutable_config().causal = true;
  Use(model);
  std::vector<std::string> alone;
  for (const uint32_t version : {0, 1, 2}) {
    catalog_->SetGlobal(version == 0 ? nullptr : Version(version));
    alone.push_back(Complete(false, nullptr, kMode));
  }
  ASSERT_NE(alone[0], alone[1]);
  ASSERT_NE(alone[1], alone[2]);
  services_.prefixes = std::make_shared<inference::PrefixTree>(
      inference::KvPool::Create(model_->config(), inference::KvFormat::kF32, 1 << 24).value());
  for (int turn = 0; turn < 2; ++turn) {
    for (const uint32_t version : {0, 1, 2}) {
      catalog_->SetGlobal(version == 0 ? nullptr : Version(version));
      EXPECT_EQ(Complete(false, nullptr, kMode), alone[version]) << version;
    }
  }
}

}  // namespace
}  // namespace ruvd::serving
