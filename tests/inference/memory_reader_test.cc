// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/memory/memory_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/parallel.h"
#include "inference/memory/limits.h"
#include "tests/inference/memory_fixture.h"

namespace ruvd::inference {
namespace {

using test::kMemoryVocabulary;
using test::kMemoryWidth;
using test::MadeLesson;

constexpr TokenId kMask = 1000;

// Lessons, a window with masks, and states and logits for its open positions.
class MemoryReaderTest : public testing::Test {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < 40; ++i) {
      lessons_.push_back(test::MakeLesson(random_, 6 + random_.Below(60), i % 5));
      runs_.push_back(test::RunOf(*parameters_, i, lessons_.back()));
    }
    memory_ = std::make_shared<TokenMemory>(runs_);
    // The window repeats a part of a lesson, so that neighbours match on both sides.
    window_.assign(lessons_[3].tokens.begin(), lessons_[3].tokens.begin() + 6);
    for (int i = 0; i < 30; ++i) {
      window_.push_back(i % 3 == 1 ? kMask
                                   : static_cast<TokenId>(random_.Below(kMemoryVocabulary)));
    }
    window_[3] = kMask;
    for (size_t i = 0; i < window_.size(); ++i) {
      if (window_[i] == kMask) {
        positions_.push_back(static_cast<int>(i));
      }
    }
    for (size_t i = 0; i < positions_.size() * kMemoryWidth; ++i) {
      hidden_.push_back(static_cast<float>(random_.Normal()));
    }
    for (size_t i = 0; i < positions_.size() * kMemoryVocabulary; ++i) {
      logits_.push_back(static_cast<float>(random_.Normal() * 2));
    }
  }

  MemoryWindow Window(bool causal = false) const {
    return {
        .tokens = window_, .mask = kMask, .causal = causal, .t = 0.4F, .masked = positions_.size()};
  }

  Random random_{5};
  std::shared_ptr<const MemoryParameters> parameters_ =
      std::make_shared<MemoryParameters>(test::RandomMemoryParameters());
  std::vector<MadeLesson> lessons_;
  std::vector<std::shared_ptr<const MemoryRun>> runs_;
  std::shared_ptr<const TokenMemory> memory_;
  std::vector<TokenId> window_;
  std::vector<int> positions_;
  std::vector<float> hidden_;
  std::vector<float> logits_;
};

// The definition in double precision, one entry at a time.
class Definition {
 public:
  Definition(const MemoryParameters& p, const std::vector<MadeLesson>& lessons)
      : p_(p), lessons_(lessons) {}

  struct Result {
    std::map<TokenId, double> votes;
    double log_mass = 0;
    double best_score = -1e9;
    double best_cosine = -1;
    size_t entries = 0;
  };

  Result Read(const std::vector<TokenId>& window, size_t position, std::span<const float> hidden,
              bool causal) const {
    Result result;
    const std::vector<double> key = KeyOf(hidden);
    std::vector<std::pair<TokenId, double>> scores;
    for (const MadeLesson& lesson : lessons_) {
      for (size_t i = lesson.context; i < lesson.tokens.size(); ++i) {
        const size_t entry = i - lesson.context;
        const std::vector<double> other =
            KeyOf(std::span(lesson.hidden).subspan(entry * kMemoryWidth, kMemoryWidth));
        double cosine = 0;
        for (size_t d = 0; d < key.size(); ++d) {
          cosine += key[d] * other[d];
        }
        const double bias =
            static_cast<double>(p_.surprise) *
                std::log(std::max(static_cast<double>(lesson.probabilities[entry]), 1e-4)) +
            static_cast<double>(p_.timestep * lesson.t);
        const double score = cosine / static_cast<double>(p_.temperature) + bias +
                             BonusOf(window, position, lesson.tokens, i, causal);
        result.best_cosine = std::max(result.best_cosine, cosine);
        result.best_score = std::max(result.best_score, score);
        scores.emplace_back(lesson.tokens[i], score);
      }
    }
    double mass = 0;
    for (const auto& [token, score] : scores) {
      mass += std::exp(score);
      result.votes[token] += std::exp(score);
    }
    for (auto& [token, vote] : result.votes) {
      vote /= mass;
    }
    result.log_mass = std::log(mass);
    result.entries = scores.size();
    return result;
  }

