// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/instant_arms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "inference/instant/limits.h"
#include "inference/kernels/kernel_table.h"
#include "inference/memory/learning/observe_lesson.h"
#include "inference/memory/memory_reader.h"
#include "inference/sampler/distribution.h"
#include "inference/sampler/limits.h"

namespace ruvd::bench {
namespace {

class Frozen final : public InstantArm {
 public:
  void Adjust(const RequestOutputs&, std::span<float>) override {}
  void Learn(const RequestOutputs&, std::span<const float>) override {}
};

class Unigram final : public InstantArm {
 public:
  explicit Unigram(float share) : share_(share) {}

  void Adjust(const RequestOutputs& outputs, std::span<float> logits) override {
    if (total_ == 0) {
      return;
    }
    const size_t rows = outputs.predictions.size();
    const size_t vocabulary = logits.size() / rows;
    const double factor = share_ / (1 - share_) / total_;
    for (size_t row = 0; row < rows; ++row) {
      const std::span<float> own = logits.subspan(row * vocabulary, vocabulary);
      const float largest = inference::Kernels().max(own.data(), own.size());
      const float log_mass =
          largest + std::log(inference::Kernels().sum_exp(own.data(), own.size(), largest));
      for (const auto& [token, count] : counts_) {
        const double p = std::exp(static_cast<double>(own[token] - log_mass));
        own[token] = log_mass + static_cast<float>(std::log(p + factor * count));
      }
    }
  }

  void Learn(const RequestOutputs& outputs, std::span<const float>) override {
    for (const Prediction& prediction : outputs.predictions) {
      counts_[prediction.target] += 1;
      total_ += 1;
    }
  }

 private:
  double share_;
  double total_ = 0;
  std::map<inference::TokenId, double> counts_;
};

class Memory final : public InstantArm {
 public:
  Memory(const inference::InstantMemoryOptions& options, const inference::InstantStepOptions& step)
      : step_(step), memory_(std::make_shared<const inference::InstantMemory>(options)) {}

  void Adjust(const RequestOutputs& outputs, std::span<float> logits) override {
    memory_->Adjust(outputs.hidden, outputs.predictions.size(), logits);
  }

  void Learn(const RequestOutputs& outputs, std::span<const float> logits) override {
    const size_t rows = outputs.predictions.size();
    const size_t width = outputs.hidden.size() / rows;
    const size_t vocabulary = logits.size() / rows;
    std::vector<std::vector<inference::TokenProbability>> candidates(rows);
    std::vector<inference::InstantLesson> lessons(rows);
    for (size_t row = 0; row < rows; ++row) {
      const std::span<const float> own = logits.subspan(row * vocabulary, vocabulary);
      const inference::RowSummary summary = inference::Summarise(own, inference::kNoToken);
      const float least = summary.maximum + summary.log_mass + std::log(limits::kMinCandidate);
      for (const inference::TokenLogit& entry :
           inference::TopTokens(own, limits::kMaxCandidates, least, inference::kNoToken)) {
        candidates[row].push_back({entry.token, summary.Probability(entry.logit)});
      }
      const inference::TokenId target = outputs.predictions[row].target;
      lessons[row] = {.token = target,
                      .weight = 1,
                      .hidden = std::span(outputs.hidden).subspan(row * width, width),
                      .candidates = candidates[row],
                      .probability = summary.Probability(own[target])};
    }
    memory_ = memory_->With(inference::InstantStep::Make(fmt::format("{}", requests_++),
                                                         static_cast<int>(width), lessons, step_));
  }

 private:
  inference::InstantStepOptions step_;
  std::shared_ptr<const inference::InstantMemory> memory_;
  int requests_ = 0;
};

class Remembering final : public InstantArm {
 public:
  explicit Remembering(const TokenMemoryArm& arm)
      : arm_(arm),
        memory_(arm.node != nullptr ? arm.node : std::make_shared<inference::TokenMemory>()) {}

  void Adjust(const RequestOutputs& outputs, std::span<float> logits) override {
    inference::MemoryReader reader(arm_.parameters, memory_, *arm_.runner);
    const size_t width = outputs.hidden.size() / outputs.predictions.size();
    const size_t vocabulary = logits.size() / outputs.predictions.size();
    size_t begin = 0;
    for (const PredictedWindow& window : outputs.windows) {
      const size_t count = window.positions.size();
      const Prediction& one = outputs.predictions[begin];
      if (one.scored) {
        reader.Mix({.tokens = window.tokens,
                    .mask = arm_.mask,
                    .causal = window.causal,
                    .t = window.causal ? 0 : static_cast<float>(one.t),
                    .masked = window.causal ? 1 : count},
                   window.positions,
                   std::span(outputs.hidden).subspan(begin * width, count * width),
                   logits.subspan(begin * vocabulary, count * vocabulary));
      }
      begin += count;
    }
  }

