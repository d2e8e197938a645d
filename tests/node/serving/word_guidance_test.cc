// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Tests that the words of a text decide which adapters act: of a completion, and of a score.

#include "node/serving/extensions/word_guidance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "inference/adapter/adapter_file.h"
#include "node/serving/adapters_by_words.h"
#include "node/serving/score_task.h"
#include "node/serving/served_adapters.h"
#include "tests/node/serving/generation_fixture.h"

namespace ruvd::serving {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class WordGuidanceTest : public GenerationTaskTest {
 protected:
  void SetUp() override {
    GenerationTaskTest::SetUp();
    // The bytes from 128 on are the commonest, which say nothing; letters are rare.
    public_log_frequency_.assign(258, -4.8F);
    std::fill_n(public_log_frequency_.begin(), 128, -9.0F);
    Use(test::TinyTextModel());
    services_.extensions = {&guidance_};
  }
  // Loads an adapter NAME whose lessons had these letters.
  void Load(const std::string& name, const std::string& letters) {
    const std::string target = "blk.1.attn_output.weight";
    inference::Adapter adapter = *test::RandomAdapter(
        *model_, {{target, inference::FindMatrix(*model_, target)}}, name.front());
    adapter.name = name;
    inference::LessonWordCounter words;
    for (int lesson = 0; lesson < 400; ++lesson) {
      words.Add(model_->tokenizer().EncodePrompt(letters));
    }
    const std::string file =
        inference::SerializeAdapterFile(adapter, *model_, words.Finish()).value();
    ASSERT_TRUE(catalog_->Import(file, 1.0F).ok());
  }
  // Loads an adapter for the characters of even numbers and one for the others.
  void LoadHalves() {
    std::string even;
    std::string odd;
    for (char letter = 1; letter < 127; ++letter) {
      (letter % 2 == 0 ? even : odd) += letter;
    }
    Load("even", even);
    Load("odd", odd);
  }
  GenerationFinished Complete(GenerationJob job) {
    listener_ = std::make_shared<KeptEnd>();
    job.options.max_tokens = 24;
    job.options.ignore_end_of_text = true;
    job.listener = listener_;
    GenerationTask task(services_, "r", std::move(job));
    RunToEnd(&task);
    EXPECT_TRUE(listener_->end.ok()) << listener_->end.status();
    return listener_->end.value_or(GenerationFinished());
  }
  static std::vector<std::string> NamesOf(const std::vector<AdapterUse>& uses) {
    std::vector<std::string> names;
    for (const AdapterUse& use : uses) {
      names.push_back(use.name);
    }
    return names;
  }
  static GenerationJob Diffusion(const std::string& prompt) {
    GenerationJob job;
    job.prompt = prompt;
    job.options.mode = inference::DecodingMode::kDiffusion;
    return job;
  }
  // Returns the adapters that acted in a step if they were chosen before every step at which
  // `every` words or more were written since, from what the listener saw.
  std::set<std::string> Expected(const std::string& prompt, int every) {
    const std::vector<RangedPart> parts = catalog_->Choose({}).value();
    const auto given = model_->tokenizer().EncodePrompt(prompt);
    const AdaptersByWords words(parts, given);
    std::vector<inference::TokenId> known;
    std::set<std::string> acted;
    int written = every;
    for (const inference::StepResult& step : listener_->steps) {
      if (written >= every) {
        written = 0;
        factors_.push_back(words.Factors(known, std::nullopt));
      }
      for (size_t i = 0; i < parts.size(); ++i) {
        if (factors_.back()[i] != 0) {
          acted.insert(parts[i].adapter->name);
        }
      }
      for (const inference::Commit& commit : step.commits) {
        known.push_back(commit.token);
      }
      written += static_cast<int>(step.commits.size());
    }
    return acted;
  }

