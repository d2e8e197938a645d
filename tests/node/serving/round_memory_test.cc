// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Tests rounds of completions whose keys and values do not fit into memory together.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "base/status.h"
#include "inference/transformer/cpu_transformer.h"
#include "node/serving/compute_round.h"
#include "tests/inference/text_model.h"

namespace ruvd::serving {
namespace {

using test::TinyTextModel;
using ::testing::ElementsAre;

std::shared_ptr<inference::PrefixTree> Tree(uint64_t pages) {
  const inference::ModelConfig& config = TinyTextModel()->config();
  return std::make_shared<inference::PrefixTree>(
      inference::KvPool::Create(
          config, inference::KvFormat::kF16,
          pages * inference::KvLayout(config, inference::KvFormat::kF16).page_bytes())
          .value());
}

struct Request {
  std::vector<inference::TokenId> prompt;
  inference::SamplingOptions options;
};

std::unique_ptr<inference::Generation> Begin(const Request& request,
                                             const std::shared_ptr<inference::PrefixTree>& tree) {
  return inference::Generation::Create(*TinyTextModel(), request.prompt, request.options, nullptr,
                                       tree)
      .value();
}

// A task that begins when it is made and records how it ends.
class CountedTask final : public ComputeTask {
 public:
  CountedTask(const Request& request, const std::shared_ptr<inference::PrefixTree>& tree)
      : generation_(Begin(request, tree)) {}
  bool RunSlice(inference::Transformer&) override { return true; }
  void Fail(const absl::Status&) override {}
  bool EndIfCancelled() override { return cancelled; }
  inference::Generation* generation() override { return generation_.get(); }
  bool OnForwardRound(inference::ForwardRoundResult round) override {
    status = round.status();
    return !status.ok() || generation_->done();
  }

  absl::Status status;
  bool cancelled = false;

 private:
  std::unique_ptr<inference::Generation> generation_;
};

std::vector<inference::TokenId> TokensAlone(const Request& request) {
  inference::CpuTransformer transformer(TinyTextModel(), SerialRunner());
  const auto generation = Begin(request, Tree(100));
  while (!generation->done()) {
    RUVD_CHECK(generation->Step(transformer).ok());
  }
  return generation->tokens();
}

// Admits tasks as the scheduler does and runs rounds until all have ended.
class Rounds {
 public:
  explicit Rounds(uint64_t pages) : tree_(Tree(pages)) {}

  CountedTask& Admit(const Request& request) {
    tasks_.push_back(std::make_unique<CountedTask>(request, tree_));
    entries_.push_back({.task = tasks_.back().get(), .number = tasks_.size()});
    tokens_.emplace_back();
    return *tasks_.back();
  }
  ComputeRoundOutcome RunOne() {
    const ComputeRoundOutcome outcome = RunComputeRound(entries_, 512, transformer_, &scratch_);
    std::vector<ComputeRoundTask> left;
    for (const TaskProgress turn : {TaskProgress::kWaiting, TaskProgress::kServed}) {
      for (size_t i = 0; i < entries_.size(); ++i) {
        if (outcome.turns[i] == turn) {
          left.push_back(entries_[i]);
        }
      }
    }
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (outcome.turns[i] == TaskProgress::kEnded) {
        End(entries_[i]);
      }
    }
    entries_ = std::move(left);
    preempted_ += outcome.preempted;
    return outcome;
  }
  void RunAll() {
    for (int round = 0; !entries_.empty(); ++round) {
      ASSERT_LT(round, 5000);
      RunOne();
    }
  }

  const std::vector<uint64_t>& order() const { return order_; }  // in the order in which they ended
  const std::vector<inference::TokenId>& tokens(size_t task) const { return tokens_[task]; }
  const absl::Status& status(size_t task) const { return statuses_.at(task + 1); }
  size_t preempted() const { return preempted_; }
  size_t parked() const {
    return static_cast<size_t>(
        std::count_if(entries_.begin(), entries_.end(),
                      [](const ComputeRoundTask& task) { return task.parked; }));
  }
  const inference::PrefixTree& tree() const { return *tree_; }