  // The lesson is read as a node reads it: every token once, under masks that complement each
  // other.
  void Learn(const RequestOutputs& outputs, std::span<const float>) override {
    if (!arm_.learns) {
      return;
    }
    const size_t rows = outputs.predictions.size();
    const size_t width = outputs.hidden.size() / rows;
    const size_t vocabulary = outputs.logits.size() / rows;
    inference::ObservedLesson lesson{.given = outputs.first};
    lesson.tokens.resize(rows);
    lesson.hidden.resize(outputs.hidden.size());
    size_t row = 0;
    for (const PredictedWindow& window : outputs.windows) {
      for (const int position : window.positions) {
        const size_t place = static_cast<size_t>(position) - outputs.first;
        const Prediction& prediction = outputs.predictions[row];
        const std::span<const float> own =
            std::span(outputs.logits).subspan(row * vocabulary, vocabulary);
        lesson.tokens[place] = {
            .token = prediction.target,
            .probability = static_cast<float>(std::exp(-CrossEntropyOf(own, prediction.target))),
            .t = window.causal ? 0 : static_cast<float>(prediction.t)};
        std::copy_n(outputs.hidden.begin() + static_cast<ptrdiff_t>(row * width), width,
                    lesson.hidden.begin() + static_cast<ptrdiff_t>(place * width));
        ++row;
      }
    }
    memory_ = memory_->With(inference::RunOf(*arm_.parameters, next_id_++, outputs.tokens, lesson));
  }

 private:
  static constexpr uint64_t kFirstId = uint64_t{1} << 32U;  // above those of the node's lessons
  const TokenMemoryArm arm_;
  std::shared_ptr<const inference::TokenMemory> memory_;
  uint64_t next_id_ = kFirstId;
};

// Two arms on the same requests; the second reads the logits that the first changed.
class InTurn final : public InstantArm {
 public:
  InTurn(std::unique_ptr<InstantArm> first, std::unique_ptr<InstantArm> second)
      : first_(std::move(first)), second_(std::move(second)) {}

  void Adjust(const RequestOutputs& outputs, std::span<float> logits) override {
    first_->Adjust(outputs, logits);
    second_->Adjust(outputs, logits);
  }
  void Learn(const RequestOutputs& outputs, std::span<const float> logits) override {
    first_->Learn(outputs, logits);
    second_->Learn(outputs, logits);
  }

 private:
  const std::unique_ptr<InstantArm> first_;
  const std::unique_ptr<InstantArm> second_;
};

}  // namespace

ArmSettings FrozenArm() {
  return {"frozen", "frozen", [] { return std::make_unique<Frozen>(); }};
}

ArmSettings UnigramArm(float share) {
  return {"unigram", fmt::format("unigram cache, share {}", share),
          [share] { return std::make_unique<Unigram>(share); }};
}

ArmSettings MemoryArm(const std::string& family, float step, float share, float temperature,
                      int neighbours, float prior) {
  const inference::InstantMemoryOptions options{.neighbour_share = share,
                                                .neighbours = neighbours,
                                                .temperature = temperature,
                                                .prior = prior,
                                                .rows = step > 0};
  return {family,
          fmt::format("{}, step {}, share {}, temperature {}, neighbours {}, prior {}", family,
                      step, share, temperature, neighbours, prior),
          [=] {
            return std::make_unique<Memory>(options, inference::InstantStepOptions{.step = step});
          }};
}

ArmSettings DefaultMemoryArm(const std::string& name) {
  return {"both", name, [] {
            return std::make_unique<Memory>(inference::InstantMemoryOptions{},
                                            inference::InstantStepOptions{});
          }};
}

ArmSettings MakeTokenMemoryArm(const std::string& name, const TokenMemoryArm& arm) {
  return {"tokens", name, [arm] { return std::make_unique<Remembering>(arm); }};
}

ArmSettings InTurnArm(const std::string& name, const ArmSettings& first,
                      const ArmSettings& second) {
  return {"both", name, [first = first.make, second = second.make] {
            return std::make_unique<InTurn>(first(), second());
          }};
}

}  // namespace ruvd::bench
