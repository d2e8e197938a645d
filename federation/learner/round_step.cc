// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/learner/round_step.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "federation/daf/distances.h"
#include "federation/daf/robust_rules.h"
#include "federation/daf/running_mean.h"
#include "federation/learner/outer_step.h"
#include "federation/learner/round_selection.h"
#include "federation/learner/verdict.h"
#include "federation/limits.h"
#include "federation/reasons.h"

namespace ruvd::federation {
namespace {

// A contribution that counts in the round.
struct Counted {
  const RoundContribution* source = nullptr;
  size_t part = 0;  // its index in the report
  BankedValues values;
  double scale = 1;              // by which its values were made shorter
  std::vector<double> coverage;  // by bank
  std::vector<double> gains;     // by bank
  double similarity = 1;

  const Contribution& contribution() const { return source->contribution; }
};

// A contribution that covers a smaller share of a bank is ignored there. Otherwise a tiny overlap,
// for example from a rounded share, would make it one of the n contributions that rules count.
constexpr double kMinCoverage = 0.05;

// Returns how much of each bank's range of t a contribution was trained on: a tenth of t counts as
// far as it got its even share of the maskings.
std::vector<double> CoverageOf(const TimestepHistogram& schedule,
                               std::span<const float> boundaries) {
  std::vector<double> coverage;
  for (size_t bank = 0; bank <= boundaries.size(); ++bank) {
    const double low = bank == 0 ? 0.0 : double{boundaries[bank - 1]};
    const double high = bank == boundaries.size() ? 1.0 : double{boundaries[bank]};
    double covered = 0;
    for (size_t tenth = 0; tenth < kScheduleBins; ++tenth) {
      const double begin = static_cast<double>(tenth) / kScheduleBins;
      const double end = static_cast<double>(tenth + 1) / kScheduleBins;
      const double overlap = std::max(0.0, std::min(high, end) - std::max(low, begin));
      // Shares are rounded, so an even one may be a unit less than a tenth.
      const double even = kScheduleBins * (schedule[tenth] + 1.0) / kScheduleUnit;
      covered += schedule[tenth] == 0 ? 0.0 : overlap * std::min(1.0, even);
    }
    const double share = std::min(1.0, covered / (high - low));
    coverage.push_back(share < kMinCoverage ? 0.0 : share);
  }
  return coverage;
}

double NormOf(const BankedValues& values) {
  double sum = 0;
  for (const std::vector<float>& bank : values) {
    for (const float v : bank) {
      sum += double{v} * v;
    }
  }
  return std::sqrt(sum);
}

// Scales values of this norm down to `most` if they are longer. Returns the factor.
double Shorten(double most, double norm, BankedValues* values) {
  const double scale = norm > most ? most / norm : 1;
  for (std::vector<float>& bank : *values) {
    for (float& value : bank) {
      value = scale < 1 ? static_cast<float>(value * scale) : value;
    }
  }
  return scale;
}

// What members measured of one contribution, by judge: gains by bank.
using Measured = std::map<privacy::NodeId, const std::vector<float>*>;

// Returns whether a node may judge a contribution, which must not be its own.
bool MayJudge(const privacy::NodeId& judge, const RoundContribution& one) {
  return judge != one.origin && !std::ranges::binary_search(one.members, judge);
}

// The lower median of what other members measured, by bank; zeros if they are fewer than
// kMinJudges.
std::vector<double> GainsOf(const Measured& counted, size_t banks) {
  std::vector<double> gains(banks);
  if (counted.size() < limits::kMinJudges) {
    return gains;
  }
  for (size_t bank = 0; bank < banks; ++bank) {
    std::vector<double> measured;
    measured.reserve(counted.size());
    for (const auto& [judge, by_bank] : counted) {
      measured.push_back((*by_bank)[bank]);
    }
    std::ranges::sort(measured);
    gains[bank] = measured[(measured.size() - 1) / 2];
  }
  return gains;
}

class Step {
 public:
  Step(const LearnerPlan& plan, const RoundSet& set, uint64_t round, GlobalState* state,
       RoundReport* report)
      : plan_(plan),
        round_(round),
        state_(*state),
        report_(*report),
        rule_(RuleByName(plan.rule, plan.faulty)) {
    RUVD_CHECK(rule_ != nullptr && round > state->round);
    report_ = {.round = round, .parts = {}, .contributors = {}};
    if (CountsQuality(plan.strategy)) {
      SortVerdicts(set);
    }
    auto chosen = ChosenOf(set, round);
    DrawJudged(chosen);
    for (auto& [one, refused] : chosen) {
      Add(*one, std::move(refused));
    }
    CompareSchedules();
    step_ = ShareOfStep();
  }

