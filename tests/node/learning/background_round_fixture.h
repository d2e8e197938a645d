// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/parallel.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/adapter/bank.h"
#include "inference/adapter/frame_set.h"
#include "inference/transformer/cpu_transformer.h"
#include "node/learning/background_round.h"
#include "node/serving/adapter_catalog.h"
#include "node/serving/pattern_payload.h"
#include "storage/consent/consent_book.h"
#include "tests/node/database_fixture.h"
#include "tests/node/node_fixture.h"

namespace ruvd::learning {

// Tests rounds of learning with the stores of a node and a small model. At first there are the
// lesson "r" and a pattern near it.
class BackgroundRoundTest : public DatabaseTest {
 protected:
  static constexpr storage::PatternId kId{1, 2, 3};
  inline static const Digest kRoundPackage = Sha256("package");

  void SetUp() override {
    DatabaseTest::SetUp();
    model_ = inference::Model::Load(kSmallModel).value();
    const auto width = static_cast<uint32_t>(model_->config().width);
    transformer_ = std::make_unique<inference::CpuTransformer>(model_, SerialRunner());
    patterns_ = storage::PatternStore::Open(*database_, {.dimension = width}).value();
    trajectories_ = storage::TrajectoryStore::Open(*database_, {}).value();
    embedding_.assign(width, 1 / std::sqrt(static_cast<float>(width)));
    other_ = embedding_;  // orthogonal to the former
    for (size_t i = 0; i < other_.size(); i += 2) {
      other_[i] = -other_[i];
    }
    AddLesson("r", embedding_);
    ASSERT_TRUE(patterns_->Put(Known()).ok());
  }
  void AddLesson(const std::string& id, const std::vector<float>& embedding,
                 const std::string& prompt = "The lighthouse keeper",
                 const Digest& package = kRoundPackage, const std::string& user = "") {
    ASSERT_TRUE(trajectories_
                    ->Put({.response_id = id,
                           .user_id = user,
                           .prompt = prompt,
                           .completion = " counted the ships every evening.",
                           .embedding = embedding,
                           .embedded_by = std::string(AsText(package)),
                           .created_ms = clock_.WallMillis()})
                    .ok());
    ASSERT_TRUE(trajectories_->SetFeedback(id, {.accepted = true}).ok());
  }
  // Returns a pattern with the embedding of the lesson "r".
  storage::Pattern Known() const {
    return {.id = kId,
            .embedding = embedding_,
            .bank = static_cast<uint32_t>(inference::BankOf(1)),
            .task = "walks",
            .created_ms = clock_.WallMillis(),
            .updated_ms = clock_.WallMillis() + 1000,
            .adapter_version = 4};
  }
  BackgroundRound Run(const std::set<std::string>& fresh,
                      const std::function<bool()>& cancelled = nullptr) {
    LearningServices services{.clock = &clock_,
                              .transformer = transformer_.get(),
                              .trajectories = trajectories_.get(),
                              .patterns = patterns_.get(),
                              .package_id = kRoundPackage,
                              .frame = frame_ ? &*frame_ : nullptr,
                              .shares_patterns = true,
                              .consents = consents_.get(),
                              .catalog = catalog_.get(),
                              .cancelled = cancelled,
                              .slice = slice_};
    services.between_slices = between_slices_;
    Random random(1);
    return RunBackgroundRound(services, options_, {fresh, stale_patterns_}, random);
  }
  // Runs a round of the lesson "r"; `meanwhile` is called once while it trains.
  LearnedPattern Learn(const std::function<void()>& meanwhile = [] {}) {
    int calls = 0;
    constexpr int kCallsBeforePatternsAreRead = 2;
    const BackgroundRound round = Run({"r"}, [&] {
      if (++calls == kCallsBeforePatternsAreRead + 1) {
        meanwhile();
      }
      return false;
    });
    EXPECT_TRUE(round.status.ok()) << round.status;
    EXPECT_GT(calls, kCallsBeforePatternsAreRead);
    EXPECT_EQ(round.patterns.size(), 1u);
    waiting_ = round.waiting;
    return round.patterns.empty() ? LearnedPattern{} : round.patterns.front();
  }

  // Gives the node a frame, in which it learns what may be shared.
  void MakeFrame() {
    frame_ =
        RandomFrameSet(*model_, LinearTargets(*model_, inference::Modules::kAll, 2), 8, 1).value();
  }
  serving::PatternPayload Payload() const {
    return serving::DecodePatternPayload(patterns_->Get(kId)->payload).value();
  }

  storage::DatabaseOptions Options() override {
    storage::DatabaseOptions options = DatabaseTest::Options();
    options.soft_reserve_bytes = 2000;
    options.hard_reserve_bytes = 1000;
    options.free_bytes = [this](const std::string&) -> absl::StatusOr<uint64_t> {
      return free_bytes_;
    };
    return options;
  }

  BackgroundOptions options_{.training = {.core_rank = 4, .steps = 3, .min_improvement = -100}};
  Duration slice_ = std::chrono::milliseconds(100);
  std::function<absl::Status(uint64_t)> between_slices_;
  uint64_t free_bytes_ = uint64_t{1} << 40;
  std::shared_ptr<const inference::Model> model_;
  std::unique_ptr<inference::CpuTransformer> transformer_;
  std::unique_ptr<storage::PatternStore> patterns_;
  std::unique_ptr<storage::TrajectoryStore> trajectories_;
  std::vector<float> embedding_;
  std::vector<float> other_;
  std::optional<inference::FrameSet> frame_;          // none: adapters are LoRAs
  std::unique_ptr<storage::ConsentBook> consents_;    // null: all users agree
  std::unique_ptr<serving::AdapterCatalog> catalog_;  // null: nothing acts beneath patterns
  bool stale_patterns_ = false;
  std::set<std::string> waiting_;  // after Learn
};

}  // namespace ruvd::learning
