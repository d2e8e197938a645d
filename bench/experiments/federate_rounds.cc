// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/random.h"
#include "base/status.h"
#include "bench/experiments/contribution_lies.h"
#include "bench/experiments/federate_lessons.h"
#include "bench/update_attacks.h"
#include "federation/learner/contribution.h"
#include "federation/learner/global_state.h"
#include "federation/learner/local_round.h"
#include "federation/learner/privacy_plan.h"
#include "federation/learner/round_set.h"
#include "federation/learner/rounds.h"
#include "node/sharing/local_contributor.h"
#include "privacy/masking/clique.h"
#include "privacy/release/unit_release.h"

namespace ruvd::bench {
namespace {

using federation::Contribution;
using federation::ContributionKind;
using federation::LearnerPlan;
using federation::RoundContribution;
using privacy::ConsentTier;

// What a run depends on, as a key of the cache.
nlohmann::json KeyOf(const FederateWorld& world, const FederationRun& run,
                     const LearnerPlan& plan) {
  const FederateSettings& s = run.settings;
  nlohmann::json key = {{"kind", "federation of contributions"},
                        {"model", ToHex(world.model->hash())},
                        {"plan", ToHex(plan.Id())},
                        {"rounds", s.rounds},
                        {"honest", run.honest},
                        {"attack", run.attackers > 0 ? s.attack : "none"},
                        {"attackers", run.attackers},
                        {"participation", s.participation},
                        {"tier", TierName(run.tier)},
                        {"products", ProductsName()},
                        {"seed", s.seed}};
  for (const DomainText& text : world.texts) {
    key["texts"].push_back(ToHex(text.digest));
  }
  if (plan.kind == ContributionKind::kGradient) {
    key["privacy"] = {s.epsilon, s.delta, s.batch};
  }
  return key;
}

// Returns the most units that a sample is expected to have.
size_t LargestBatch(const FederateSettings& settings) {
  return settings.batch > 0 ? static_cast<size_t>(settings.batch)
                            : sharing::LocalContributorOptions().max_batch;
}

class Federation {
 public:
  Federation(const FederateWorld& world, const FederationRun& run, LearnerPlan plan)
      : world_(world),
        run_(run),
        plan_(std::move(plan)),
        state_(EmptyState(plan_, /*before_round=*/1)) {}

  absl::StatusOr<FederationOutcome> Run() {
    RETURN_IF_ERROR(Begin());
    for (int round = 0; round < run_.settings.rounds; ++round) {
      RETURN_IF_ERROR(RunRound());
    }
    outcome_.values = state_.values;
    for (size_t number = 0; number < run_.honest; ++number) {
      ASSIGN_OR_RETURN(const PrivacySpent spent, Spent(number));
      outcome_.spent.push_back(spent);
    }
    return std::move(outcome_);
  }

 private:
  bool masked() const { return run_.tier == ConsentTier::kMasked; }
  bool gradients() const { return plan_.kind == ContributionKind::kGradient; }
  uint64_t round() const { return state_.round + 1; }

  // Refuses whatever can be refused before anything is trained.
  absl::Status Begin() {
    outcome_.bytes.resize(run_.honest);
    ASSIGN_OR_RETURN(
        privacy::UnitBudget budget,
        privacy::UnitBudget::Within(plan_.unit, run_.settings.epsilon, run_.settings.delta));
    budget.rounds = static_cast<uint32_t>(run_.settings.rounds);
    for (size_t number = 0; number < run_.honest + run_.attackers; ++number) {
      nodes_.push_back(
          std::make_unique<GuardedNode>(number, run_.tier, budget, run_.settings.seed));
    }
    return gradients() ? PlanSamples(budget) : absl::OkStatus();
  }

