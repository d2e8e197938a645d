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
    model_ = inference::Model::Load(kSmallModel).value();
    transformer_ = std::make_unique<inference::CpuTransformer>(model_, SerialRunner());
    Open();
    for (size_t i = 0; i < kDeepTestLessons; ++i) {
      AddLesson(fmt::format("lesson {:02}", i));
    }
  }
  storage::DatabaseOptions Options() override {
    storage::DatabaseOptions options = DatabaseTest::Options();
    options.seal_key = seal_key_;
    options.path = (shared_folder_ / "store").string();
    return options;
  }
  void Open() {
    auto database = storage::Database::Open(Options());
    ASSERT_TRUE(database.ok()) << database.status();
    database_ = *std::move(database);
    state_ = std::make_unique<storage::StateStore>(*database_);
    memories_ = std::make_unique<learning::DeepMemories>(*state_);
    trajectories_ = storage::TrajectoryStore::Open(*database_, {}).value();
    patterns_ = storage::PatternStore::Open(
                    *database_, {.dimension = static_cast<uint32_t>(model_->config().width)})
                    .value();
    changes_ = storage::ChangeStore::Open(*database_).value();
    catalog_ = MakeCatalog();
  }
  void Close() {
    catalog_.reset();
    changes_.reset();
    patterns_.reset();
    trajectories_.reset();
    memories_.reset();
    state_.reset();
    database_.reset();
  }
  std::unique_ptr<serving::AdapterCatalog> MakeCatalog() {
    return std::make_unique<serving::AdapterCatalog>(
        *model_, serving::AdapterCatalogOptions{.state = state_.get(),
                                                .public_log_frequency = public_log_frequency_});
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
  learning::DeepServices Services() {
    learning::DeepServices services;
    services.learning = {.clock = &clock_,
                         .transformer = transformer_.get(),
                         .trajectories = trajectories_.get(),
                         .patterns = patterns_.get(),
                         .package_id = kDeepTestPackage,
                         .changes = changes_.get(),
                         .cancelled = cancelled_};
    services.catalog = catalog_.get();
    services.gate = &gate_;
    services.state = state_.get();
    services.memories = memories_.get();
    services.general = general_ ? &*general_ : nullptr;
    return services;
  }
  bool HasCheckpoint() const { return HasState(storage::state::DeepCheckpoint()); }
  std::unique_ptr<learning::DeepRound> Begin(uint64_t seed = 1) {
    Random random(seed);
    auto round = learning::DeepRound::Begin(Services(), options_, random);
    EXPECT_TRUE(round.ok()) << round.status();
    return round.ok() ? *std::move(round) : nullptr;
  }
  learning::DeepResult Run(uint64_t seed = 1) {
    const auto round = Begin(seed);
    const auto trained = round->Work(std::chrono::hours(1));
    EXPECT_TRUE(trained.ok() && *trained) << trained.status();
    const auto result = round->Finish();
    EXPECT_TRUE(result.ok()) << result.status();
    return result.value_or(learning::DeepResult{});
  }
  // Runs as if the round before had not taken place.
  learning::DeepResult RunAnew(const learning::DeepResult& before, uint64_t seed) {
    if (before.change) {
      EXPECT_TRUE(catalog_->Unload(serving::kDeepAdapter, before.version).ok());
      EXPECT_TRUE(changes_->Remove(before.change->number).ok());
    }
    return Run(seed);
  }
  Digest ServedId() {
    const auto served = catalog_->Find(serving::kDeepAdapter, std::nullopt);
    EXPECT_TRUE(served.ok()) << served.status();
    return served.ok() ? inference::AdapterId(*served->adapter) : Digest{};
  }

  const privacy::SealKey seal_key_ = privacy::SealKey::FromBytes(Sha256("key")).value();
  std::filesystem::path shared_folder_ = folder_;
  // A catalogue that is made without it lets words decide nothing.
  std::vector<float> public_log_frequency_;
  learning::DeepOptions options_{.rank = 2,
                                 .steps = 6,
                                 .epochs = 1000,
                                 .batch = 2,
                                 .learning_rate = 1e-3,
                                 .guard = learning::DeepGuard::kReplay,
                                 .checkpoint_every = 1};
  // Time advances with the work.
  std::function<bool()> cancelled_ = [this] {
    clock_.Advance(Duration(1));
    return false;
  };
  std::shared_ptr<const inference::Model> model_;
  std::unique_ptr<inference::CpuTransformer> transformer_;
  std::unique_ptr<storage::StateStore> state_;
  std::unique_ptr<learning::DeepMemories> memories_;
  std::unique_ptr<storage::TrajectoryStore> trajectories_;
  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<storage::ChangeStore> changes_;
  std::unique_ptr<serving::AdapterCatalog> catalog_;
  learning::GeneralTextGate gate_;
  std::optional<learning::GeneralPassages> general_;
};

}  // namespace ruvd
