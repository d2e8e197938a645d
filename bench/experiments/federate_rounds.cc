// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "base/random.h"
#include "base/status.h"
#include "bench/update_attacks.h"
#include "federation/daf/daf_round.h"
#include "inference/adapter/core_shape.h"
#include "inference/numerics/optimizer.h"
#include "inference/train/core_trainer.h"
#include "privacy/dp/snr.h"

namespace ruvd::bench {
namespace {

// One honest node between two rounds.
struct Node {
  size_t number = 0;
  std::unique_ptr<inference::train::Objective> objective;
  inference::train::OptimizerState state;   // of local training
  std::unique_ptr<ExampleTraining> noised;  // instead, in tier dp with example privacy
  federation::GlobalAdapter global;
  federation::ReputationTable reputation;
  MaskingCounts maskings{};
  NodeOutcome outcome;
};

// What a run depends on, as a key of the cache.
nlohmann::json KeyOf(const FederateWorld& world, const FederationPlan& plan) {
  const FederateSettings& s = plan.settings;
  nlohmann::json key = TrainingKey(world, s, s.budget);
  key["kind"] = "federation";
  for (const DomainText& text : world.texts) {
    key["texts"].push_back(ToHex(text.digest));
  }
  key["honest"] = plan.honest;
  key["attack"] = plan.attackers > 0 ? s.attack : "none";
  key["attackers"] = plan.attackers;
  key["strategy"] = s.strategy;
  key["rule"] = s.rule;
  key["outer"] = {s.outer, s.outer_step, s.outer_momentum};
  key["gate"] = {s.gate, s.gate_errors, s.draws};
  key["keep_state"] = s.keep_state;
  key["general"] = ToHex(DigestOf(world.gate_general->pieces));
  key["tier"] = s.tier;
  if (s.tier != "public") {
    key["privacy"] = {s.unit,   s.epsilon,   s.delta,      s.clip,
                      s.signal, s.colluders, s.noise_seed, plan.noise};
  }
  return key;
}

// Scores candidates on a node's held-out text, bank by bank; the other banks stay as they are
// served.
class NodeGate {
 public:
  NodeGate(const FederateWorld& world, size_t node) : world_(world), text_(world.texts[node]) {}

  // `current` holds the values that are served.
  absl::StatusOr<federation::ShadowScore> Evaluate(const federation::BankedValues& current,
                                                   const federation::BankedValues& candidate) {
    ASSIGN_OR_RETURN(const Scores served, Score(current, text_.held_out));
    federation::ShadowScore score;
    for (size_t bank = 0; bank < candidate.size(); ++bank) {
      federation::BankedValues one = current;
      one[bank] = candidate[bank];
      ASSIGN_OR_RETURN(const Scores changed, Score(one, text_.held_out));
      score.banks.push_back(GainOf(served, changed, text_.held_out.documents));
    }
    ASSIGN_OR_RETURN(const Scores general, Score(current, *world_.gate_general));
    ASSIGN_OR_RETURN(const Scores changed, Score(candidate, *world_.gate_general));
    score.general_loss = changed.Mean() / general.Mean() - 1;
    return score;
  }

 private:
  absl::StatusOr<Scores> Score(const federation::BankedValues& values, const Crops& text) const {
    ASSIGN_OR_RETURN(const auto served, ServedCores(world_, values));
    return world_.gate_scorer->Score({served}, text);
  }
  const FederateWorld& world_;
  const DomainText& text_;
};

// Fails with SIGNAL_TOO_WEAK, before any node has trained for nothing.
absl::Status CheckNodeSnr(const NodePlan& plan, bool masked, size_t nodes) {
  return privacy::dp::RequireSnr(
      {.place = masked ? privacy::dp::NoiseLocation::kSum : privacy::dp::NoiseLocation::kEach,
       .noise_multiplier = plan.layout.grid.NoiseMultiplier(),
       .dimension = plan.layout.Values(),
       .contributors = static_cast<double>(nodes),
       .signal = plan.signal});
}

class Federation {
 public:
  Federation(const FederateWorld& world, const FederationPlan& plan) : world_(world), plan_(plan) {}