  // Plans as a node does, also where the sums are then left without noise, for comparison.
  absl::Status PlanSamples(const privacy::UnitBudget& budget) {
    const sharing::LocalContributorOptions usual;
    ASSIGN_OR_RETURN(const double rho, federation::RhoOfRound(plan_, masked()));
    ASSIGN_OR_RETURN(const double largest, federation::SamplingRateWithin(rho, budget));
    const auto batch = static_cast<double>(LargestBatch(run_.settings));
    for (size_t number = 0; number < run_.honest; ++number) {
      federation::RoundSampling sampling{
          .masked = masked(),
          .nodes = nodes_.size(),
          .units = federation::PublicUnits(world_.texts[number].train.size()),
          .rounds = budget.rounds,
          .signal = usual.signal};
      sampling.rate = std::min(largest, batch / static_cast<double>(sampling.units));
      if (run_.tier != ConsentTier::kPublic) {
        RETURN_IF_ERROR(federation::RequireSignal(plan_, sampling, usual.min_snr));
      }
      samplings_.push_back(sampling);
    }
    return absl::OkStatus();
  }

  absl::Status RunRound() {
    std::vector<RoundContribution> contributions;
    ASSIGN_OR_RETURN(contributions, masked() ? MaskedSum() : Separately());
    federation::RoundSet set;
    for (const RoundContribution& one : contributions) {
      set.contributions.push_back(&one);
    }
    std::vector<federation::RoundReport> reports;
    ASSIGN_OR_RETURN(state_, ApplyRounds(plan_, state_, set, round(), &reports));
    nlohmann::json& log = outcome_.rounds.emplace_back(nlohmann::json::array());
    for (const federation::RoundReport::Part& part : reports.front().parts) {
      log.push_back({{"norm", part.norm}, {"weight", part.weight}, {"cosine", part.cosine}});
      if (part.left_out) {
        log.back()["left_out"] = true;
      }
      if (!part.refused.ok()) {
        log.back()["refused"] = MessageOf(part.refused);
      }
    }
    fmt::print(stderr, "round {}: {}\n", state_.round, log.dump());
    return absl::OkStatus();
  }

  // ---- What one node contributes

  absl::StatusOr<std::unique_ptr<TextLessonTrainer>> TrainerOf(size_t number) {
    return TextLessonTrainer::Create(
        {.model = world_.model, .frame = world_.frame, .runner = world_.runner}, plan_,
        world_.texts[number].train);
  }

  absl::StatusOr<privacy::UnitSum> SumOf(size_t number) {
    ASSIGN_OR_RETURN(const auto trainer, TrainerOf(number));
    federation::LessonUnits units(trainer->lessons());  // each lesson is one
    for (size_t lesson = 0; lesson < units.size(); ++lesson) {
      units[lesson] = {lesson};
    }
    return GradientSum(plan_, state_, *trainer, units, samplings_[number].rate,
                       nodes_[number]->random());
  }

  privacy::UnitReleaseTerms TermsOf(size_t number) const {
    return {.scope = kExperimentScope,
            .unit = plan_.unit,
            .grid = plan_.grid,
            .sampling_rate = samplings_[number].rate,
            .delta = run_.settings.delta,
            .round = round(),
            .subject = fmt::format("round {}", round())};
  }

  absl::StatusOr<Contribution> ContributionOf(size_t number) {
    if (!gradients()) {
      ASSIGN_OR_RETURN(const auto trainer, TrainerOf(number));
      const uint64_t seed = Random(SeedOfNode(run_.settings.seed, number)).Next() + round();
      ASSIGN_OR_RETURN(federation::LocalDelta delta,
                       DeltaContribution(plan_, round(), state_, *trainer, seed));
      return std::move(delta.contribution);
    }
    GuardedNode& node = *nodes_[number];
    ASSIGN_OR_RETURN(const privacy::UnitSum sum, SumOf(number));
    if (run_.tier == ConsentTier::kPublic) {
      return GradientContribution(plan_, round(), state_, sum.Plain(), Contribution::Noise::kNone);
    }
    ASSIGN_OR_RETURN(privacy::PreparedUnits paid,
                     PrepareUnits(TermsOf(number), node.Guards(), sum, node.contributors()));
    return GradientContribution(plan_, round(), state_, std::move(paid.units),
                                Contribution::Noise::kWhole);
  }

