// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Checks what the experiments on learning measure with: masks of requests, random steps, crops, the
// gate that decides which adapter serves, and how routers are judged.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/crops.h"
#include "bench/experiments/revealed_text.h"
#include "bench/experiments/routing_judge.h"
#include "bench/experiments/serving_gate.h"
#include "bench/experiments/sessions.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/text_model.h"

namespace ruvd::bench {
namespace {

class ExperimentTest : public ::testing::Test {
 protected:
  std::shared_ptr<const test::TextModel> model_ = std::make_shared<const test::TextModel>();
  inference::CpuTransformer transformer_{model_, SerialRunner()};
};

class PredictRequestTest : public ExperimentTest {
 protected:
  PredictRequestTest() {
    for (inference::TokenId token = 0; token < 33; ++token) {
      session_.tokens.push_back(token + 60);
    }
  }
  RequestOutputs Predict(int request, uint64_t seed) {
    return PredictRequest(transformer_, session_, kShape, request, true, seed).value();
  }
  // Returns the masked share of a request.
  double ShareOf(int request, uint64_t seed) {
    const RequestOutputs outputs = Predict(request, seed);
    return std::ranges::find_if(outputs.predictions, &Prediction::scored)->t;
  }

  static constexpr SessionShape kShape{.requests = 4, .tokens = 8, .context = 4};
  Session session_;
};

TEST_F(PredictRequestTest, EveryTokenIsPredictedOnceAndTheMaskedOnesScored) {
  const auto width = static_cast<size_t>(model_->config().width);
  for (int request = 0; request < kShape.requests; ++request) {
    const RequestOutputs outputs = Predict(request, 3);
    ASSERT_EQ(outputs.predictions.size(), 8U);
    EXPECT_EQ(outputs.hidden.size(), 8 * width);
    std::set<inference::TokenId> targets;
    double weights = 0;
    size_t scored = 0;
    for (const Prediction& prediction : outputs.predictions) {
      targets.insert(prediction.target);
      weights += prediction.weight;
      scored += prediction.scored ? 1 : 0;
    }
    const auto first = static_cast<inference::TokenId>(60 + 1 + 8 * request);
    EXPECT_EQ(targets.size(), 8U);
    EXPECT_EQ(*targets.begin(), first);
    EXPECT_EQ(*targets.rbegin(), first + 7);
    EXPECT_NEAR(weights, 1.0, 1e-12);
    for (const Prediction& prediction : outputs.predictions) {
      const auto count = static_cast<double>(prediction.scored ? scored : 8 - scored);
      EXPECT_NEAR(prediction.t, count / 8, 1e-12);
      EXPECT_EQ(prediction.weight, prediction.scored ? 1 / count : 0.0);
    }
  }
}

TEST_F(PredictRequestTest, TheMaskedSharesOfASessionAreStratified) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<double> shares;
    for (int request = 0; request < kShape.requests; ++request) {
      shares.push_back(ShareOf(request, seed));
    }
    std::ranges::sort(shares);
    for (size_t i = 0; i < shares.size(); ++i) {
      EXPECT_GT(shares[i], 0.25 * static_cast<double>(i));
      EXPECT_LE(shares[i], 0.25 * static_cast<double>(i + 1));
    }
  }
}

// Regression test: all sessions had the same masks, so a result about t was also one about the
// place in the session.
TEST_F(PredictRequestTest, TheMaskedShareIsNotTiedToTheRequest) {
  std::set<double> shares;
  for (size_t place = 0; place < 40; ++place) {
    shares.insert(ShareOf(0, MaskSeed(7, place)));
  }
  EXPECT_GE(shares.size(), 6U);
  EXPECT_EQ(MaskSeed(7, 3), MaskSeed(7, 3));
  EXPECT_NE(MaskSeed(7, 3), MaskSeed(8, 3));
}

TEST(RandomStepsTest, AreAsManyAsFarApartAndAnywhereAllowed) {
  const inference::DgrOptions options{.min_interval = 4, .min_t = 0.3F};
  Random random(1);
  std::vector<int> drawn(16);
  for (int round = 0; round < 2000; ++round) {
    const std::vector<bool> chosen = RandomSteps(16, 2, options, random);
    ASSERT_EQ(chosen.size(), 16U);
    std::vector<size_t> steps;
    for (size_t step = 0; step < chosen.size(); ++step) {
      if (chosen[step]) {
        steps.push_back(step);
        ++drawn[step];
      }
    }
    ASSERT_EQ(steps.size(), 2U);
    EXPECT_GE(steps[1] - steps[0], 4U);
    EXPECT_LE(steps[1], 11U) << "a share of 5/16 is left there, of 4/16 one later";
  }
  for (size_t step = 0; step <= 11; ++step) {
    EXPECT_GT(drawn[step], 0) << step;
  }
}

TEST(RandomStepsTest, AreNoMoreThanFit) {
  Random random(2);
  const auto count = [&](int asked, const inference::DgrOptions& options) {
    return std::ranges::count(RandomSteps(16, asked, options, random), true);
  };
  EXPECT_EQ(count(9, {.min_interval = 4, .min_t = 0.3F}), 3);
  EXPECT_EQ(count(9, {.min_interval = 1, .min_t = 0.0F}), 9);
  EXPECT_EQ(count(0, {}), 0);
  EXPECT_EQ(count(3, {.min_t = 1.5F}), 0);
}

