// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/sampler/commit_rule.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace ruvd::inference {
namespace {

// Returns a Gumbel variate -log(-log(u)). The largest of logits plus such noise is a draw from
// their softmax.
double Gumbel(Random& random) {
  return -std::log(-std::log(random.Uniform() + 1e-300) + 1e-300);
}

// Returns the first step from `scope.step` on in which the schedule commits anything. The last step
// always does.
int NextCommit(const CommitScope& scope) {
  int step = scope.step;
  while (step + 1 < scope.schedule.steps() &&
         scope.schedule.Count(step, static_cast<int>(scope.masked.size())) == 0) {
    ++step;
  }
  return step;
}

// Commits the best positions of a ranking of all masked positions; subclasses decide how many.
class RankedRule : public CommitRule {
 public:
  RankedRule(CommitOrder order, float temperature) : order_(order), temperature_(temperature) {}

  Intent Prepare(const CommitScope& scope, Random&) override {
    return {.step = NextCommit(scope),
            .evaluate = {scope.masked.begin(), scope.masked.end()},
            .remask = {}};
  }

  std::vector<size_t> Choose(const CommitScope& scope, std::span<const Proposal> proposals,
                             Random& random) override {
    std::vector<size_t> order = Ranking(proposals, random);
    std::vector<Proposal> ranked;
    ranked.reserve(order.size());
    for (const size_t i : order) {
      ranked.push_back(proposals[i]);
    }
    const int scheduled = scope.schedule.Count(scope.step, static_cast<int>(proposals.size()));
    const size_t count = std::max(static_cast<size_t>(scheduled), Count(ranked));
    order.resize(std::clamp<size_t>(count, 1, order.size()));
    return order;
  }

 protected:
  // How many of the ranked proposals the rule itself would commit; 0 leaves the number to the
  // schedule.
  virtual size_t Count(std::span<const Proposal> /*ranked*/) { return 0; }

  std::vector<size_t> Ranking(std::span<const Proposal> proposals, Random& random) const {
    std::vector<double> scores;
    for (const Proposal& proposal : proposals) {
      double score = RankingScore(order_, proposal);
      if (temperature_ > 0) {  // the k largest are k draws without replacement
        score = score / temperature_ + Gumbel(random);
      }
      scores.push_back(score);
    }
    std::vector<size_t> order(proposals.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return scores[a] != scores[b] ? scores[a] > scores[b]
                                    : proposals[a].position < proposals[b].position;
    });
    return order;
  }

 private:
  CommitOrder order_;
  float temperature_;
};

class ThresholdRule final : public RankedRule {
 public:
  explicit ThresholdRule(float threshold)
      : RankedRule(CommitOrder::kConfidence, 0), threshold_(threshold) {}

 private:
  size_t Count(std::span<const Proposal> ranked) override {
    return static_cast<size_t>(CountConfident(ranked, threshold_));
  }
  float threshold_;
};

class FactorRule final : public RankedRule {
 public:
  explicit FactorRule(float factor) : RankedRule(CommitOrder::kConfidence, 0), factor_(factor) {}

 private:
  size_t Count(std::span<const Proposal> ranked) override {
    size_t count = 0;
    for (size_t n = 1; n <= ranked.size(); ++n) {
      if (static_cast<float>(n + 1) * (1.0F - ranked[n - 1].confidence) < factor_) {
        count = n;
      }
    }
    return count;
  }
  float factor_;
};

class EntropyBoundedRule final : public RankedRule {
 public:
  explicit EntropyBoundedRule(float bound) : RankedRule(CommitOrder::kEntropy, 0), bound_(bound) {}

 private:
  size_t Count(std::span<const Proposal> ranked) override {
    double sum = 0;
    float largest = 0;
    size_t count = 0;
    for (const Proposal& proposal : ranked) {
      sum += proposal.entropy;
      largest = std::max(largest, proposal.entropy);
      if (sum - largest > bound_) {
        break;
      }
      ++count;
    }
    return count;
  }
  float bound_;
};

// Unlike the other ranked rules, this rule may skip positions in the ranking.
class KlassRule final : public RankedRule {
 public:
  explicit KlassRule(const CommitRuleOptions& options)
      : RankedRule(CommitOrder::kConfidence, 0), options_(options) {}

  void EnterScope() override { stable_.clear(); }