  // ---- What all contribute

  // Returns what attackers send that know what the honest nodes send.
  absl::StatusOr<std::vector<std::vector<float>>> Lies(
      const std::vector<std::vector<float>>& honest) {
    if (run_.attackers == 0) {
      return std::vector<std::vector<float>>();
    }
    ASSIGN_OR_RETURN(const UpdateAttack attack, AttackOf(run_.settings.attack));
    Random random(Random(run_.settings.seed).Next() + round());
    return Attack(attack, honest, run_.attackers, random);
  }

  // Returns the honest nodes that contribute to the round: at least one, because attackers make
  // their lies of what the others give.
  std::vector<size_t> Participants() const {
    Random random(Random(run_.settings.seed).Next() + 2 * round() + 1);
    std::vector<size_t> participants;
    for (size_t number = 0; number < run_.honest; ++number) {
      if (random.Bernoulli(run_.settings.participation)) {
        participants.push_back(number);
      }
    }
    if (participants.empty()) {
      participants.push_back(random.Below(run_.honest));
    }
    return participants;
  }

  absl::StatusOr<std::vector<RoundContribution>> Separately() {
    std::map<size_t, Contribution> sent;  // by the number of the node
    std::vector<std::vector<float>> honest;
    for (const size_t number : Participants()) {
      ASSIGN_OR_RETURN(Contribution contribution, ContributionOf(number));
      honest.push_back(FlatValues(contribution, plan_));
      sent.emplace(number, std::move(contribution));
    }
    ASSIGN_OR_RETURN(const auto lies, Lies(honest));
    for (size_t i = 0; i < lies.size(); ++i) {
      sent.emplace(run_.honest + i, LieLike(sent.begin()->second, lies[i], plan_));
    }
    std::vector<RoundContribution> received;
    for (const auto& [number, contribution] : sent) {
      const std::string bytes = EncodeContribution(contribution, plan_);
      const privacy::NodeId& origin = nodes_[number]->id();
      RoundContribution& one = received.emplace_back();
      one.id = Sha256({origin, AsBytes(bytes)});
      one.origin = origin;
      ASSIGN_OR_RETURN(one.contribution, federation::DecodeContribution(AsBytes(bytes), plan_));
      if (number < run_.honest) {
        outcome_.bytes[number] += bytes.size();
      }
    }
    return received;
  }

  privacy::masking::Clique CliqueOf(const privacy::masking::MaskLayout& layout) const {
    privacy::masking::Clique clique{
        .round = {.round = round()}, .layout = layout.Hash(), .members = {}};
    for (const std::unique_ptr<GuardedNode>& node : nodes_) {
      clique.members.push_back({.id = node->id(), .key = node->id()});
    }
    std::ranges::sort(clique.members, {}, &privacy::masking::CliqueMember::id);
    return clique;
  }