  absl::StatusOr<FederationOutcome> Run() {
    RETURN_IF_ERROR(Begin());
    for (uint64_t round = 0; round < static_cast<uint64_t>(settings().budget.rounds); ++round) {
      RETURN_IF_ERROR(RunComputeRound(round));
    }
    if (settings().gate == "last") {
      RETURN_IF_ERROR(GateOnce());
    }
    for (Node& node : nodes_) {
      node.outcome.values = node.global.values();
      outcome_.nodes.push_back(std::move(node.outcome));
    }
    ASSIGN_OR_RETURN(outcome_.spent, release_->Spent());
    return std::move(outcome_);
  }

 private:
  const FederateSettings& settings() const { return plan_.settings; }
  const inference::CoreShape& shape() const { return world_.trainer->shape(); }

  absl::Status Begin() {
    format_ = {.rules = {.kind = federation::FactorKind::kCore,
                         .model_hash = shape().model_hash,
                         .frame_id = shape().frame_id,
                         .modules = {}},
               .boundaries = shape().boundaries};
    for (const inference::CoreShape::Module& module : shape().modules) {
      const auto rank = static_cast<uint32_t>(module.rank);
      format_.rules.modules.push_back({.target = module.target, .rows = rank, .columns = rank});
    }
    RETURN_IF_ERROR(BeginReleases());
    for (size_t number = 0; number < plan_.honest; ++number) {
      RETURN_IF_ERROR(BeginNode(number));
    }
    return absl::OkStatus();
  }

  bool examples_are_hidden() const {
    return settings().tier == "dp" && settings().unit == "example";
  }

  // Refuses whatever can be refused before anything is trained.
  absl::Status BeginReleases() {
    const size_t all = plan_.honest + plan_.attackers;
    const size_t banks = shape().banks();
    ASSIGN_OR_RETURN(folder_, TemporaryFolder::Create());
    GuardedNode::Terms terms{.noise_seed = settings().noise_seed};
    if (settings().tier != "public") {
      terms.tier =
          settings().tier == "dp" ? privacy::ConsentTier::kDp : privacy::ConsentTier::kMasked;
      ASSIGN_OR_RETURN(terms.budget, privacy::UnitBudget::Within(
                                         examples_are_hidden() ? privacy::PrivacyUnit::kLesson
                                                               : privacy::PrivacyUnit::kNode,
                                         settings().epsilon, settings().delta));
    }
    for (size_t number = 0; number < all; ++number) {
      ASSIGN_OR_RETURN(std::unique_ptr<GuardedNode> node,
                       GuardedNode::Create(folder_->path(), number, terms));
      guarded_.push_back(std::move(node));
    }
    if (settings().tier == "public") {
      release_ = MakePublicRelease(format_, guarded_);
    } else if (examples_are_hidden()) {
      ASSIGN_OR_RETURN(examples_, PlanExamples(settings(), world_.texts[0].train.size(),
                                               plan_.honest, shape().values()));
      ASSIGN_OR_RETURN(release_, MakeExampleRelease(format_, guarded_, plan_.honest, examples_));
    } else {
      const bool masked = settings().tier == "masked";
      ASSIGN_OR_RETURN(const NodePlan plan,
                       PlanNodes(settings(), format_, banks, masked ? all : 0));
      RETURN_IF_ERROR(CheckNodeSnr(plan, masked, all));
      release_ = masked ? MakeMaskedRelease(format_, guarded_, plan)
                        : MakeNodeRelease(format_, guarded_, plan);
    }
    return absl::OkStatus();
  }