  std::vector<size_t> Choose(const CommitScope& scope, std::span<const Proposal> proposals,
                             Random& random) override {
    std::vector<bool> stable;
    for (const Proposal& proposal : proposals) {
      int& steps = stable_[proposal.position];
      steps = proposal.movement < options_.stability_kl ? steps + 1 : 0;
      stable.push_back(steps >= options_.stability_steps &&
                       proposal.confidence >= options_.threshold);
    }
    std::vector<size_t> order = Ranking(proposals, random);
    const auto others = std::stable_partition(order.begin(), order.end(),
                                              [&](size_t index) { return stable[index]; });
    const auto scheduled = static_cast<size_t>(
        std::max(1, scope.schedule.Count(scope.step, static_cast<int>(proposals.size()))));
    order.resize(std::max(static_cast<size_t>(others - order.begin()), scheduled));
    return order;
  }

 private:
  CommitRuleOptions options_;
  std::map<int, int> stable_;  // by position: consecutive steps with little movement
};

// Commits as many positions as the schedule says, chosen without evaluating the model.
class BlindRule final : public CommitRule {
 public:
  explicit BlindRule(bool shuffle) : shuffle_(shuffle) {}

  Intent Prepare(const CommitScope& scope, Random& random) override {
    Intent intent{.step = NextCommit(scope),
                  .evaluate = {scope.masked.begin(), scope.masked.end()},
                  .remask = {}};
    if (shuffle_) {
      random.Shuffle(std::span(intent.evaluate));
    }
    intent.evaluate.resize(static_cast<size_t>(
        scope.schedule.Count(intent.step, static_cast<int>(scope.masked.size()))));
    std::sort(intent.evaluate.begin(), intent.evaluate.end());
    return intent;
  }

  std::vector<size_t> Choose(const CommitScope&, std::span<const Proposal> proposals,
                             Random&) override {
    std::vector<size_t> all(proposals.size());
    std::iota(all.begin(), all.end(), size_t{0});
    return all;
  }

 private:
  bool shuffle_;
};

// Ancestral sampling, or ReMDM's if a remasking kind is given.
class AncestralRule final : public CommitRule {
 public:
  AncestralRule() = default;
  AncestralRule(RemaskKind kind, float strength)
      : remasks_(true), kind_(kind), strength_(strength) {}

  void EnterScope() override { confidence_.clear(); }
  bool remasks() const override { return remasks_; }

  // One uniform number decides whether a step does anything at all. Positions are drawn only if it
  // does, under the condition that at least one is drawn.
  Intent Prepare(const CommitScope& scope, Random& random) override {
    const std::vector<double> shares = Shares(scope.committed);
    Intent intent{.step = scope.step, .evaluate = {}, .remask = {}};
    while (true) {
      const Chances chances = ChancesAt(intent.step, scope.schedule.steps());
      if (random.Uniform() >= ChanceOfNothing(chances, scope.masked.size(), shares)) {
        Draw(scope, chances, shares, random, &intent);
        return intent;
      }
      if (intent.step + 1 >= scope.schedule.steps()) {
        return intent;  // reached only if nothing is masked
      }
      ++intent.step;
    }
  }

  std::vector<size_t> Choose(const CommitScope&, std::span<const Proposal> proposals,
                             Random&) override {
    std::vector<size_t> all(proposals.size());
    std::iota(all.begin(), all.end(), size_t{0});
    for (const Proposal& proposal : proposals) {
      confidence_[proposal.position] = proposal.confidence;
    }
    return all;
  }

 private:
  // Probabilities at one step: that a mask is revealed, and (to be multiplied by the position's
  // share) that a committed position is masked again.
  struct Chances {
    double reveal = 0;
    double remask = 0;
  };

  Chances ChancesAt(int step, int count) const {
    const double steps = count;
    const double t = 1.0 - step / steps;
    const double s = step + 1 >= count ? 0.0 : t - 1.0 / steps;
    const double largest = t >= 1 ? 1.0 : std::min(1.0, s / (1.0 - t));
    const double sigma = Sigma(largest);
    // A mask is revealed with (alpha_s - (1 - sigma) alpha_t) / (1 - alpha_t), alpha = 1 - time. In
    // kConfidence, sigma exists only where a confidence is known, which is not the case at masks.
    const double at_masks = kind_ == RemaskKind::kConfidence ? 0.0 : sigma;
    return {.reveal = s == 0 ? 1.0 : ((1.0 - s) - (1.0 - at_masks) * (1.0 - t)) / t,
            .remask = s == 0 ? 0.0 : sigma};
  }