 private:
  std::vector<double> KeyOf(std::span<const float> hidden) const {
    std::vector<double> key;
    double squares = 0;
    for (int d = 0; d < p_.dimension; ++d) {
      double sum = 0;
      for (int i = 0; i < p_.width; ++i) {
        sum +=
            static_cast<double>(
                p_.projection[static_cast<size_t>(d) * static_cast<size_t>(p_.width) +
                              static_cast<size_t>(i)]) *
            static_cast<double>(hidden[static_cast<size_t>(i)] - p_.mean[static_cast<size_t>(i)]);
      }
      key.push_back(sum);
      squares += sum * sum;
    }
    for (double& value : key) {
      value /= std::sqrt(squares);
    }
    return key;
  }
  double BonusOf(const std::vector<TokenId>& window, size_t position,
                 const std::vector<TokenId>& lesson, size_t place, bool causal) const {
    const auto same = [&](int step) {
      const auto here = static_cast<ptrdiff_t>(position) + step;
      const auto there = static_cast<ptrdiff_t>(place) + step;
      return here >= 0 && here < static_cast<ptrdiff_t>(window.size()) && there >= 0 &&
             there < static_cast<ptrdiff_t>(lesson.size()) && !(causal && step > 0) &&
             window[static_cast<size_t>(here)] != kMask &&
             window[static_cast<size_t>(here)] == lesson[static_cast<size_t>(there)];
    };
    double bonus = 0;
    for (int i = 0; i < static_cast<int>(kMemoryLeft) && same(-1 - i); ++i) {
      bonus += static_cast<double>(p_.left[static_cast<size_t>(i)]);
    }
    for (int i = 0; i < static_cast<int>(kMemoryRight) && same(1 + i); ++i) {
      bonus += static_cast<double>(p_.right[static_cast<size_t>(i)]);
    }
    return bonus + (same(-1) && same(1) ? static_cast<double>(p_.both) : 0.0);
  }

  const MemoryParameters& p_;
  const std::vector<MadeLesson>& lessons_;
};

// Keys have 8 bits, so cosines are within about 0.01.
TEST_F(MemoryReaderTest, ReadsAsTheDefinitionSays) {
  for (const bool causal : {false, true}) {
    MemoryReader reader(parameters_, memory_);
    const std::vector<MemoryReading> readings =
        reader.Read(Window(causal), positions_, hidden_, logits_);
    const Definition definition(*parameters_, lessons_);
    for (size_t i = 0; i < positions_.size(); ++i) {
      SCOPED_TRACE(i);
      const auto want =
          definition.Read(window_, static_cast<size_t>(positions_[i]),
                          std::span(hidden_).subspan(i * kMemoryWidth, kMemoryWidth), causal);
      const MemoryFeatures& x = readings[i].features;
      EXPECT_NEAR(At(x, MemoryFeature::kBestCosine), want.best_cosine, 0.015);
      EXPECT_NEAR(At(x, MemoryFeature::kBestScore), want.best_score, 0.15);
      EXPECT_NEAR(At(x, MemoryFeature::kLogMass), want.log_mass, 0.1);
      EXPECT_NEAR(At(x, MemoryFeature::kLogEntries), std::log(want.entries), 1e-5);
      double sum = 0;
      for (const auto& [token, vote] : readings[i].votes) {
        sum += static_cast<double>(vote);
        EXPECT_NEAR(static_cast<double>(vote), want.votes.at(token), 0.05);
      }
      EXPECT_NEAR(sum, 1, 1e-5);
    }
  }
}