  absl::Status BeginNode(size_t number) {
    const DomainText& text = world_.texts[number];
    ASSIGN_OR_RETURN(federation::GlobalAdapter global,
                     federation::GlobalAdapter::Create(shape().banks(), shape().values_per_bank(),
                                                       OuterOf(settings())));
    ASSIGN_OR_RETURN(
        std::unique_ptr<inference::train::Objective> objective,
        ObjectiveOf(*world_.model, text,
                    examples_are_hidden() ? settings().baseline.batch : settings().budget.batch,
                    SeedOfNode(settings().seed, number)));
    nodes_.push_back({.number = number,
                      .objective = std::move(objective),
                      .state = {},
                      .noised = nullptr,
                      .global = std::move(global),
                      .reputation = {},
                      .outcome = {}});
    if (examples_are_hidden()) {
      ASSIGN_OR_RETURN(ExampleTraining noised,
                       ExampleTraining::Create({.trainer = *world_.trainer,
                                                .examples = text.train,
                                                .random = guarded_[number]->random()},
                                               examples_, plan_.noise));
      nodes_.back().noised = std::make_unique<ExampleTraining>(std::move(noised));
    }
    return absl::OkStatus();
  }

  absl::Status RunComputeRound(uint64_t round) {
    std::vector<LocalChange> changes;
    for (Node& node : nodes_) {
      ASSIGN_OR_RETURN(LocalChange change, TrainLocally(round, node));
      changes.push_back(std::move(change));
    }
    if (release_->sums()) {
      RETURN_IF_ERROR(AddHiddenLies(round, &changes));
    }
    ASSIGN_OR_RETURN(ReleasedRound released, release_->Release(round, std::move(changes)));
    if (!release_->sums()) {
      RETURN_IF_ERROR(AddLies(round, &released));
    }
    nlohmann::json& log = outcome_.rounds.emplace_back();
    log["norms"] = nlohmann::json::array();
    for (const ReceivedUpdate& received : released.updates) {
      log["norms"].push_back(federation::NormOf(received.update));
    }
    for (Node& node : nodes_) {
      node.outcome.bytes += released.bytes[node.number];
      RETURN_IF_ERROR(Merge(released, &node, &log));
    }
    fmt::print(stderr, "round {}: {}\n", round + 1, log.dump());
    return absl::OkStatus();
  }

  absl::StatusOr<LocalChange> TrainLocally(uint64_t round, Node& node) {
    const auto steps = static_cast<uint64_t>(settings().budget.steps);
    LocalChange change{
        .node = node.number,
        .examples = steps * static_cast<uint64_t>(settings().budget.batch) * (round + 1)};
    ASSIGN_OR_RETURN(const federation::BankedValues trained,
                     node.noised ? TakeNoisedSteps(node) : TakeSteps(round, node));
    change.maskings = node.maskings;
    change.delta = Minus(trained, node.global.values());
    return change;
  }

  absl::StatusOr<federation::BankedValues> TakeSteps(uint64_t round, Node& node) {
    if (!settings().keep_state) {
      node.state = {};
    }
    inference::train::CoreSteps steps = StepsOf(settings(), settings().budget);
    steps.count = static_cast<uint64_t>(settings().budget.steps);
    steps.first = round * steps.count;
    ASSIGN_OR_RETURN(
        inference::train::CoreTrainer::Trained trained,
        world_.trainer->Train(node.global.values(), *node.objective, steps, &node.state));
    std::ranges::transform(node.maskings, trained.maskings, node.maskings.begin(), std::plus<>());
    return std::move(trained.values);
  }

  // Takes steps of plain gradient descent with rate 1: the outer optimiser is what makes them
  // learn.
  absl::StatusOr<federation::BankedValues> TakeNoisedSteps(Node& node) {
    federation::BankedValues cores = node.global.values();
    for (int step = 0; step < settings().budget.steps; ++step) {
      ASSIGN_OR_RETURN(const federation::BankedValues move, node.noised->Step(cores));
      for (size_t bank = 0; bank < cores.size(); ++bank) {
        std::ranges::transform(cores[bank], move[bank], cores[bank].begin(), std::plus<>());
      }
    }
    node.maskings = node.noised->maskings();
    return cores;
  }

  // Variance of the noise in a value of the mean of the updates.
  double NoiseVariance() const {
    if (!examples_are_hidden() || !plan_.noise) {
      return 0;
    }
    const double deviation =
        std::ldexp(static_cast<double>(examples_.grid.sigma_units), examples_.grid.exponent) /
        examples_.expected_batch;
    return deviation * deviation * settings().budget.steps / static_cast<double>(plan_.honest);
  }