  double ChanceOfNothing(const Chances& chances, size_t masked,
                         std::span<const double> shares) const {
    double nothing = std::pow(1.0 - chances.reveal, static_cast<double>(masked));
    if (chances.remask == 0 || shares.empty()) {
      return nothing;
    }
    if (kind_ != RemaskKind::kConfidence) {  // all shares are equal
      return nothing * std::pow(1.0 - chances.remask, static_cast<double>(shares.size()));
    }
    for (const double share : shares) {
      nothing *= 1.0 - chances.remask * share;
    }
    return nothing;
  }

  // Draws each position with its own probability, under the condition that at least one of all is
  // drawn: until the first one is drawn, a probability is divided by the probability that any
  // position from this one on is drawn.
  static void Draw(const CommitScope& scope, const Chances& chances, std::span<const double> shares,
                   Random& random, Intent* intent) {
    std::vector<double> chance(scope.masked.size(), chances.reveal);
    for (const double share : shares) {
      chance.push_back(chances.remask * share);
    }
    std::vector<double> any(chance.size());
    double none = 1;
    for (size_t i = chance.size(); i-- > 0;) {
      none *= 1.0 - chance[i];
      any[i] = 1.0 - none;
    }
    bool drawn = false;
    for (size_t i = 0; i < chance.size(); ++i) {
      if (!random.Bernoulli(drawn ? chance[i] : chance[i] / any[i])) {
        continue;
      }
      drawn = true;
      if (i < scope.masked.size()) {
        intent->evaluate.push_back(scope.masked[i]);
      } else {
        intent->remask.push_back(scope.committed[i - scope.masked.size()]);
      }
    }
  }

  double Sigma(double largest) const {
    if (!remasks_) {
      return 0;
    }
    switch (kind_) {
      case RemaskKind::kCap:
        return std::min<double>(strength_, largest);
      case RemaskKind::kRescale:
        return strength_ * largest;
      case RemaskKind::kConfidence:
        break;
    }
    return largest;
  }

  // The factor of sigma of each committed position: 1, or softmax(-confidence) for kConfidence.
  std::vector<double> Shares(std::span<const int> committed) const {
    std::vector<double> shares(committed.size(), 1.0);
    if (kind_ == RemaskKind::kConfidence) {
      double mass = 0;
      for (size_t i = 0; i < shares.size(); ++i) {
        const auto known = confidence_.find(committed[i]);
        shares[i] = std::exp(known == confidence_.end() ? 0.0 : -known->second);
        mass += shares[i];
      }
      for (double& share : shares) {
        share /= mass;
      }
    }
    return shares;
  }

  bool remasks_ = false;
  RemaskKind kind_ = RemaskKind::kCap;
  float strength_ = 0;
  std::map<int, float> confidence_;  // by position, at the time of its commit
};

}  // namespace

std::unique_ptr<CommitRule> MakeCommitRule(const CommitRuleOptions& options) {
  const float temperature = options.position_temperature;
  switch (options.kind) {
    case SamplerKind::kAncestral:
      return std::make_unique<AncestralRule>();
    case SamplerKind::kLowConfidence:
      return std::make_unique<RankedRule>(CommitOrder::kConfidence, temperature);
    case SamplerKind::kMargin:
      return std::make_unique<RankedRule>(CommitOrder::kMargin, temperature);
    case SamplerKind::kEntropy:
      return std::make_unique<RankedRule>(CommitOrder::kEntropy, temperature);
    case SamplerKind::kRandom:
      return std::make_unique<BlindRule>(true);
    case SamplerKind::kPosition:
      return std::make_unique<BlindRule>(false);
    case SamplerKind::kThreshold:
      return std::make_unique<ThresholdRule>(options.threshold);
    case SamplerKind::kFactor:
      return std::make_unique<FactorRule>(options.factor);
    case SamplerKind::kEntropyBounded:
      return std::make_unique<EntropyBoundedRule>(options.entropy_bound);
    case SamplerKind::kKlass:
      return std::make_unique<KlassRule>(options);
    case SamplerKind::kRemdm:
      break;
  }
  return std::make_unique<AncestralRule>(options.remask, options.remask_strength);
}

}  // namespace ruvd::inference
