// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/general_text_gate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/transformer/cpu_transformer.h"
#include "node/learning/general_text.h"
#include "tests/inference/text_model.h"

namespace ruvd::learning {
namespace {

using test::TextModel;

class GeneralTextGateTest : public ::testing::Test {
 protected:
  static std::shared_ptr<const TextModel> MakeModel(int context = 1024) {
    test::TinyModel::Options options = TextModel::Defaults();
    options.layers = 1;
    options.context = context;  // 1024: the passage, byte by byte
    return std::make_shared<const TextModel>(options);
  }
  std::shared_ptr<const inference::Adapter> RandomChange() const {
    return test::RandomAdapter(
        *model_, {{"blk.0.attn_v.weight", inference::FindMatrix(*model_, "blk.0.attn_v.weight")}},
        1);
  }

  std::shared_ptr<const inference::Adapter> NoChange() const {
    auto adapter = std::make_shared<inference::Adapter>();
    adapter->model_hash = model_->hash();
    return adapter;
  }

  const std::shared_ptr<const TextModel> model_ = MakeModel();
  inference::CpuTransformer transformer_{model_, SerialRunner()};
  GeneralTextGate gate_;
};

TEST_F(GeneralTextGateTest, AnAdapterThatChangesNothingPasses) {
  const auto verdict = gate_.Check(transformer_, NoChange()).value();
  EXPECT_TRUE(verdict.pass);
  EXPECT_EQ(verdict.before, verdict.after);
  EXPECT_NE(gate_.Check(transformer_, RandomChange())->after, verdict.before);
}

// Regression test: the gate ran to its end when a node was told to stop.
TEST_F(GeneralTextGateTest, AStoppingNodeWaitedForTheWholeCheck) {
  int asked = 0;
  const auto stopped = gate_.Check(transformer_, RandomChange(), [&asked] { return ++asked > 3; });
  EXPECT_EQ(ReasonOf(stopped.status()), reasons::kCancelled);
  EXPECT_EQ(asked, 4);  // and no forward was run after that
  EXPECT_TRUE(gate_.Check(transformer_, NoChange())->pass);
}

// Regression test: the passage was not cut, so with such a context nothing could be judged.
TEST_F(GeneralTextGateTest, AContextThatIsShorterThanThePassageStillJudges) {
  const auto small = MakeModel(256);
  inference::CpuTransformer transformer(small, SerialRunner());
  auto adapter = std::make_shared<inference::Adapter>();
  adapter->model_hash = small->hash();
  const auto verdict = gate_.Check(transformer, adapter);
  ASSERT_TRUE(verdict.ok()) << verdict.status();
  EXPECT_TRUE(verdict->pass);
}

TEST_F(GeneralTextGateTest, PassagesOfTheOperatorAreWhatItMeasures) {
  const auto tokens = [&](std::string_view text) { return model_->tokenizer().EncodePrompt(text); };
  GeneralTextGate one({tokens("a ship sails home")});
  GeneralTextGate two({tokens("a ship sails home"), tokens("the lamp burns low")});
  const double built_in = gate_.Check(transformer_, NoChange())->before;
  const double ship = one.Check(transformer_, NoChange())->before;
  EXPECT_NE(ship, built_in);
  EXPECT_NE(two.Check(transformer_, NoChange())->before, ship);
}

TEST_F(GeneralTextGateTest, BanksActWhereTheyActInCompletions) {
  const auto residual = RandomChange();
  inference::Talora talora{.name = "banks", .model_hash = model_->hash()};
  talora.schedule.boundaries = {0.5F};
  talora.residuals = {residual, NoChange()};
  const auto low =
      gate_
          .Check(transformer_,
                 {.adapter = std::make_shared<const inference::Talora>(std::move(talora))})
          .value();
  EXPECT_NE(low.after, low.before);
  EXPECT_NE(low.after, gate_.Check(transformer_, residual)->after) << "not at every t";
}

TEST_F(GeneralTextGateTest, AnAdapterWhoseWordsGeneralTextLacksHardlyActs) {
  const size_t vocabulary = static_cast<size_t>(model_->config().vocabulary);
  std::set<inference::TokenId> general;
  for (const std::vector<inference::TokenId>& passage : BuiltInPassages(*model_).measured) {
    general.insert(passage.begin(), passage.end());
  }
  inference::LessonWords foreign{.lessons = 1000};
  inference::LessonWords own{.lessons = 1000};
  for (inference::TokenId token = 0; token < vocabulary; ++token) {
    (general.contains(token) ? own : foreign).counts.push_back({.token = token, .lessons = 1000});
  }
  ASSERT_FALSE(foreign.counts.empty());
  // The bytes from 128 on are the commonest, which say nothing; letters are rare.
  std::vector<float> frequency(vocabulary, -4.8F);
  std::fill_n(frequency.begin(), 128, -9.0F);
  const std::string target = "blk.0.attn_v.weight";
  // Large enough that whatever it does to a text is a loss
  const auto adapter = test::RandomAdapter(
      *model_, {{target, inference::FindMatrix(*model_, target)}}, 1, /*spread=*/4);
  const auto check = [&](const inference::LessonWords& words) {
    return gate_
        .Check(transformer_,
               {.adapter = StaticTalora(adapter),
                .evidence = std::make_shared<inference::WordEvidence>(words, frequency)})
        .value();
  };
  const auto loss = [&](const inference::LessonWords& words) {
    const GeneralTextGate::Verdict verdict = check(words);
    return verdict.after - verdict.before;
  };
  // While hardly a word is known, the adapter acts in part.
  EXPECT_GT(loss(own), 0);
  EXPECT_LT(loss(foreign), loss(own) / 4);
}

}  // namespace
}  // namespace ruvd::learning
