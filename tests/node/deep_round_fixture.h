// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/parallel.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/transformer/cpu_transformer.h"
#include "node/learning/deep_round.h"
#include "storage/changes/change_store.h"
#include "tests/node/database_fixture.h"
#include "tests/node/node_fixture.h"

namespace ruvd {

inline const Digest kDeepTestPackage = Sha256("package");
inline constexpr size_t kDeepTestLessons = 16;

// Deep rounds of the small model on lessons in a store.
class DeepRoundFixture : public DatabaseTest {
 protected:
  void SetUp() override {
    model_ = Model::Load(kSmallModel).value();
    transformer_ = std::make_unique<CpuTransformer>(model_, SerialRunner());
    Open();
    for (size_t i = 0; i < kDeepTestLessons; ++i) {
      AddLesson(fmt::format("lesson {:02}", i));
    }
  }
  DatabaseOptions Options() override {
    DatabaseOptions options = DatabaseTest::Options();
    options.seal_key = seal_key_;
    options.path = (shared_folder_ / "store").string();
    return options;
  }
  void Open() {
    auto database = Database::Open(Options());
    ASSERT_TRUE(database.ok()) << database.status();
    database_ = *std::move(database);
    trajectories_ = TrajectoryStore::Open(*database_, {}).value();
    patterns_ =
        PatternStore::Open(*database_, {.dimension = static_cast<uint32_t>(model_->config().width)})
            .value();
    changes_ = ChangeStore::Open(*database_).value();
    catalog_ = MakeCatalog();
  }
  void Close() {
    catalog_.reset();
    changes_.reset();
    patterns_.reset();
    trajectories_.reset();
    database_.reset();
  }
  std::unique_ptr<AdapterCatalog> MakeCatalog() {
    return std::make_unique<AdapterCatalog>(
        *model_, AdapterCatalogOptions{.learned_folder = (shared_folder_ / "learned").string(),
                                       .learned_key = seal_key_,
                                       .package_id = kDeepTestPackage,
                                       .reach_similarity = reach_similarity_});
  }
  void AddLesson(const std::string& id, const std::string& user = "") {
    ASSERT_TRUE(trajectories_
                    ->Put({.response_id = id,
                           .user_id = user,
                           .prompt = "The lighthouse keeper",
                           .completion = " counted the ships every evening and wrote it down.",
                           .embedded_by = std::string(AsText(kDeepTestPackage)),
                           .created_ms = clock_.WallMillis()})
                    .ok());
    ASSERT_TRUE(trajectories_->SetFeedback(id, {.accepted = true}).ok());
  }
  DeepServices Services() {
    DeepServices services;
    services.learning = {.clock = &clock_,
                         .transformer = transformer_.get(),
                         .trajectories = trajectories_.get(),
                         .patterns = patterns_.get(),
                         .package_id = kDeepTestPackage,
                         .changes = changes_.get(),
                         .cancelled = cancelled_};
    services.catalog = catalog_.get();
    services.gate = &gate_;
    services.checkpoint_path = Checkpoint();
    services.checkpoint_key = seal_key_;
    services.memories = &memories_;
    services.general = general_ ? &*general_ : nullptr;
    return services;
  }
  std::string Checkpoint() const { return (shared_folder_ / "checkpoint").string(); }
  std::unique_ptr<DeepRound> Begin(uint64_t seed = 1) {
    Random random(seed);
    auto round = DeepRound::Begin(Services(), options_, random);
    EXPECT_TRUE(round.ok()) << round.status();
    return round.ok() ? *std::move(round) : nullptr;
  }
  DeepResult Run(uint64_t seed = 1) {
    const auto round = Begin(seed);
    const auto trained = round->Work(std::chrono::hours(1));
    EXPECT_TRUE(trained.ok() && *trained) << trained.status();
    const auto result = round->Finish();
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or(DeepResult{});
  }
  // As if the round before had not been.
  DeepResult RunAnew(const DeepResult& before, uint64_t seed) {
    if (before.change) {
      EXPECT_TRUE(catalog_->Unload(kDeepAdapter, before.version).ok());
      EXPECT_TRUE(changes_->Remove(before.change->number).ok());
    }
    return Run(seed);
  }
  Digest ServedId() {
    const auto served = catalog_->Find(kDeepAdapter, std::nullopt);
    EXPECT_TRUE(served.ok()) << served.status();
    return served.ok() ? AdapterId(*served->adapter) : Digest{};
  }

  const SealKey seal_key_ = SealKey::FromBytes(Sha256("key")).value();
  std::filesystem::path shared_folder_ = folder_;
  float reach_similarity_ = 0.6F;
  DeepOptions options_{.rank = 2,
                       .steps = 6,
                       .epochs = 1000,
                       .batch = 2,
                       .learning_rate = 1e-3,
                       .guard = DeepGuard::kReplay,
                       .checkpoint_every = 1};
  // Time goes on with the work.
  std::function<bool()> cancelled_ = [this] {
    clock_.Advance(Duration(1));
    return false;
  };
  std::shared_ptr<const Model> model_;
  std::unique_ptr<CpuTransformer> transformer_;
  std::unique_ptr<TrajectoryStore> trajectories_;
  std::unique_ptr<PatternStore> patterns_;
  std::unique_ptr<ChangeStore> changes_;
  std::unique_ptr<AdapterCatalog> catalog_;
  GeneralTextGate gate_;
  const DeepMemories memories_{shared_folder_.string(), seal_key_};
  std::optional<GeneralPassages> general_;
};

}  // namespace ruvd