  // Returns what attackers send that know `honest`, each update flattened.
  absl::StatusOr<std::vector<LocalChange>> Lies(uint64_t round,
                                                const std::vector<std::vector<float>>& honest) {
    ASSIGN_OR_RETURN(const UpdateAttack attack, AttackOf(settings().attack));
    std::vector<LocalChange> changes;
    if (plan_.attackers == 0 || attack == UpdateAttack::kNone) {
      return changes;
    }
    Random random(Random(settings().seed).Next() + round);
    const auto lies = Attack(attack, honest, plan_.attackers, random);
    for (size_t liar = 0; liar < lies.size(); ++liar) {
      changes.push_back({.node = plan_.honest + liar,
                         .delta = InBanks(lies[liar], shape().banks()),
                         .maskings = nodes_[0].maskings,
                         .examples = uint64_t{1} << 40});
    }
    return changes;
  }

  // Adds the lies of attackers that saw every honest update of the round.
  absl::Status AddLies(uint64_t round, ReleasedRound* released) {
    std::vector<std::vector<float>> honest;
    for (const ReceivedUpdate& received : released->updates) {
      std::vector<float>& values = honest.emplace_back();
      for (const federation::BankValues& bank : received.update.banks) {
        values.insert(values.end(), bank.values.begin(), bank.values.end());
      }
    }
    ASSIGN_OR_RETURN(const std::vector<LocalChange> lies, Lies(round, honest));
    for (const LocalChange& lie : lies) {
      const std::string bytes = federation::EncodeAdapterUpdate(UpdateOf(format_, round, lie));
      ASSIGN_OR_RETURN(ReceivedUpdate received, Received(guarded_[lie.node]->id(), bytes));
      released->updates.push_back(std::move(received));
    }
    return absl::OkStatus();
  }

  // Adds the lies of attackers whose updates go into a sum, clipped as every other update is.
  absl::Status AddHiddenLies(uint64_t round, std::vector<LocalChange>* changes) {
    std::vector<std::vector<float>> honest;
    for (const LocalChange& change : *changes) {
      honest.push_back(Flattened(change.delta));
    }
    ASSIGN_OR_RETURN(std::vector<LocalChange> lies, Lies(round, honest));
    std::ranges::move(lies, std::back_inserter(*changes));
    return absl::OkStatus();
  }

  absl::Status Merge(const ReleasedRound& released, Node* node, nlohmann::json* log) {
    NodeGate gate(world_, node->number);
    const federation::BankedValues current = node->global.values();
    const federation::ShadowEvaluation evaluate = [&](const federation::BankedValues& candidate) {
      return gate.Evaluate(current, candidate);
    };
    federation::DafRoundInput input{.self = guarded_[node->number]->id(),
                                    .round = node->global.round(),
                                    .boundaries = settings().boundaries,
                                    .schedule = federation::HistogramOf(node->maskings),
                                    .current = &current,
                                    .updates = {}};
    for (const ReceivedUpdate& received : released.updates) {
      input.updates.push_back({.origin = received.origin, .update = &received.update});
    }
    const federation::StrategyOptions strategy{.strategy = StrategyOf(settings().strategy)};
    const federation::GateOptions gating{.standard_errors = settings().gate_errors};
    const bool measures = settings().strategy == "quality" || settings().strategy == "hybrid";
    ASSIGN_OR_RETURN(
        const federation::DafRoundResult result,
        federation::AggregateRound(input,
                                   {.rules = format_.rules,
                                    .strategy = strategy,
                                    .rule = RuleOf(settings().rule),
                                    .gate = gating},
                                   measures ? evaluate : federation::ShadowEvaluation(),
                                   measures ? &node->reputation : nullptr));
    const std::vector<double> variance(current.size(), NoiseVariance());
    ASSIGN_OR_RETURN(
        const federation::GateOutcome gated,
        node->global.Apply(result.delta, variance,
                           settings().gate == "each" ? evaluate : federation::ShadowEvaluation(),
                           gating, result.contributors));
    Note(result, gated, node, log);
    return absl::OkStatus();
  }