  // Adds up the inputs of all. Their pairwise masks are left out, because they cancel in the sum.
  absl::StatusOr<std::vector<RoundContribution>> MaskedSum() {
    const privacy::masking::MaskLayout layout = LayoutOfSums(plan_);
    const privacy::masking::Clique clique = CliqueOf(layout);
    std::vector<std::vector<int32_t>> inputs;
    std::vector<std::vector<float>> honest;
    for (size_t number = 0; number < run_.honest; ++number) {
      GuardedNode& node = *nodes_[number];
      ASSIGN_OR_RETURN(const privacy::UnitSum sum, SumOf(number));
      ASSIGN_OR_RETURN(
          privacy::NoisedUnitShare share,
          NoiseUnitShare(TermsOf(number), node.Guards(), sum, node.contributors(), layout, clique));
      RETURN_IF_ERROR(
          PayForUnitShare(TermsOf(number), node.Guards(), sum, node.contributors(), share.charge)
              .status());
      std::vector<float>& values = honest.emplace_back(share.input.units.size());
      std::ranges::transform(share.input.units, values.begin(), [&](int32_t unit) {
        return static_cast<float>(unit * UnitValue(plan_));
      });
      outcome_.bytes[number] += share.input.units.size() * sizeof(int32_t);
      inputs.push_back(std::move(share.input.units));
    }
    ASSIGN_OR_RETURN(const auto lies, Lies(honest));
    // More would make the sum wrap around, which members notice.
    ASSIGN_OR_RETURN(const int64_t most, layout.MaxUnitsPerMember(nodes_.size()));
    for (const std::vector<float>& lie : lies) {
      inputs.push_back(UnitsOf(lie, plan_, static_cast<double>(most)));
    }
    std::vector<int32_t> sum(layout.Values());
    for (const std::vector<int32_t>& input : inputs) {
      std::ranges::transform(input, sum, sum.begin(), std::plus<>());
    }
    RoundContribution one{.id = clique.SetHash(), .origin = clique.SetHash(), .members = {}};
    for (const privacy::masking::CliqueMember& member : clique.members) {
      one.members.push_back(member.id);
    }
    ASSIGN_OR_RETURN(one.contribution,
                     ContributionOfSum(plan_, round(), sum, static_cast<uint32_t>(nodes_.size())));
    return std::vector{std::move(one)};
  }

  absl::StatusOr<PrivacySpent> Spent(size_t number) const {
    if (run_.tier == ConsentTier::kPublic) {
      return PrivacySpent();
    }
    PrivacySpent spent{.delta = run_.settings.delta, .sigma = plan_.grid.NoiseMultiplier()};
    ASSIGN_OR_RETURN(spent.epsilon, nodes_[number]->ledger().Spent(spent.delta));
    ASSIGN_OR_RETURN(spent.snr, PredictSnr(plan_, samplings_[number]));
    return spent;
  }

  const FederateWorld& world_;
  const FederationRun& run_;
  const LearnerPlan plan_;
  federation::GlobalState state_;
  std::vector<std::unique_ptr<GuardedNode>> nodes_;
  std::vector<federation::RoundSampling> samplings_;  // of gradients, by honest node
  FederationOutcome outcome_;
};

nlohmann::json AsJson(const FederationOutcome& outcome) {
  nlohmann::json json = {
      {"rounds", outcome.rounds}, {"values", outcome.values}, {"bytes", outcome.bytes}};
  for (const PrivacySpent& spent : outcome.spent) {
    json["spent"].push_back({spent.epsilon, spent.delta, spent.snr, spent.sigma});
  }
  return json;
}

FederationOutcome OutcomeIn(const nlohmann::json& json) {
  FederationOutcome outcome{.values = json["values"].get<federation::BankedValues>(),
                            .spent = {},
                            .bytes = json["bytes"].get<std::vector<size_t>>(),
                            .rounds = json["rounds"]};
  for (const nlohmann::json& spent : json["spent"]) {
    const auto at = [&](size_t i) {  // JSON has no infinity
      return spent[i].is_null() ? std::numeric_limits<double>::infinity() : spent[i].get<double>();
    };
    outcome.spent.push_back({.epsilon = at(0), .delta = at(1), .snr = at(2), .sigma = at(3)});
  }
  return outcome;
}

}  // namespace

absl::StatusOr<FederationOutcome> RunFederation(const FederateWorld& world,
                                                const FederationRun& run) {
  ASSIGN_OR_RETURN(LearnerPlan plan, PlanOf(run.settings, world.trainer->shape(), run.kind));
  const nlohmann::json key = KeyOf(world, run, plan);
  if (const auto kept = world.cache->Find(key)) {
    return OutcomeIn(*kept);
  }
  ASSIGN_OR_RETURN(FederationOutcome outcome, Federation(world, run, std::move(plan)).Run());
  RETURN_IF_ERROR(world.cache->Put(key, AsJson(outcome)));
  return outcome;
}

}  // namespace ruvd::bench