  void Apply() {
    for (size_t bank = 0; bank < plan_.banks(); ++bank) {
      MoveBank(bank);
    }
    for (const Counted& one : counted_) {
      RoundReport::Part& part = report_.parts[one.part];
      const auto& [square, product, length] = results_[one.part];
      part.distance = std::sqrt(part.distance);
      part.cosine = square * length > 0 ? product / std::sqrt(square * length) : 0;
    }
    report_.verdicts = judges_.size();
    report_.step = step_;
    RecordParticipants();
    ForgetOldNodes();
    state_.round = round_;
  }

 private:
  // A judge may have several verdicts on the round; the one with the lowest id counts.
  void SortVerdicts(const RoundSet& set) {
    for (const RoundVerdict* verdict : set.verdicts) {
      const RoundVerdict*& kept = verdicts_[verdict->judge];
      if (kept == nullptr || verdict->id < kept->id) {
        kept = verdict;
      }
    }
  }

  // Decides which contributions count of each judge, if they are more than a judge may name.
  void DrawJudged(std::span<const std::pair<const RoundContribution*, absl::Status>> chosen) {
    if (chosen.size() <= limits::kMaxJudgedContributions) {
      return;
    }
    for (const auto& [judge, verdict] : verdicts_) {
      std::map<Digest, Digest> order;
      for (const auto& [one, refused] : chosen) {
        if (MayJudge(judge, *one)) {
          order.emplace(VerdictDraw(judge, one->id), one->id);
        }
      }
      std::set<Digest>& drawn = drawn_[judge];
      for (const auto& [draw, id] : order) {
        if (drawn.size() == limits::kMaxJudgedContributions) {
          break;
        }
        drawn.insert(id);
      }
    }
  }

  bool Counts(const privacy::NodeId& judge, const RoundContribution& one) const {
    const auto drawn = drawn_.find(judge);
    return MayJudge(judge, one) && (drawn == drawn_.end() || drawn->second.contains(one.id));
  }

  Measured MeasuredOf(const RoundContribution& one) const {
    Measured measured;
    for (const auto& [judge, verdict] : verdicts_) {
      const auto found = verdict->verdict.gains.find(one.id);
      if (found != verdict->verdict.gains.end() && Counts(judge, one)) {
        measured.emplace(judge, &found->second);
      }
    }
    return measured;
  }

  void Add(const RoundContribution& source, absl::Status refused) {
    BankedValues values = ValuesOf(source.contribution, plan_);
    RoundReport::Part& part = report_.parts.emplace_back();
    part.origin = source.origin;
    part.members = source.contribution.members;
    part.norm = NormOf(values);
    part.refused = std::move(refused);
    if (!part.refused.ok()) {
      return;
    }
    const double scale = Shorten(plan_.max_norm, part.norm, &values);
    const Measured measured = MeasuredOf(source);
    part.judges = measured.size();
    for (const auto& [judge, gains] : measured) {
      judges_.insert(judge);
    }
    counted_.push_back({.source = &source,
                        .part = report_.parts.size() - 1,
                        .values = std::move(values),
                        .scale = scale,
                        .coverage = CoverageOf(source.contribution.schedule, plan_.boundaries),
                        .gains = GainsOf(measured, plan_.banks())});
  }

  // Compares each schedule with the mean of the round, in which stale contributions count less.
  void CompareSchedules() {
    std::vector<TimestepHistogram> schedules;
    std::vector<double> weights;
    for (const Counted& one : counted_) {
      schedules.push_back(one.contribution().schedule);
      weights.push_back(StalenessFactor(plan_.strategy.staleness_exponent, StalenessOf(one)));
    }
    if (counted_.empty()) {
      return;
    }
    const MeanHistogram mean = MeanSchedule(schedules, weights);
    for (Counted& one : counted_) {
      one.similarity = ScheduleSimilarity(one.contribution().schedule, mean);
    }
  }