  WordGuidance guidance_{/*every_step=*/true};
  std::vector<std::vector<float>> factors_;  // by choice, of the last Expected
};

TEST_F(WordGuidanceTest, ThePromptsWordsChooseTheAdapter) {
  WordGuidance once(/*every_step=*/false);
  services_.extensions = {&once};
  Load("lows", "abcdefgh");
  Load("highs", "stuvwxyz");
  EXPECT_THAT(NamesOf(Complete(Diffusion("abcd efgh")).adapters), ElementsAre("lows"));
  const std::string lows = trajectories_->Get("r")->completion;
  EXPECT_THAT(NamesOf(Complete(Diffusion("stuv wxyz")).adapters), ElementsAre("highs"));
  EXPECT_THAT(Complete(Diffusion("ijklmnopqr")).adapters, IsEmpty());
  // What does not act changes nothing.
  const std::string none = trajectories_->Get("r")->completion;
  GenerationJob off = Diffusion("ijklmnopqr");
  off.use_adapters = false;
  Complete(std::move(off));
  EXPECT_EQ(trajectories_->Get("r")->completion, none);
  GenerationJob named = Diffusion("abcd efgh");
  named.adapters = {{.name = "lows"}};
  Complete(std::move(named));
  EXPECT_EQ(trajectories_->Get("r")->completion, lows) << "it acted whole";
}

TEST_F(WordGuidanceTest, ARequestThatNamesAdaptersGetsThoseWhateverItSays) {
  Load("lows", "abcdefgh");
  Load("highs", "stuvwxyz");
  GenerationJob job = Diffusion("abcd efgh");
  job.adapters = {{.name = "highs"}};
  EXPECT_THAT(NamesOf(Complete(std::move(job)).adapters), ElementsAre("highs"));
}

TEST_F(WordGuidanceTest, WordsBehindAGapCountMoreThanThoseBeforeIt) {
  WordGuidance once(/*every_step=*/false);
  services_.extensions = {&once};
  Load("lows", "abcdefgh");
  Load("highs", "stuvwxyz");
  GenerationJob job;
  job.prompt = "abcde";
  job.parts = {{.text = "abcde"}, {.gap = 4}, {.text = "stuvwxyz"}};
  EXPECT_THAT(NamesOf(Complete(std::move(job)).adapters), ElementsAre("highs"));
}

TEST_F(WordGuidanceTest, WordsThatAreWrittenChooseAgainBeforeEveryStep) {
  LoadHalves();
  size_t choices = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    GenerationJob job = Diffusion("abdf");
    job.options.seed = seed;
    job.options.temperature = 1;
    job.options.steps = 12;
    const GenerationFinished finished = Complete(std::move(job));
    factors_.clear();
    const std::set<std::string> expected = Expected("abdf", 1);
    choices += std::set(factors_.begin(), factors_.end()).size();
    EXPECT_EQ(finished.adapters.size(), expected.size());
    for (const std::string& name : NamesOf(finished.adapters)) {
      EXPECT_TRUE(expected.contains(name)) << name;
    }
  }
  EXPECT_GT(choices, 6U) << "words changed no choice, so that this shows nothing";
}

TEST_F(WordGuidanceTest, FromCachedKeysAChoiceStaysForAWhile) {
  LoadHalves();
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    GenerationJob job = Diffusion("abdf");
    job.options.mode = inference::DecodingMode::kAutoregressive;
    job.options.seed = seed;
    job.options.temperature = 1;
    const GenerationFinished finished = Complete(std::move(job));
    factors_.clear();
    const std::set<std::string> expected = Expected("abdf", WordGuidance::kWordsBetweenChoices);
    EXPECT_EQ(finished.adapters.size(), expected.size());
    EXPECT_EQ(factors_.size(), 2U);
  }
}

