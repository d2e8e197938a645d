// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests which experts of peers a node lets serve, with a real model.

#include "node/sharing/expert_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "federation/patterns/shared_expert.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/talora_file.h"
#include "node/serving/experts.h"
#include "node/serving/pattern_payload.h"
#include "node/sharing/shared_items.h"
#include "tests/node/judging_fixture.h"
#include "tests/node/shared_core.h"

namespace ruvd::sharing {
namespace {

using testing::HasSubstr;

constexpr char kOther[] = "Once upon a time a princess danced with her kind friends";
constexpr char kMore[] = " times in the garden behind the old castle.";

class ExpertTrialTest : public JudgingTest {
 protected:
  void SetUp() override {
    JudgingTest::SetUp();
    // The first 300 tokens are the commonest, and say nothing.
    std::vector<float> frequency(static_cast<size_t>(model_->config().vocabulary), -9.0F);
    std::fill_n(frequency.begin(), 300, -5.0F);
    catalog_ = std::make_unique<serving::AdapterCatalog>(
        *model_, serving::AdapterCatalogOptions{.public_log_frequency = frequency});
    test::SharedPatterns shared(model_);
    const storage::Pattern row =
        PatternFromShared(shared.Learned(1, "The lighthouse keeper of house 7", kJudged, 1000),
                          peer_, &shared.frame(), 1)
            .value();
    const auto payload = serving::DecodePatternPayload(row.payload).value();
    inference::Adapter learned =
        *serving::AdapterOfPattern(row, payload, *model_, &shared.frame()).value();
    learned.kind = inference::AdapterKind::kLora;
    learned.frame_id = {};
    learned_ = std::make_shared<const inference::Adapter>(std::move(learned));
  }
  // Returns the words of 400 lessons with this text.
  inference::LessonWords WordsOf(const std::string& text) const {
    inference::LessonWordCounter counter;
    for (int lesson = 0; lesson < 400; ++lesson) {
      counter.Add(model_->tokenizer().EncodePrompt(text));
    }
    return counter.Finish();
  }
  inference::LessonWords OwnWords() const {
    return WordsOf(std::string("The lighthouse keeper of house") + kJudged);
  }
  // Returns an expert with the learned adapter times `factor`.
  std::string Expert(const std::optional<inference::LessonWords>& words, float factor = 1) const {
    inference::Adapter adapter = *learned_;
    for (auto& [name, change] : adapter.targets) {
      change.scale *= factor;
    }
    return Payload(adapter, words);
  }
  // Returns an expert that is noise and claims such words.
  std::string Noise(const inference::LessonWords& words) const {
    inference::Adapter adapter = *learned_;
    Random random(1);
    for (auto& [name, change] : adapter.targets) {
      for (float& value : change.b) {
        value = static_cast<float>(random.Normal());
      }
    }
    return Payload(adapter, words);
  }
  std::string Payload(inference::Adapter adapter,
                      const std::optional<inference::LessonWords>& words) const {
    adapter.name = "anything";
    auto talora = std::make_shared<inference::Talora>(
        *inference::StaticTalora(std::make_shared<const inference::Adapter>(std::move(adapter))));
    talora->words = words;
    return federation::EncodeSharedExpert(
        {.version = 3,
         .lessons = 400,
         .created_ms = 1,
         .file = inference::SerializeTaloraFile(*talora, *model_, inference::TensorType::kF16)
                     .value()});
  }
  ExpertVerdict Judge(const std::string& payload, size_t former_texts = 0) {
    learning::LearningServices services = Services();
    services.catalog = catalog_.get();
    const auto verdict = trial_.Judge(services, peer_, payload, former_texts);
    EXPECT_TRUE(verdict.ok()) << verdict.status();
    return verdict.value_or(ExpertVerdict());
  }
  // Stores prompts "BEGIN NUMBER END" of users who gave no feedback.
  void AddPrompts(size_t count, const std::string& begin, const std::string& end) {
    for (size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(trajectories_
                      ->Put({.response_id = fmt::format("prompt {} {}", begin, i),
                             .prompt = fmt::format("{} {}{}", begin, i, end),
                             .completion = "x",
                             .created_ms = clock_.WallMillis()})
                      .ok());
    }
  }