  // Returns how much of a whole step the round makes. The contributions of few say little about
  // what the others would have given, and no rule can tell a lie among them.
  double ShareOfStep() const {
    std::set<privacy::NodeId> active;
    for (const auto& [node, newest] : state_.last_part) {
      if (newest + plan_.window >= round_) {
        active.insert(node);
      }
    }
    size_t given = 0;
    for (const Counted& one : counted_) {
      const std::vector<privacy::NodeId> single = {one.source->origin};
      const std::vector<privacy::NodeId>& nodes =
          one.source->members.empty() ? single : one.source->members;
      active.insert(nodes.begin(), nodes.end());
      given += nodes.size();
    }
    const double quorum = std::min(plan_.quorum * static_cast<double>(active.size()),
                                   static_cast<double>(limits::kLargestQuorum));
    return quorum > static_cast<double>(given) ? static_cast<double>(given) / quorum : 1;
  }

  uint64_t StalenessOf(const Counted& one) const {
    return round_ - 1 - one.contribution().base_round;
  }

  std::vector<double> WeightsIn(size_t bank) const {
    std::vector<UpdateView> views;
    views.reserve(counted_.size());
    for (const Counted& one : counted_) {
      views.push_back({.coverage = one.values[bank].empty() ? 0.0 : one.coverage[bank],
                       .staleness = StalenessOf(one),
                       .improvement = one.gains[bank],
                       .similarity = one.similarity});
    }
    // A sum has one vote, whatever the number of its members, because one of them that lies chooses
    // the whole sum.
    return WeightsOf(plan_.strategy, views);
  }

  void MoveBank(size_t bank) {
    const std::vector<double> all = WeightsIn(bank);
    std::vector<const Counted*> counted;
    std::vector<std::span<const float>> updates;
    std::vector<double> weights;
    std::vector<TimestepHistogram> schedules;
    for (size_t i = 0; i < counted_.size(); ++i) {
      if (all[i] > 0) {
        counted.push_back(&counted_[i]);
        updates.emplace_back(counted_[i].values[bank]);
        weights.push_back(all[i]);
        schedules.push_back(counted_[i].contribution().schedule);
      }
    }
    report_.contributors.push_back(counted.size());
    if (counted.empty()) {
      return;  // not even momentum moves it
    }
    const Past past = PastOf(bank, counted);
    const std::vector<std::span<const float>> past_spans(past.means.begin(), past.means.end());
    const std::vector<double> noise = NoiseOf(counted);
    RuleInput input{.updates = updates,
                    .weights = weights,
                    .past = past_spans,
                    .noise = noise,
                    .past_noise = past.noise};
    // Within clusters of schedules the rule decides on each cluster by itself.
    std::vector<size_t> left_out;
    if (plan_.strategy.strategy != Strategy::kScheduleSimilarity) {
      left_out = rule_->LeftOut(input);
      input.left_out = left_out;
    }
    std::vector<float> delta(plan_.values_per_bank);
    CombineByStrategy(plan_.strategy, *rule_, input, schedules, delta);
    for (size_t i = 0; i < counted.size(); ++i) {
      Describe(*counted[i], updates[i], weights[i], delta);
    }
    for (const size_t i : left_out) {
      report_.parts[counted[i]->part].left_out = true;
      weights[i] = 0;  // its noise is not in the mean
    }
    TakeOuterStep(plan_,
                  {.bank = bank,
                   .values = std::move(delta),
                   .variance = VarianceOf(counted, weights),
                   .share = step_},
                  &state_);
  }

  // The variance of the noise in each value of a contribution that counts.
  double VarianceIn(const Counted& one) const {
    return one.scale * one.scale * NoiseVarianceOf(one.contribution(), plan_);
  }

  // Returns the expected square of the noise in a bank of each contribution.
  std::vector<double> NoiseOf(std::span<const Counted* const> counted) const {
    std::vector<double> noise;
    noise.reserve(counted.size());
    for (const Counted* one : counted) {
      noise.push_back(VarianceIn(*one) * static_cast<double>(plan_.values_per_bank));
    }
    return noise;
  }

  // What is known of senders from several rounds: for each an empty mean, or one in which the noise
  // has an expected square.
  struct Past {
    std::vector<std::vector<float>> means;
    std::vector<double> noise;
  };

