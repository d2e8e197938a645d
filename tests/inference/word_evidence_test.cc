// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/retrieval/word_evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::inference {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr size_t kVocabulary = 2000;
constexpr TokenId kMask = 1999;

// Frequencies that fall with the token's number, as those of words do.
std::vector<float> PublicLogFrequency() {
  std::vector<float> logs(kVocabulary);
  double sum = 0;
  for (size_t i = 0; i < kVocabulary; ++i) {
    sum += 1.0 / static_cast<double>(i + 1);
  }
  for (size_t i = 0; i < kVocabulary; ++i) {
    logs[i] = static_cast<float>(std::log(1.0 / static_cast<double>(i + 1) / sum));
  }
  return logs;
}

// Lessons that have common words and the rare words [first, first + 40).
LessonWords LessonsOf(TokenId first) {
  LessonWordCounter counter;
  Random random(first);
  for (int lesson = 0; lesson < 50; ++lesson) {
    std::vector<TokenId> tokens = {0, 1, 2, 3};
    for (int i = 0; i < 20; ++i) {
      tokens.push_back(first + static_cast<TokenId>(random.Below(40)));
    }
    counter.Add(tokens);
  }
  return counter.Finish();
}

std::shared_ptr<const WordEvidence> EvidenceOf(TokenId first) {
  return std::make_shared<WordEvidence>(LessonsOf(first), PublicLogFrequency());
}

TEST(LessonWordCounterTest, CountsLessonsAndNotOccurrences) {
  LessonWordCounter counter;
  counter.Add(std::vector<TokenId>{5, 3, 5, 5});
  counter.Add(std::vector<TokenId>{3, 9});
  const LessonWords words = counter.Finish();
  EXPECT_EQ(words.lessons, 2);
  EXPECT_THAT(words.counts, ElementsAre(LessonWords::Count{.token = 3, .lessons = 2},
                                        LessonWords::Count{.token = 5, .lessons = 1},
                                        LessonWords::Count{.token = 9, .lessons = 1}));
  EXPECT_TRUE(CheckWords(words, 10).ok());
}

TEST(LessonWordCounterTest, RefusesWordsThatNoCounterCouldHaveCounted) {
  const auto refused = [](LessonWords words) {
    const absl::Status status = CheckWords(words, 10);
    return ReasonOf(status) == reasons::kAdapterInvalid;
  };
  EXPECT_TRUE(refused({.lessons = 1, .counts = {{.token = 10, .lessons = 1}}}));
  EXPECT_TRUE(refused({.lessons = 1, .counts = {{.token = 2, .lessons = 2}}}));
  EXPECT_TRUE(refused({.lessons = 1, .counts = {{.token = 2, .lessons = 0}}}));
  EXPECT_TRUE(
      refused({.lessons = 3, .counts = {{.token = 2, .lessons = 1}, {.token = 2, .lessons = 1}}}));
  EXPECT_TRUE(
      refused({.lessons = 3, .counts = {{.token = 2, .lessons = 1}, {.token = 1, .lessons = 1}}}));
}

TEST(WordEvidenceTest, RatiosAreThoseOfTwoDistributions) {
  const auto evidence = EvidenceOf(1000);
  const std::vector<float> logs = PublicLogFrequency();
  // The 300 commonest words say nothing; over all others both distributions sum to one.
  std::vector<double> shares(kVocabulary);
  for (size_t i = 300; i < kVocabulary; ++i) {
    shares[i] = 1 - std::pow(1 - std::exp(static_cast<double>(logs[i])), 96);
  }
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  double own = 0;
  for (size_t i = 0; i < kVocabulary; ++i) {
    own += shares[i] / sum * std::exp(static_cast<double>(evidence->Of(static_cast<TokenId>(i))));
  }
  EXPECT_THAT(own, DoubleNear(1, 1e-4));
  EXPECT_EQ(evidence->Of(0), 0);
  EXPECT_EQ(evidence->Of(299), 0);
  EXPECT_GT(evidence->Of(1005), 1);
  EXPECT_LT(evidence->Of(1500), -0.3);
  EXPECT_EQ(evidence->Of(kVocabulary), 0) << "a token beyond the vocabulary";
}