  void Note(const federation::DafRoundResult& result, const federation::GateOutcome& gated,
            Node* node, nlohmann::json* log) {
    const bool committed =
        std::ranges::count(gated.verdicts, federation::BankVerdict::kCommitted) > 0;
    node->outcome.committed += committed ? 1 : 0;
    nlohmann::json& own = (*log)["nodes"].emplace_back();
    own = {{"node", node->number},
           {"committed", committed},
           {"gain", nlohmann::json::array()},
           {"general_loss", gated.score.general_loss},
           {"cosines", nlohmann::json::array()},
           {"refused", nlohmann::json::array()}};
    for (const federation::BankScore& bank : gated.score.banks) {
      own["gain"].push_back({bank.gain, bank.standard_error});
    }
    for (const federation::PeerRecord& peer : result.peers) {
      own["cosines"].push_back(peer.banks.empty() ? 0.0 : peer.banks[0].cosine);
      if (!peer.refused.ok()) {
        own["refused"].push_back(MessageOf(peer.refused));
      }
    }
  }

  // Decides, at the end, whether each node serves what the rounds made.
  absl::Status GateOnce() {
    for (Node& node : nodes_) {
      NodeGate gate(world_, node.number);
      const federation::BankedValues nothing = ZeroCores(shape());
      ASSIGN_OR_RETURN(const federation::GateOutcome gated,
                       federation::GateBanks(nothing, node.global.values(),
                                             [&](const federation::BankedValues& candidate) {
                                               return gate.Evaluate(nothing, candidate);
                                             },
                                             {.standard_errors = settings().gate_errors}));
      federation::GlobalAdapterState state = node.global.State();
      state.values = gated.values;
      ASSIGN_OR_RETURN(node.global,
                       federation::GlobalAdapter::Restore(std::move(state), OuterOf(settings())));
    }
    return absl::OkStatus();
  }

  const FederateWorld& world_;
  const FederationPlan& plan_;
  UpdateFormat format_;
  std::unique_ptr<TemporaryFolder> folder_;  // holds the ledgers
  GuardedNodes guarded_;
  ExamplePlan examples_;
  std::unique_ptr<UpdateRelease> release_;
  std::vector<Node> nodes_;
  FederationOutcome outcome_;
};

nlohmann::json AsJson(const FederationOutcome& outcome) {
  nlohmann::json json = {
      {"rounds", outcome.rounds},
      {"spent",
       {outcome.spent.epsilon, outcome.spent.delta, outcome.spent.snr, outcome.spent.sigma}}};
  for (const NodeOutcome& node : outcome.nodes) {
    json["nodes"].push_back(
        {{"values", node.values}, {"committed", node.committed}, {"bytes", node.bytes}});
  }
  return json;
}

FederationOutcome OutcomeIn(const nlohmann::json& json) {
  const auto spent = [&](size_t i) {
    const nlohmann::json& value = json["spent"][i];
    return value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>();
  };
  FederationOutcome outcome{
      .spent = {.epsilon = spent(0), .delta = spent(1), .snr = spent(2), .sigma = spent(3)},
      .rounds = json["rounds"]};
  for (const nlohmann::json& node : json["nodes"]) {
    outcome.nodes.push_back({.values = node["values"].get<federation::BankedValues>(),
                             .committed = node["committed"],
                             .bytes = node["bytes"]});
  }
  return outcome;
}

}  // namespace

absl::StatusOr<FederationOutcome> RunFederation(const FederateWorld& world,
                                                const FederationPlan& plan) {
  const nlohmann::json key = KeyOf(world, plan);
  if (const auto kept = world.cache->Find(key)) {
    return OutcomeIn(*kept);
  }
  ASSIGN_OR_RETURN(FederationOutcome outcome, Federation(world, plan).Run());
  RETURN_IF_ERROR(world.cache->Put(key, AsJson(outcome)));
  return outcome;
}

}  // namespace ruvd::bench