TEST_F(MemoryReaderTest, TheWordsThatCanBeSeenAreCounted) {
  MemoryReader reader(parameters_, memory_);
  const std::vector<MemoryReading> whole = reader.Read(Window(), positions_, hidden_, logits_);
  std::map<TokenId, double> counts;
  std::set<std::pair<TokenId, TokenId>> pairs;
  double all = 0;
  for (const auto& run : runs_) {
    for (size_t i = 0; i < run->tokens().size(); ++i) {
      counts[run->tokens()[i]] += 1;
      all += 1;
      if (i > 0) {
        pairs.emplace(run->tokens()[i - 1], run->tokens()[i]);
      }
    }
  }
  const auto expect = [&](size_t end, const MemoryFeatures& x) {
    double ratio = 0;
    double seen = 0;
    double two = 0;
    double shared = 0;
    for (size_t i = 0; i < end; ++i) {
      if (window_[i] != kMask) {
        seen += 1;
        ratio += std::log((counts[window_[i]] + 1) / (all + kMemoryVocabulary)) -
                 static_cast<double>(parameters_->public_log_frequency[window_[i]]);
        if (i > 0 && window_[i - 1] != kMask) {
          two += 1;
          shared += pairs.contains({window_[i - 1], window_[i]}) ? 1 : 0;
        }
      }
    }
    EXPECT_NEAR(At(x, MemoryFeature::kWordRatio), ratio / seen, 1e-4);
    EXPECT_NEAR(At(x, MemoryFeature::kSharedPairs), shared / two, 1e-5);
  };
  for (const MemoryReading& reading : whole) {
    expect(window_.size(), reading.features);
  }
  const std::vector<MemoryReading> causal = reader.Read(Window(true), positions_, hidden_, logits_);
  for (size_t i = 0; i < positions_.size(); ++i) {
    expect(static_cast<size_t>(positions_[i]), causal[i].features);
  }
}

TEST_F(MemoryReaderTest, TheMixtureIsAProbability) {
  MemoryReader reader(parameters_, memory_);
  const std::vector<MemoryReading> readings = reader.Read(Window(), positions_, hidden_, logits_);
  std::vector<float> mixed = logits_;
  reader.Mix(Window(), positions_, hidden_, mixed);
  const auto softmax = [](std::span<const float> row) {
    std::vector<double> p(row.begin(), row.end());
    double mass = 0;
    for (double& value : p) {
      value = std::exp(value);
      mass += value;
    }
    for (double& value : p) {
      value /= mass;
    }
    return p;
  };
  for (size_t i = 0; i < positions_.size(); ++i) {
    const auto before =
        softmax(std::span(logits_).subspan(i * kMemoryVocabulary, kMemoryVocabulary));
    const auto after = softmax(std::span(mixed).subspan(i * kMemoryVocabulary, kMemoryVocabulary));
    const auto share = static_cast<double>(readings[i].share);
    ASSERT_GT(share, 0);
    std::vector<double> want = before;
    for (double& value : want) {
      value *= 1 - share;
    }
    for (const auto& [token, vote] : readings[i].votes) {
      want[token] += share * static_cast<double>(vote);
    }
    for (size_t k = 0; k < want.size(); ++k) {
      EXPECT_NEAR(after[k], want[k], 1e-5);
    }
  }
}

TEST_F(MemoryReaderTest, AnEmptyMemoryChangesNoBit) {
  MemoryReader reader(parameters_, std::make_shared<TokenMemory>());
  std::vector<float> mixed = logits_;
  reader.Mix(Window(), positions_, hidden_, mixed);
  EXPECT_EQ(mixed, logits_);
  EXPECT_TRUE(reader.Read(Window(), positions_, hidden_, logits_).front().votes.empty());
}