TEST(WordChooserTest, ChoosesTheAdapterWhoseWordsThePromptHas) {
  const std::vector<TokenId> prompt = {0, 1, 1201, 1203, 1207, 1210};
  const WordChooser chooser({EvidenceOf(1000), EvidenceOf(1200)}, prompt);
  EXPECT_THAT(chooser.Choose({}, kMask), ElementsAre(WordChoice{.adapter = 1, .weight = 1}));
  const std::vector<double> probabilities = chooser.Probabilities({}, kMask);
  ASSERT_EQ(probabilities.size(), 3);
  EXPECT_THAT(std::accumulate(probabilities.begin(), probabilities.end(), 0.0),
              DoubleNear(1, 1e-12));
}

TEST(WordChooserTest, ChoosesNoneForTextOfNeitherAdapter) {
  std::vector<TokenId> foreign = {0, 1};
  for (TokenId token = 700; token < 720; ++token) {
    foreign.push_back(token);
  }
  const WordChooser chooser({EvidenceOf(1000), EvidenceOf(1200)}, foreign);
  EXPECT_THAT(chooser.Choose({}, kMask), IsEmpty());
  const WordChooser nothing_known({EvidenceOf(1000)}, {});
  EXPECT_THAT(nothing_known.Probabilities({}, kMask)[1], DoubleNear(1 / (1 + std::exp(1)), 1e-9))
      << "without evidence, an adapter is less likely than none";
}

TEST(WordChooserTest, WordsOfTheCompletionOutweighAnUnrelatedPrompt) {
  const std::vector<TokenId> prompt = {1001, 1002, 1003};
  const WordChooser chooser({EvidenceOf(1000), EvidenceOf(1200)}, prompt);
  const std::vector<TokenId> begin(8, kMask);
  EXPECT_THAT(chooser.Choose(begin, kMask), ElementsAre(WordChoice{.adapter = 0, .weight = 1}));
  std::vector<TokenId> later = begin;
  later[2] = 1204;
  later[5] = 1206;
  later[6] = 1208;
  later[7] = 1210;
  EXPECT_THAT(chooser.Choose(later, kMask), ElementsAre(WordChoice{.adapter = 1, .weight = 1}));
}

TEST(WordChooserTest, SharesWeightsAmongSeveralAdapters) {
  const std::vector<TokenId> prompt = {1001, 1201};
  const WordChooser chooser({EvidenceOf(1000), nullptr, EvidenceOf(1200)}, prompt);
  const std::vector<double> probabilities = chooser.Probabilities({}, kMask);
  const std::vector<WordChoice> chosen = chooser.Choose({}, kMask);
  ASSERT_EQ(chosen.size(), 2);
  EXPECT_EQ(probabilities[2], 0) << "an adapter that cannot be judged is never chosen";
  for (const WordChoice& choice : chosen) {
    EXPECT_EQ(choice.weight, std::round(4 * probabilities[choice.adapter + 1]) / 4);
  }
  EXPECT_GE(chosen[0].weight, chosen[1].weight);
}

TEST(WordChooserTest, OneAdapterActsWholeOrNoneDoes) {
  const std::vector<TokenId> both = {1001, 1201, 1202};
  const WordChooser one({EvidenceOf(1000), EvidenceOf(1200)}, both, {.most = 1});
  EXPECT_THAT(one.Choose({}, kMask), ElementsAre(WordChoice{.adapter = 1, .weight = 1}));
  const WordChooser none({EvidenceOf(1000)}, std::vector<TokenId>{700, 701, 702}, {.most = 1});
  EXPECT_THAT(none.Choose({}, kMask), IsEmpty());
}

TEST(WordChooserTest, ChoosesTheSameForWordsInAnyOrderAndNumber) {
  const std::vector<TokenId> once = {1001, 1202, 1207};
  const std::vector<TokenId> often = {1207, 1001, 1207, 1202, 1001};
  const WordChooser a({EvidenceOf(1000), EvidenceOf(1200)}, once);
  const WordChooser b({EvidenceOf(1000), EvidenceOf(1200)}, often);
  EXPECT_EQ(a.Probabilities({}, kMask), b.Probabilities({}, kMask));
  EXPECT_EQ(a.Probabilities(once, kMask), b.Probabilities(often, kMask));
}

}  // namespace
}  // namespace ruvd::inference