 private:
  void End(const ComputeRoundTask& entry) {
    std::unique_ptr<CountedTask>& task = tasks_[entry.number - 1];
    tokens_[entry.number - 1] = task->generation()->tokens();
    statuses_[entry.number] = task->status;
    order_.push_back(entry.number);
    task.reset();  // as the scheduler forgets it
  }

  inference::CpuTransformer transformer_{TinyTextModel(), SerialRunner()};
  inference::StepScratch scratch_;
  const std::shared_ptr<inference::PrefixTree> tree_;
  std::vector<std::unique_ptr<CountedTask>> tasks_;
  std::vector<ComputeRoundTask> entries_;
  std::vector<std::vector<inference::TokenId>> tokens_;
  std::map<uint64_t, absl::Status> statuses_;
  std::vector<uint64_t> order_;
  size_t preempted_ = 0;
};

Request Long(inference::TokenId token, int prompt, int tokens) {
  return {.prompt = std::vector<inference::TokenId>(static_cast<size_t>(prompt), token),
          .options = {.mode = inference::DecodingMode::kAutoregressive,
                      .max_tokens = tokens,
                      .ignore_end_of_text = true}};
}

TEST(RoundMemoryTest, CompletionsFailedWhileOthersHeldTheMemory) {
  const std::vector<Request> requests = {Long('a', 20, 40), Long('b', 20, 40), Long('c', 20, 40)};
  Rounds rounds(6);  // one of them takes four and a copy
  for (const Request& request : requests) {
    rounds.Admit(request);
  }
  rounds.RunAll();
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_TRUE(rounds.status(i).ok()) << rounds.status(i);
    EXPECT_EQ(rounds.tokens(i), TokensAlone(requests[i]));
  }
  EXPECT_GT(rounds.preempted(), 0U);
  EXPECT_THAT(rounds.order(), ElementsAre(1, 2, 3));  // the youngest make room
}

TEST(RoundMemoryTest, AParkedCompletionMayBeCancelled) {
  Rounds rounds(5);
  rounds.Admit(Long('a', 20, 40));
  CountedTask& young = rounds.Admit(Long('b', 20, 40));
  while (rounds.parked() == 0) {
    rounds.RunOne();
  }
  young.cancelled = true;
  EXPECT_THAT(rounds.RunOne().turns, ::testing::Contains(TaskProgress::kEnded));
  rounds.RunAll();
  EXPECT_THAT(rounds.order(), ElementsAre(2, 1));
}

TEST(RoundMemoryTest, EnoughMemoryPreemptsNobody) {
  Rounds rounds(100);
  for (const inference::TokenId token : {'a', 'b', 'c'}) {
    rounds.Admit(Long(token, 20, 20));
  }
  rounds.RunAll();
  EXPECT_EQ(rounds.preempted(), 0U);
}

// Makes requests of every mode, some with common prompts, in memory that barely holds the largest.
RC_GTEST_PROP(RoundMemoryTest, AllEndWithTheResultsTheyHaveAlone, (uint64_t seed)) {
  Random random(seed);
  std::vector<Request> requests(2 + random.Below(5));
  for (Request& request : requests) {
    const auto letter = static_cast<inference::TokenId>('a' + random.Below(2));
    request = Long(letter, static_cast<int>(1 + random.Below(50)),
                   static_cast<int>(1 + random.Below(30)));
    request.options.mode = static_cast<inference::DecodingMode>(random.Below(3));
    if (request.options.mode == inference::DecodingMode::kDiffusion) {
      request.options.approximate_cache_steps = 3;
      request.options.block_length = 8;
    } else if (request.options.mode == inference::DecodingMode::kBlock && random.Bernoulli(0.3)) {
      request.options.guidance_scale = 1;
    }
  }
  Rounds rounds(12);  // twice five and a copy each
  for (const Request& request : requests) {
    rounds.Admit(request);
  }
  rounds.RunAll();
  for (size_t i = 0; i < requests.size(); ++i) {
    RC_ASSERT(rounds.status(i).ok());
    RC_ASSERT(rounds.tokens(i) == TokensAlone(requests[i]));
  }
  RC_ASSERT(rounds.tree().pool()->usage().pages == rounds.tree().stats().pages);
}

}  // namespace
}  // namespace ruvd::serving