TEST_F(MemoryReaderTest, ARunThatIsTakenOutLeavesNoTrace) {
  std::vector<std::shared_ptr<const MemoryRun>> fewer = runs_;
  fewer.erase(fewer.begin() + 17);
  std::shared_ptr<const TokenMemory> grown = std::make_shared<TokenMemory>();
  for (const auto& run : runs_) {
    grown = grown->With(run);
  }
  const auto mix = [&](std::shared_ptr<const TokenMemory> memory) {
    MemoryReader reader(parameters_, std::move(memory));
    std::vector<float> mixed = logits_;
    reader.Mix(Window(), positions_, hidden_, mixed);
    return mixed;
  };
  EXPECT_EQ(mix(grown), mix(memory_)) << "how runs are divided into segments decides no bit";
  EXPECT_EQ(mix(grown->Without(17)), mix(std::make_shared<TokenMemory>(fewer)));
  EXPECT_NE(mix(grown->Without(17)), mix(grown));
}

// Returns a lesson that repeats one token, each as surprising as the others.
MadeLesson Repeat(Random& random, TokenId token, size_t times, float t) {
  MadeLesson lesson = test::MakeLesson(random, times, 0);
  std::ranges::fill(lesson.tokens, token);
  std::ranges::fill(lesson.probabilities, 0.5F);
  lesson.t = t;
  return lesson;
}

TEST_F(MemoryReaderTest, OnlyTheBestEntriesVote) {
  MemoryParameters parameters = *parameters_;
  parameters.left = {};
  parameters.right = {};
  parameters.both = 0;
  parameters.temperature = 1;
  parameters.timestep = -4;
  const auto shared = std::make_shared<MemoryParameters>(parameters);
  for (const size_t first : {limits::kMaxMemoryVotes, limits::kMaxMemoryVotes - 1}) {
    // Entries of the second lesson score at least 1 less, but their weight is not yet negligible.
    auto memory = std::make_shared<TokenMemory>(
        std::vector{test::RunOf(*shared, 1, Repeat(random_, 1, first, 0)),
                    test::RunOf(*shared, 2, Repeat(random_, 2, 3000, 1))});
    MemoryReader reader(shared, memory);
    for (const MemoryReading& reading : reader.Read(Window(), positions_, hidden_, logits_)) {
      EXPECT_EQ(reading.votes.size(), first == limits::kMaxMemoryVotes ? 1U : 2U);
    }
  }
}

TEST_F(MemoryReaderTest, ThreadsChangeNoBit) {
  // Three segments
  std::shared_ptr<const TokenMemory> memory = memory_;
  for (size_t i = 0; i < 30; ++i) {
    memory =
        memory->With(test::RunOf(*parameters_, 100 + i, test::MakeLesson(random_, 4000, i % 5)));
  }
  const auto mix = [&](ParallelRunner& runner, size_t rows) {
    MemoryReader reader(parameters_, memory, runner);
    std::vector<float> mixed(logits_.begin(),
                             logits_.begin() + static_cast<ptrdiff_t>(rows * kMemoryVocabulary));
    reader.Mix(Window(), std::span(positions_).first(rows),
               std::span(hidden_).first(rows * kMemoryWidth), mixed);
    return mixed;
  };
  for (const size_t rows : {size_t{1}, positions_.size()}) {
    const std::vector<float> want = mix(SerialRunner(), rows);
    for (const int threads : {2, 3, 7}) {
      ThreadParallelRunner runner(threads);
      EXPECT_EQ(mix(runner, rows), want) << threads;
    }
  }
}

TEST_F(MemoryReaderTest, RowsDoNotDependOnEachOther) {
  MemoryReader reader(parameters_, memory_);
  std::vector<float> together = logits_;
  reader.Mix(Window(), positions_, hidden_, together);
  std::vector<float> alone = logits_;
  for (size_t i = 0; i < positions_.size(); ++i) {
    reader.Mix(Window(), std::span(positions_).subspan(i, 1),
               std::span(hidden_).subspan(i * kMemoryWidth, kMemoryWidth),
               std::span(alone).subspan(i * kMemoryVocabulary, kMemoryVocabulary));
  }
  EXPECT_EQ(alone, together);
}

