// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/parallel.h"
#include "base/status.h"
#include "federation/daf/adapter_update.h"
#include "federation/daf/core_delta.h"
#include "inference/train/trainer.h"
#include "inference/transformer/cpu_transformer.h"
#include "node/learning/general_text.h"
#include "node/sharing/federated_model.h"
#include "tests/node/database_fixture.h"
#include "tests/node/node_fixture.h"

namespace ruvd {

inline constexpr int kModelRank = 4;
inline constexpr size_t kModelValues = kModelRank * kModelRank;
inline constexpr char kJudged[] =
    " counted the ships every evening and wrote their names in a book.";
inline const Digest kModelTestPackage = Sha256("package");

// A global adapter of a real model with two banks of t, and the updates that rounds are given.
class FederatedModelTest : public DatabaseTest {
 protected:
  void SetUp() override {
    DatabaseTest::SetUp();
    model_ = inference::Model::Load(kSmallModel).value();
    transformer_ = std::make_unique<inference::CpuTransformer>(model_, SerialRunner());
    frame_ = inference::RandomFrame(*model_, kModelRank, 1).value();
    trajectories_ = storage::TrajectoryStore::Open(*database_, {}).value();
    patterns_ = storage::PatternStore::Open(
                    *database_, {.dimension = static_cast<uint32_t>(model_->config().width)})
                    .value();
    options_.layout = {.frame = &frame_, .model_hash = kModelTestPackage, .boundaries = {0.5F}};
    options_.self = IdOf(0);
    options_.general = learning::BuiltInPassages(*model_).measured;
    options_.state = &state_.emplace(*database_);
  }
  static privacy::NodeId IdOf(uint8_t number) {
    privacy::NodeId id{};
    id[0] = number;
    return id;
  }
  // Adds `count` lessons that judge, each with its own prompt.
  void AddJudges(size_t count) {
    for (size_t i = 0; count > 0; ++i) {
      const std::string id = fmt::format("lesson {}", i);
      if (!learning::IsEvaluationLesson(id)) {
        continue;
      }
      --count;
      ASSERT_TRUE(trajectories_
                      ->Put({.response_id = id,
                             .prompt = fmt::format("The lighthouse keeper of house {}", i),
                             .completion = kJudged,
                             .embedded_by = std::string(AsText(kModelTestPackage)),
                             .created_ms = clock_.WallMillis()})
                      .ok());
      ASSERT_TRUE(trajectories_->SetFeedback(id, {.accepted = true}).ok());
    }
  }
  // Returns a core for each half of t that has learned the lesson.
  const federation::BankedValues& Learned() {
    if (learned_.empty()) {
      const inference::TrainingExample example{
          .prompt = model_->tokenizer().EncodePrompt("The lighthouse keeper of house 7"),
          .completion = model_->tokenizer().EncodePrompt(kJudged)};
      inference::TrainingOptions training{
          .steps = 120, .batch = 4, .seed = 1, .bank_boundaries = {0.5F}};
      const auto result =
          TrainLastLayerCore(*transformer_, frame_, std::span(&example, 1), {}, nullptr, training);
      EXPECT_TRUE(result.ok()) << result.status();
      EXPECT_EQ(result->core.size(), 2 * kModelValues);
      EXPECT_EQ(result->adapter, nullptr);
      EXPECT_LT(result->held_out_after, result->held_out_before);
      learned_ = {{result->core.begin(), result->core.begin() + kModelValues},
                  {result->core.begin() + kModelValues, result->core.end()}};
    }
    return learned_;
  }
  // Returns a core that has almost no effect.
  static std::vector<float> Small(float value) { return std::vector<float>(kModelValues, value); }
  static std::vector<float> Times(std::vector<float> values, float factor) {
    for (float& value : values) {
      value *= factor;
    }
    return values;
  }
  void Add(uint8_t node, const federation::BankedValues& banks) {
    sharing::UpdateLayout layout = options_.layout;
    layout.boundaries = banks.size() == 1 ? std::vector<float>() : std::vector<float>{0.5F};
    AddPayload(node, federation::EncodeAdapterUpdate(sharing::UpdateOfBanks(layout, banks, 1)));
  }
  void AddPayload(uint8_t node, std::string payload) {
    std::erase_if(items_,
                  [node](const federation::Item& item) { return item.origin == IdOf(node); });
    federation::Item item{.origin = IdOf(node), .created_ms = node};
    item.payload = std::make_shared<const std::string>(std::move(payload));
    items_.push_back(std::move(item));
  }
  // Adds the same update for each of five nodes, so that combining them does not change it.
  void AddFive(const federation::BankedValues& banks) {
    for (uint8_t node = 1; node <= 5; ++node) {
      Add(node, banks);
    }
  }
  // Returns a masked sum of these nodes that has almost no effect.
  std::shared_ptr<const sharing::MaskedMean> SumOf(const std::vector<uint8_t>& members) const {
    sharing::MaskedMean mean{
        .name = IdOf(0xff),
        .round = 1,
        .expires_ms = 1,
        .update = sharing::UpdateOfBanks(options_.layout, {Small(1e-3F), Small(1e-3F)}, 0)};
    for (const uint8_t member : members) {
      mean.members.push_back(IdOf(member));
    }
    return std::make_shared<const sharing::MaskedMean>(std::move(mean));
  }
  void Open() {
    auto model = sharing::FederatedModel::Open(options_);
    ASSERT_TRUE(model.ok()) << model.status();
    federated_ = *std::move(model);
  }
  learning::LearningServices Services() {
    return {.clock = &clock_,
            .transformer = transformer_.get(),
            .trajectories = trajectories_.get(),
            .patterns = patterns_.get(),
            .package_id = kModelTestPackage,
            .cancelled = [this] { return cancelled_; }};
  }
  sharing::FederatedOutcome Run(sharing::MaskedMeanList sums = {}) {
    if (federated_ == nullptr) {
      Open();
    }
    auto outcome = federated_->RunFederatedRound(Services(), items_, std::move(sums));
    EXPECT_TRUE(outcome.ok()) << outcome.status();
    return outcome.ok() ? *std::move(outcome) : sharing::FederatedOutcome();
  }
  static std::vector<federation::BankVerdict> Verdicts(const sharing::FederatedOutcome& outcome) {
    std::vector<federation::BankVerdict> verdicts;
    for (const sharing::BankOutcome& bank : outcome.banks) {
      verdicts.push_back(bank.verdict);
    }
    return verdicts;
  }
  // Returns what is served at a masked share.
  std::vector<float> ServedAt(const inference::Talora& adapter, float t) const {
    inference::AdapterMix mix;
    inference::AppendMix(adapter, t, {}, 1, &mix);
    return mix.parts.empty() ? std::vector<float>()
                             : mix.parts[0].adapter->targets.at(frame_.target).b;
  }

  std::optional<storage::StateStore> state_;
  std::shared_ptr<const inference::Model> model_;
  std::unique_ptr<inference::CpuTransformer> transformer_;
  inference::ProjectionFrame frame_;
  std::unique_ptr<storage::TrajectoryStore> trajectories_;
  std::unique_ptr<storage::PatternStore> patterns_;
  sharing::FederatedModelOptions options_;
  std::unique_ptr<sharing::FederatedModel> federated_;
  std::vector<federation::Item> items_;
  federation::BankedValues learned_;
  bool cancelled_ = false;
};

}  // namespace ruvd