class ReadCropsTest : public ExperimentTest {
 protected:
  ReadCropsTest() { std::filesystem::create_directories(folder_); }
  ~ReadCropsTest() override { std::filesystem::remove_all(folder_); }
  std::string Write(const std::vector<size_t>& lengths) {
    const std::string path = folder_ / "texts.jsonl";
    std::ofstream out(path);
    for (size_t i = 0; i < lengths.size(); ++i) {
      out << R"({"text": ")" << std::string(lengths[i], static_cast<char>('a' + i)) << "\"}\n";
    }
    return path;
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      (std::string("read_crops_") + std::to_string(::getpid()) +
       ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(ReadCropsTest, PiecesDoNotOverlapAndKnowTheirDocument) {
  // With the end-of-text token a document of 25 bytes has 26 tokens: two pieces of 10.
  const std::string path = Write({25, 5, 12, 40});
  const Crops crops =
      ReadCrops(path, model_->tokenizer(), {.tokens = 10, .window = 4}, 100).value();
  EXPECT_EQ(crops.documents, (std::vector<size_t>{0, 0, 2, 3, 3, 3, 3}));
  ASSERT_EQ(crops.pieces.size(), 7U);
  for (size_t i = 0; i < crops.pieces.size(); ++i) {
    EXPECT_EQ(crops.pieces[i].prompt, std::vector<inference::TokenId>(6, 'a' + crops.documents[i]));
    EXPECT_EQ(crops.pieces[i].completion,
              std::vector<inference::TokenId>(4, 'a' + crops.documents[i]));
  }
  EXPECT_EQ(crops.Examples()[2].completion, crops.pieces[2].completion);
}

TEST_F(ReadCropsTest, FewAreTakenFromTheWholeFile) {
  const std::string path = Write({10, 10, 10, 10, 10, 10});
  const CropShape shape{.tokens = 10, .window = 10};
  const Crops crops = ReadCrops(path, model_->tokenizer(), shape, 3).value();
  EXPECT_EQ(crops.documents, (std::vector<size_t>{0, 2, 4}));
  EXPECT_TRUE(crops.pieces[0].prompt.empty());
  EXPECT_EQ(ReasonOf(ReadCrops(path, model_->tokenizer(), {.tokens = 20}, 3).status()),
            reasons::kInvalidArgument);
}

class ServingGateTest : public ExperimentTest {
 protected:
  ServingGateTest() {
    Random random(5);
    std::vector<inference::ScoredDocument> base(60);
    for (inference::ScoredDocument& text : base) {
      for (int i = 0; i < 12; ++i) {
        text.prompt.push_back(static_cast<inference::TokenId>(random.Below(256)));
      }
    }
    gate_.emplace(ServingGate::Create(transformer_, base).value());
    for (size_t adapter = 0; adapter < 2; ++adapter) {  // one pattern each, where the prompt is
      EXPECT_TRUE(
          gate_->Learn(std::vector<inference::ScoredDocument>(3, base[adapter]), adapter).ok());
      queries_.push_back(gate_->Embed(base[adapter].prompt).value());
    }
  }

  std::optional<ServingGate> gate_;
  std::vector<std::vector<float>> queries_;
};

TEST_F(ServingGateTest, TheNearestPatternServesWhereItIsNear) {
  for (size_t adapter = 0; adapter < 2; ++adapter) {
    const auto choice = gate_->Choose(queries_[adapter]);
    ASSERT_TRUE(choice.has_value());
    EXPECT_EQ(choice->adapter, adapter);
  }
  std::vector<float> away = queries_[0];
  for (float& value : away) {
    value = -value;
  }
  const auto far = gate_->Choose(away);
  EXPECT_FALSE(far.has_value() && far->adapter == 0);
}

// What a query in the middle finds depends on why it was asked, as in a node.
TEST_F(ServingGateTest, AskingAgainKeepsToTheKindOfUncertainty) {
  const auto first = gate_->Choose(queries_[0]);
  const auto second = gate_->Choose(queries_[1]);
  for (const inference::UncertaintyKind kind :
       {inference::UncertaintyKind::kDiffuse, inference::UncertaintyKind::kContested}) {
    EXPECT_EQ(gate_->Reselect(queries_[0], kind, second), first);
    EXPECT_EQ(gate_->Reselect(queries_[0], kind, first), std::nullopt) << "it is in use";
  }
  EXPECT_EQ(gate_->Reselect(queries_[0], inference::UncertaintyKind::kContested, std::nullopt),
            first);
}

// The small model is worse by these; the better a router, the later it sends the worst ones there.
std::vector<RoutedRequest> Requests(size_t documents) {
  std::vector<RoutedRequest> requests;
  for (size_t i = 0; i < 4 * documents; ++i) {
    requests.push_back({.document = i / 4, .excess = static_cast<double>((7 * i) % 12) / 12});
  }
  return requests;
}

std::vector<double> Scores(const std::vector<RoutedRequest>& requests, double sign) {
  std::vector<double> scores;
  for (const RoutedRequest& request : requests) {
    scores.push_back(-sign * request.excess);
  }
  return scores;
}

TEST(RoutingJudgeTest, TheOracleHasAllOfItsGain) {
  const std::vector<RoutedRequest> requests = Requests(12);
  const Judged oracle = Judge(requests, Scores(requests, 1));
  EXPECT_NEAR(oracle.share, 1.0, 1e-12);
  EXPECT_NEAR(oracle.regret, 0.0, 1e-12);
  const Judged worst = Judge(requests, Scores(requests, -1));
  EXPECT_NEAR(worst.share, -1.0, 1e-12);
  EXPECT_GT(worst.regret, 0.1);
}

// Regression test: the mean of several trainings' scores was judged. That is an ensemble, which is
// better than any router that is served. A router that had learned nothing was judged by the order
// of the files and seemed to gain 0.116.
TEST(RoutingJudgeTest, TheSameScoreForAllIsChance) {
  const std::vector<RoutedRequest> requests = {{.document = 0, .excess = 0.1},
                                               {.document = 1, .excess = 0.2},
                                               {.document = 2, .excess = 0.9}};
  const Judged chance = Judge(requests, std::vector<double>(3, 0.5));
  EXPECT_NEAR(chance.share, 0, 1e-12);
  // Two of three requests go to the small model: 0.4 each against the 0.1 and 0.2 of the oracle.
  EXPECT_NEAR(chance.regret, (0.8 - 0.3) / 3, 1e-12);
  const Judged half = Judge(requests, std::vector<double>{0.5, 0.5, 0.1});
  EXPECT_GT(half.share, 0);
  EXPECT_LT(half.share, 1);
}

TEST(RoutingJudgeTest, EachTrainingIsJudgedByItself) {
  const std::vector<RoutedRequest> requests = Requests(12);
  std::vector<std::vector<double>> scores = {Scores(requests, 1), Scores(requests, -1)};
  for (double& score : scores[0]) {
    score *= 3;  // together they would be as good as the first one
  }
  const JudgedDraws draws = JudgeTrainings(requests, scores);
  ASSERT_EQ(draws.trainings.size(), 2U);
  EXPECT_NEAR(draws.trainings[0], 1.0, 1e-12);
  EXPECT_NEAR(draws.trainings[1], -1.0, 1e-12);
  const Interval share = IntervalOf(draws.shares);
  EXPECT_NEAR(share.mean, 0.0, 1e-12);
  EXPECT_NEAR(share.high, 0.0, 1e-9);
}

TEST(RoutingJudgeTest, RoutersAreComparedOnTheSameDocuments) {
  const std::vector<RoutedRequest> requests = Requests(12);
  Random random(4);
  std::vector<double> noisy = Scores(requests, 1);
  for (double& score : noisy) {
    score += random.Normal();
  }
  const std::vector<std::vector<double>> scores = {noisy};
  std::vector<std::vector<double>> same = scores;
  for (double& score : same[0]) {
    score = 2 * score + 1;  // the same order
  }
  const JudgedDraws a = JudgeTrainings(requests, scores);
  const JudgedDraws b = JudgeTrainings(requests, same);
  EXPECT_GT(IntervalOf(a.shares).high - IntervalOf(a.shares).low, 0.1);
  const Interval difference = DifferenceOf(a.shares, b.shares);
  EXPECT_NEAR(difference.low, 0.0, 1e-12);
  EXPECT_NEAR(difference.high, 0.0, 1e-12);
}

TEST(RoutingJudgeTest, AFewDocumentsProveNothing) {
  const std::vector<RoutedRequest> requests = Requests(kMinDocuments - 1);
  const std::vector<std::vector<double>> scores = {Scores(requests, 1)};
  const Interval share = IntervalOf(JudgeTrainings(requests, scores).shares);
  EXPECT_NEAR(share.mean, 1.0, 1e-12);
  EXPECT_TRUE(std::isinf(share.low));
  EXPECT_TRUE(std::isinf(share.high));
}

// Regression test: requests of one document were on both sides of the calibration.
TEST(RoutingJudgeTest, WholeDocumentsAreHeldBack) {
  std::vector<size_t> documents;
  for (size_t i = 0; i < 60; ++i) {
    documents.push_back(100 + i % 10);
  }
  Random random(6);
  const DocumentSplit split = HoldBackDocuments(documents, random);
  std::set<size_t> taught;
  std::set<size_t> held_back;
  for (const size_t place : split.taught) {
    taught.insert(documents[place]);
  }
  for (const size_t place : split.held_back) {
    held_back.insert(documents[place]);
    EXPECT_FALSE(taught.contains(documents[place]));
  }
  EXPECT_EQ(taught.size(), 8U);
  EXPECT_EQ(held_back.size(), 2U);
  EXPECT_EQ(split.taught.size() + split.held_back.size(), 60U);
  EXPECT_TRUE(HoldBackDocuments(std::vector<size_t>{3, 3}, random).held_back.empty());
}

}  // namespace
}  // namespace ruvd::bench