  // Remembers what single nodes give to a bank. Returns what is known of each of `counted`, with
  // this round, if the rule uses it; empty for a sum and for a node of whom too little is known.
  Past PastOf(size_t bank, std::span<const Counted* const> counted) {
    Past past;
    if (!rule_->uses_past()) {
      return past;
    }
    auto& running_means = state_.running_means[bank];
    double heaviest = 0;
    for (const Counted* one : counted) {
      if (one->source->members.empty()) {
        RunningMean& mean = running_means[one->source->origin];
        mean.Add(round_, Folded(one->values[bank], plan_.RunningMeanValues()));
        heaviest = std::max(heaviest, mean.weight);
      }
    }
    const std::vector<double> noise = NoiseOf(counted);
    for (size_t i = 0; i < counted.size(); ++i) {
      const Counted* one = counted[i];
      const auto found = running_means.find(one->source->origin);
      const bool known = one->source->members.empty() && found->second.IsKnownBeside(heaviest);
      past.means.push_back(known ? found->second.Mean() : std::vector<float>());
      // This is right for a node that did not change its tier of late. Folding keeps squares.
      past.noise.push_back(known ? noise[i] * found->second.NoiseShare() : 0);
    }
    return past;
  }

  // Forgets nodes that gave nothing for a window, and then those that gave longest ago.
  void ForgetOldNodes() {
    for (auto& nodes : state_.running_means) {
      std::vector<std::pair<uint64_t, privacy::NodeId>> by_round;
      for (const auto& [node, mean] : nodes) {
        by_round.emplace_back(mean.round, node);
      }
      std::ranges::sort(by_round, std::greater{});
      for (size_t i = 0; i < by_round.size(); ++i) {
        if (i >= limits::kMaxRunningMeans || by_round[i].first + plan_.window < round_ ||
            !state_.last_part.contains(by_round[i].second)) {
          nodes.erase(by_round[i].second);
        }
      }
    }
  }

  // The variance of the noise in each value of the weighted mean. Robust rules other than the
  // filtered mean, which keep fewer contributions, leave a little more noise. It is 0 if no weight
  // is left.
  double VarianceOf(std::span<const Counted* const> counted,
                    std::span<const double> weights) const {
    double whole = 0;
    double variance = 0;
    for (size_t i = 0; i < counted.size(); ++i) {
      whole += weights[i];
      variance += weights[i] * weights[i] * VarianceIn(*counted[i]);
    }
    return whole > 0 ? variance / (whole * whole) : 0;
  }

  void Describe(const Counted& one, std::span<const float> values, double weight,
                std::span<const float> result) {
    RoundReport::Part& part = report_.parts[one.part];
    part.weight = std::max(part.weight, weight);
    part.distance += SquaredDistance(values, result);
    auto& [square, product, length] = results_[one.part];
    square += SquaredNorm(values);
    product += Dot(values, result);
    length += SquaredNorm(result);
  }

  void RecordParticipants() {
    for (const Counted& one : counted_) {
      if (one.source->members.empty()) {
        state_.last_part[one.source->origin] = round_;
      }
      for (const privacy::NodeId& member : one.source->members) {
        state_.last_part[member] = round_;
      }
    }
    for (const privacy::NodeId& judge : judges_) {
      state_.last_part[judge] = round_;
    }
    while (state_.last_part.size() > limits::kMaxParticipants) {
      state_.last_part.erase(std::ranges::min_element(
          state_.last_part, [](const auto& a, const auto& b) { return a.second < b.second; }));
    }
  }

  const LearnerPlan& plan_;
  uint64_t round_;
  GlobalState& state_;
  RoundReport& report_;
  std::unique_ptr<const AggregationRule> rule_;
  std::map<privacy::NodeId, const RoundVerdict*> verdicts_;  // by judge; none without quality
  // By judge: which contributions count of it; none: all of them
  std::map<privacy::NodeId, std::set<Digest>> drawn_;
  std::set<privacy::NodeId> judges_;  // of contributions that count
  std::vector<Counted> counted_;      // by origin
  double step_ = 1;                   // as RoundReport::step
  // By part: squared norm, product with the result, and squared norm of the result
  std::map<size_t, std::tuple<double, double, double>> results_;
};

}  // namespace

BankedValues ShortenedValuesOf(const Contribution& contribution, const LearnerPlan& plan) {
  BankedValues values = ValuesOf(contribution, plan);
  Shorten(plan.max_norm, NormOf(values), &values);
  return values;
}

void ApplyRound(const LearnerPlan& plan, const RoundSet& set, uint64_t round, GlobalState* state,
                RoundReport* report) {
  RoundReport unread;
  Step(plan, set, round, state, report == nullptr ? &unread : report).Apply();
}

}  // namespace ruvd::federation