TEST_F(MemoryReaderTest, ARowThatIsNotFiniteStaysAsItIs) {
  std::vector<float> hidden = hidden_;
  hidden[kMemoryWidth + 3] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> logits = logits_;
  logits[2 * kMemoryVocabulary] = std::numeric_limits<float>::infinity();
  std::vector<float> mixed = logits;
  MemoryReader reader(parameters_, memory_);
  reader.Mix(Window(), positions_, hidden, mixed);
  for (size_t i = 0; i < kMemoryVocabulary; ++i) {
    EXPECT_EQ(mixed[kMemoryVocabulary + i], logits[kMemoryVocabulary + i]);
    EXPECT_EQ(mixed[2 * kMemoryVocabulary + i], logits[2 * kMemoryVocabulary + i]);
  }
  EXPECT_NE(mixed[0], logits[0]);
}

TEST_F(MemoryReaderTest, AnEntryThatIsNotFiniteNeverVotes) {
  MadeLesson broken = lessons_[0];
  broken.hidden[5] = std::numeric_limits<float>::infinity();
  broken.probabilities[2] = std::numeric_limits<float>::quiet_NaN();
  const auto run = test::RunOf(*parameters_, 99, broken);
  EXPECT_FALSE(std::isfinite(run->biases()[0]));
  EXPECT_FALSE(std::isfinite(run->biases()[2]));
  EXPECT_TRUE(std::isfinite(run->biases()[1]));
  const TokenId never = 23;  // of the two entries only
  std::ranges::replace(broken.tokens, never, never - 1);
  broken.tokens[broken.context] = never;
  broken.tokens[broken.context + 2] = never;
  const auto silent = std::make_shared<TokenMemory>()->With(test::RunOf(*parameters_, 99, broken));
  MemoryReader silent_reader(parameters_, silent);
  for (const MemoryReading& reading : silent_reader.Read(Window(), positions_, hidden_, logits_)) {
    EXPECT_TRUE(std::isfinite(reading.share));
    EXPECT_FALSE(reading.votes.empty());
    for (const auto& [token, vote] : reading.votes) {
      EXPECT_NE(token, never);
    }
  }
}

TEST_F(MemoryReaderTest, APrefixThatGrowsIsCountedAsIfItWereNew) {
  MemoryReader grown(parameters_, memory_);
  for (size_t length = 4; length < window_.size(); ++length) {
    const auto position = static_cast<int>(length);
    const MemoryWindow window{.tokens = std::span(window_).first(length), .causal = true};
    const auto read = [&](MemoryReader& reader) {
      return reader
          .Read(window, std::span(&position, 1), std::span(hidden_).first(kMemoryWidth),
                std::span(logits_).first(kMemoryVocabulary))
          .front()
          .features;
    };
    if (length == 20) {
      std::swap(window_[2], window_[5]);  // another text
    }
    MemoryReader anew(parameters_, memory_);
    EXPECT_EQ(read(grown), read(anew)) << length;
  }
}

TEST_F(MemoryReaderTest, TheMemoryKnowsItsPairsAndCounts) {
  size_t tokens = 0;
  for (const auto& run : runs_) {
    tokens += run->tokens().size();
  }
  EXPECT_EQ(memory_->tokens(), tokens);
  EXPECT_EQ(memory_->runs(), runs_.size());
  EXPECT_TRUE(memory_->HasPair(lessons_[9].tokens[2], lessons_[9].tokens[3]));
  EXPECT_TRUE(memory_->Has(9));
  EXPECT_FALSE(memory_->Without(9)->Has(9));
  EXPECT_EQ(memory_->With(runs_[9])->runs(), runs_.size()) << "it replaces the run of its id";
  EXPECT_EQ(memory_->CountOf(kMask), 0U);
}

}  // namespace
}  // namespace ruvd::inference
