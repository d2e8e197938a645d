// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/adapter_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_file.h"
#include "ruvd/storage/v1/state.pb.h"
#include "tests/inference/text_model.h"
#include "tests/node/database_fixture.h"

namespace ruvd::serving {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class AdapterCatalogTest : public DatabaseTest {
 protected:
  // A plain file NAME.gguf.
  std::string File(const std::string& name) {
    const std::string target = "blk.1.attn_output.weight";
    inference::Adapter adapter =
        *test::RandomAdapter(*model_, {{target, inference::FindMatrix(*model_, target)}}, 1);
    adapter.name = name;
    const std::string path = folder_ / (name + ".gguf");
    EXPECT_TRUE(inference::SaveAdapterFile(adapter, *model_, path).ok());
    return path;
  }

  const std::shared_ptr<const inference::Model> model_ = test::TinyTextModel();
};

// Found by review: an import that came too late deleted the file of the one that succeeded.
TEST_F(AdapterCatalogTest, OfImportsOfOneFileAtOnceOneStays) {
  const std::string file = ReadFile(File("one"), 1 << 24).value();
  const fs::path imported = folder_ / "imported";
  AdapterCatalog catalog(*model_, {.folder = imported});
  for (int round = 0; round < 50; ++round) {
    std::atomic<int> succeeded = 0;
    std::vector<std::thread> callers;
    for (int i = 0; i < 8; ++i) {
      callers.emplace_back([&] { succeeded += catalog.Import(file, std::nullopt).ok() ? 1 : 0; });
    }
    for (std::thread& caller : callers) {
      caller.join();
    }
    EXPECT_EQ(succeeded, 1);
    ASSERT_FALSE(fs::is_empty(imported));
    ASSERT_TRUE(catalog.Unload("one", std::nullopt).ok());
    ASSERT_TRUE(fs::is_empty(imported));
  }
}

// gRPC bounds the size of an error.
TEST_F(AdapterCatalogTest, AnUnknownNameIsAnsweredWithSomeThatAreKnown) {
  AdapterCatalog catalog(*model_, {});
  for (int i = 100; i < 120; ++i) {
    ASSERT_TRUE(catalog.Load(File("adapter-" + std::to_string(i)), 0).ok());
  }
  const std::vector<AdapterChoice> choices = {{.name = "two"}};
  EXPECT_THAT(MessageOf(catalog.Choose(choices).status()),
              AllOf(HasSubstr("adapter-107 and 12 more"), HasSubstr("adapter ls"),
                    Not(HasSubstr("adapter-108"))));
}

TEST_F(AdapterCatalogTest, SaysWhetherChoosingReadsFiles) {
  AdapterCatalog catalog(*model_, {.budget = 1});  // nothing stays in memory
  ASSERT_TRUE(catalog.Load(File("unused"), 0).ok());
  EXPECT_FALSE(catalog.NeedsFiles({}));
  ASSERT_TRUE(catalog.Load(File("used"), 1).ok());
  EXPECT_TRUE(catalog.NeedsFiles({}));
  const std::vector<AdapterChoice> unused = {{.name = "unused"}};
  const std::vector<AdapterChoice> off = {{.name = "unused", .weight = 0}};
  EXPECT_TRUE(catalog.NeedsFiles(unused));
  EXPECT_FALSE(catalog.NeedsFiles(off));
  const auto held = catalog.Choose(unused);
  ASSERT_TRUE(held.ok());
  EXPECT_FALSE(catalog.NeedsFiles(unused));
  EXPECT_TRUE(catalog.NeedsFiles({}));
}

// Found by review: an imported adapter called deep was taken for what the deep loop had learned.
TEST_F(AdapterCatalogTest, TheNameOfWhatTheDeepLoopLearnsIsNotFree) {
  storage::StateStore state(*database_);
  AdapterCatalog catalog(*model_, {.folder = folder_ / "imported", .state = &state});
  const std::string file = File("deep");
  const absl::Status loaded = catalog.Load(file, 1).status();
  EXPECT_THAT(MessageOf(loaded), AllOf(HasSubstr("called 'deep'"), HasSubstr("--name")));
  EXPECT_EQ(catalog.Import(ReadFile(file, 1 << 24).value(), 1).status(), loaded);
  EXPECT_THAT(MessageOf(catalog.LoadConfigured(std::vector{file})), HasSubstr("called 'deep'"));
  fs::create_directories(folder_ / "imported");
  fs::copy_file(file, folder_ / "imported" / "before.gguf");  // by a version that accepted it
  catalog.LoadImported();
  EXPECT_TRUE(catalog.List().empty());
  inference::Adapter own = *test::RandomAdapter(
      *model_,
      {{"blk.1.attn_output.weight", inference::FindMatrix(*model_, "blk.1.attn_output.weight")}},
      1);
  own.name = "deep";
  EXPECT_TRUE(
      catalog
          .Publish(inference::StaticTalora(std::make_shared<const inference::Adapter>(own)), 1.0F)
          .ok());
}

TEST_F(AdapterCatalogTest, WhatANodeLearnedIsInItsStore) {
  storage::StateStore state(*database_);
  const AdapterCatalogOptions options{.budget = 1, .state = &state};
  inference::Adapter own = *test::RandomAdapter(
      *model_,
      {{"blk.1.attn_output.weight", inference::FindMatrix(*model_, "blk.1.attn_output.weight")}},
      1);
  own.name = "deep";
  own.version = 3;
  const auto learned = inference::StaticTalora(std::make_shared<const inference::Adapter>(own));
  {
    AdapterCatalog catalog(*model_, options);
    const auto published = catalog.Publish(learned, 1.0F);
    ASSERT_TRUE(published.ok()) << published.status();
    EXPECT_EQ(published->path, "");
  }
  const auto name = storage::state::LearnedAdapter("deep", 3);
  EXPECT_TRUE(HasState(name));
  {
    AdapterCatalog again(*model_, options);
    again.LoadLearned();
    ASSERT_EQ(again.List().size(), 1u);
    EXPECT_EQ(again.List().front().info.version, 3u);
    EXPECT_TRUE(again.Find("deep", 3).ok()) << "it is read again, because the budget is small";
  }
  // A value under the name of another version is left out.
  const storage::v1::LearnedAdapter stored = state.Get(name)->value();
  ASSERT_TRUE(state.Put(storage::state::LearnedAdapter("deep", 9), stored).ok());
  AdapterCatalog renamed(*model_, options);
  renamed.LoadLearned();
  EXPECT_EQ(renamed.List().size(), 1u);
  EXPECT_TRUE(renamed.Unload("deep", 3).ok());
  EXPECT_FALSE(HasState(name));
  ASSERT_TRUE(renamed.Publish(learned, 1.0F).ok());
  DamageState(name);
  AdapterCatalog damaged(*model_, options);
  damaged.LoadLearned();
  EXPECT_TRUE(damaged.List().empty());
  EXPECT_EQ(ReasonOf(AdapterCatalog(*model_, {}).Publish(learned, 1.0F).status()),
            reasons::kInvalidArgument)
      << "there is no store";
}

// One alpha cannot express two ranks: reading the file back gives other bits, and it was taken for
// a file that had changed.
TEST_F(AdapterCatalogTest, APublishedAdapterOfMixedRanksCanBeReadAgain) {
  storage::StateStore state(*database_);
  AdapterCatalog catalog(*model_, {.budget = 1, .state = &state});
  inference::Adapter adapter = *test::RandomAdapter(
      *model_,
      {{"blk.0.attn_output.weight", inference::FindMatrix(*model_, "blk.0.attn_output.weight")},
       {"blk.1.attn_output.weight", inference::FindMatrix(*model_, "blk.1.attn_output.weight")}},
      1);
  adapter.name = "mixed";
  adapter.targets.at("blk.0.attn_output.weight").scale = 0.7F;
  adapter.targets.at("blk.1.attn_output.weight").scale = 0.3F;
  ASSERT_TRUE(
      catalog
          .Publish(inference::StaticTalora(std::make_shared<const inference::Adapter>(adapter)),
                   1.0F)
          .ok());
  const auto read = catalog.Find("mixed", std::nullopt);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(inference::AdapterId(*read->adapter), read->info.id);
}

}  // namespace
}  // namespace ruvd::serving