  const Digest peer_ = Sha256("peer");
  std::unique_ptr<serving::AdapterCatalog> catalog_;
  std::shared_ptr<const inference::Adapter> learned_;
  ExpertTrial trial_{{}};
};

TEST_F(ExpertTrialTest, WhatHelpsTheTextsThatChooseItServesAndItsOppositeDoesNot) {
  AddJudges(8);
  const ExpertVerdict helps = Judge(Expert(OwnWords()));
  EXPECT_EQ(helps.standing, ExpertStanding::kServing) << helps.gain << " " << helps.general_after;
  EXPECT_EQ(helps.texts, 8U);
  EXPECT_TRUE(helps.scored);
  EXPECT_GT(helps.gain, 2 * helps.standard_error);
  EXPECT_GT(helps.general_before, 0);
  EXPECT_LE(helps.general_after, 1.005 * helps.general_before);
  ASSERT_NE(helps.adapter, nullptr);
  EXPECT_EQ(helps.adapter->name, serving::NameOfExpert(peer_));
  EXPECT_EQ(helps.adapter->version, 3U);
  const ExpertVerdict harms = Judge(Expert(OwnWords(), -1));
  EXPECT_EQ(harms.standing, ExpertStanding::kTextsWorse);
  EXPECT_LT(harms.gain, -2 * harms.standard_error);
}

// An expert acts on nothing before this node's own texts have gained by it.
TEST_F(ExpertTrialTest, WithoutTextsThatChooseItItStaysOnTrial) {
  AddJudges(3);
  const ExpertVerdict few = Judge(Expert(OwnWords()));
  EXPECT_EQ(few.standing, ExpertStanding::kTrial);
  EXPECT_EQ(few.texts, 3U);
  EXPECT_FALSE(few.scored);
  AddJudges(8);
  const ExpertVerdict other = Judge(Expert(WordsOf(kOther)));
  EXPECT_EQ(other.standing, ExpertStanding::kTrial) << "its words choose no text of this node";
  EXPECT_EQ(other.texts, 0U);
}

TEST_F(ExpertTrialTest, PromptsOfUsersJudgeWithoutAnyFeedback) {
  AddPrompts(16, "The lighthouse keeper of house", kJudged);
  AddPrompts(6, kOther, kMore);
  const ExpertVerdict helps = Judge(Expert(OwnWords(), 0.4F));
  EXPECT_EQ(helps.texts, 16U);
  EXPECT_EQ(helps.standing, ExpertStanding::kServing) << helps.gain << " " << helps.standard_error;
  EXPECT_EQ(Judge(Expert(OwnWords(), -1)).standing, ExpertStanding::kTextsWorse);
}

TEST_F(ExpertTrialTest, ItIsJudgedAgainOnlyByMoreTexts) {
  AddJudges(8);
  EXPECT_FALSE(Judge(Expert(OwnWords()), 8).scored);
  EXPECT_TRUE(Judge(Expert(OwnWords()), 7).scored);
}

// Noise that claims the words of this node's lessons, or all words.
TEST_F(ExpertTrialTest, ALiarsExpertNeverServes) {
  AddJudges(8);
  AddPrompts(8, kOther, kMore);
  inference::LessonWords all{.lessons = 400, .counts = {}};
  for (inference::TokenId token = 0;
       token < static_cast<inference::TokenId>(model_->config().vocabulary); ++token) {
    all.counts.push_back({.token = token, .lessons = 400});
  }
  for (const inference::LessonWords& claimed : {OwnWords(), WordsOf(kOther), all}) {
    const ExpertVerdict verdict = Judge(Noise(claimed));
    EXPECT_NE(verdict.standing, ExpertStanding::kServing) << verdict.texts << " " << verdict.gain;
    if (verdict.scored) {
      EXPECT_EQ(verdict.standing, ExpertStanding::kTextsWorse);
    }
  }
}

TEST_F(ExpertTrialTest, WhatCannotBeReadOrChosenIsNamed) {
  AddJudges(8);
  const ExpertVerdict without_words = Judge(Expert(std::nullopt));
  EXPECT_EQ(without_words.standing, ExpertStanding::kUnusable);
  EXPECT_THAT(without_words.why, HasSubstr("does not say which words"));
  const ExpertVerdict broken = Judge(federation::EncodeSharedExpert(
      {.version = 1, .lessons = 1, .created_ms = 1, .file = "GGUF and no more"}));
  EXPECT_EQ(broken.standing, ExpertStanding::kUnusable);
  EXPECT_THAT(broken.why, HasSubstr("the adapter file is not usable"));
  EXPECT_EQ(Judge("x").standing, ExpertStanding::kUnusable);
  catalog_ = std::make_unique<serving::AdapterCatalog>(*model_, serving::AdapterCatalogOptions{});
  const ExpertVerdict nothing_chooses = Judge(Expert(OwnWords()));
  EXPECT_EQ(nothing_chooses.standing, ExpertStanding::kUnusable);
  EXPECT_THAT(nothing_chooses.why, HasSubstr("memory.gguf"));
}

TEST_F(ExpertTrialTest, APauseOfLearningEndsItWithoutAVerdict) {
  AddJudges(8);
  cancelled_ = true;
  learning::LearningServices services = Services();
  services.catalog = catalog_.get();
  EXPECT_TRUE(absl::IsCancelled(trial_.Judge(services, peer_, Expert(OwnWords()), 0).status()));
}

}  // namespace
}  // namespace ruvd::sharing