TEST_F(WordGuidanceTest, AScoreIsThatOfTheAdaptersThatActByWords) {
  Load("lows", "abcdefgh");
  Load("highs", "stuvwxyz");
  const auto score = [&](ScoreJob job) {
    job.options.samples = 4;
    job.mode = inference::DecodingMode::kDiffusion;
    absl::StatusOr<ScoreAnswer> answer = absl::UnknownError("it was not called");
    ScoreTask task(services_, *transformer_, std::move(job),
                   [&](absl::StatusOr<ScoreAnswer> result) { answer = std::move(result); });
    while (!task.RunSlice(*transformer_)) {
    }
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or(ScoreAnswer());
  };
  const ScoreAnswer own = score({.prompt = "abcd", .completion = "efgh abcd"});
  EXPECT_THAT(NamesOf(own.adapters), ElementsAre("lows"));
  EXPECT_NE(
      own.nats_per_token,
      score({.prompt = "abcd", .completion = "efgh abcd", .use_adapters = false}).nats_per_token);
  const ScoreAnswer foreign = score({.prompt = "ijklmnopq", .completion = "ijklmnopqr"});
  EXPECT_THAT(foreign.adapters, IsEmpty());
  EXPECT_EQ(foreign.nats_per_token,
            score({.prompt = "ijklmnopq", .completion = "ijklmnopqr", .use_adapters = false})
                .nats_per_token);
  const ScoreAnswer both = score({.prompt = "abcdefgh", .completion = "stuvwxyz"});
  EXPECT_THAT(NamesOf(both.adapters), UnorderedElementsAre("lows", "highs"));
  // Found by review: where only the prompt chooses, a score let the words of the completion choose.
  services_.written_words_choose = false;
  const ScoreAnswer once = score({.prompt = "abcdefgh", .completion = "stuvwxyz"});
  EXPECT_THAT(NamesOf(once.adapters), ElementsAre("lows"));
}

TEST_F(WordGuidanceTest, AScoreTakesOneForwardInASliceAndEndsWhenItIsUnwanted) {
  bool wanted = true;
  ScoreJob job{.prompt = "abcd", .completion = "efgh abcd", .use_adapters = false};
  job.options.samples = 5;
  job.mode = inference::DecodingMode::kDiffusion;
  job.unwanted = [&wanted] { return !wanted; };
  size_t answers = 0;
  absl::Status status;
  const auto done = [&](const absl::StatusOr<ScoreAnswer>& answer) {
    ++answers;
    status = answer.status();
  };
  ScoreTask whole(services_, *transformer_, job, done);
  for (int slice = 1; slice <= 5; ++slice) {
    const size_t before = transformer_->sequences.size();
    EXPECT_FALSE(whole.EndIfCancelled());
    EXPECT_EQ(whole.RunSlice(*transformer_), slice == 5);
    EXPECT_EQ(transformer_->sequences.size(), before + 1);
  }
  EXPECT_EQ(answers, 1U);
  EXPECT_TRUE(status.ok()) << status;
  ScoreTask left(services_, *transformer_, job, done);
  EXPECT_FALSE(left.RunSlice(*transformer_));
  wanted = false;
  EXPECT_TRUE(left.EndIfCancelled());
  EXPECT_EQ(answers, 2U);
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
}

// What is trained for all texts is not trained on top of what acts on texts of another kind only.
TEST_F(WordGuidanceTest, NothingIsTrainedOnTopOfAdaptersOfOtherLessons) {
  Load("lows", "abcdefgh");
  const std::vector<RangedPart> parts = catalog_->Choose({}).value();
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_TRUE(MixForAllT(parts).empty());
  RangedPart always = parts[0];
  always.evidence = nullptr;
  EXPECT_EQ(MixForAllT(std::vector<RangedPart>{always}).parts.size(), 1u);
}

TEST_F(WordGuidanceTest, AnAdapterWithoutWordsActsAlways) {
  const std::string target = "blk.1.attn_output.weight";
  inference::Adapter adapter =
      *test::RandomAdapter(*model_, {{target, inference::FindMatrix(*model_, target)}}, 5);
  adapter.name = "plain";
  ASSERT_TRUE(catalog_->Import(inference::SerializeAdapterFile(adapter, *model_).value(), 1).ok());
  Load("lows", "abcdefgh");
  EXPECT_THAT(NamesOf(Complete(Diffusion("ijklmnopqr")).adapters), ElementsAre("plain"));
  EXPECT_THAT(NamesOf(Complete(Diffusion("abcd efgh")).adapters), testing::Contains("lows"));
}

}  // namespace
}  // namespace ruvd::serving
