// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_rounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "base/random.h"
#include "base/status.h"
#include "bench/update_attacks.h"
#include "federation/daf/daf_round.h"

namespace ruvd::bench {
namespace {

// One honest node between two rounds.
struct Node {
  size_t number = 0;
  std::unique_ptr<train::Objective> objective;
  std::unique_ptr<LocalTraining> training;
  GlobalAdapter global;
  ReputationTable reputation;
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
  key["outer"] = {s.outer, s.outer_step};
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

// Scores candidates on a node's held-out text, bank by bank: others stay as they are served.
class NodeGate {
 public:
  NodeGate(const FederateWorld& world, size_t node) : world_(world), text_(world.texts[node]) {}

  // `current` is what is served.
  absl::StatusOr<ShadowScore> Evaluate(const BankedValues& current, const BankedValues& candidate) {
    ASSIGN_OR_RETURN(const Scores served, Score(current, text_.held_out));
    ShadowScore score;
    for (size_t bank = 0; bank < candidate.size(); ++bank) {
      BankedValues one = current;
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
  absl::StatusOr<Scores> Score(const BankedValues& values, const Crops& text) const {
    return world_.gate_scorer->Score({ServedCores(world_, values)}, text);
  }
  const FederateWorld& world_;
  const DomainText& text_;
};

class Federation {
 public:
  Federation(const FederateWorld& world, const FederationPlan& plan) : world_(world), plan_(plan) {}

  absl::StatusOr<FederationOutcome> Run() {
    RETURN_IF_ERROR(Begin());
    for (uint64_t round = 0; round < static_cast<uint64_t>(settings().budget.rounds); ++round) {
      RETURN_IF_ERROR(RunRound(round));
    }
    if (settings().gate == "last") {
      RETURN_IF_ERROR(GateOnce());
    }
    for (Node& node : nodes_) {
      node.outcome.values = node.global.values();
      outcome_.nodes.push_back(std::move(node.outcome));
    }
    outcome_.spent = release_->spent();
    return std::move(outcome_);
  }

 private:
  const FederateSettings& settings() const { return plan_.settings; }

  absl::Status Begin() {
    const TrainableAdapter& adapter = *world_.adapter;
    format_ = {.rules = {.kind = FactorKind::kCore,
                         .model_hash = world_.parts.model->hash(),
                         .frame_id = world_.parts.frame->id,
                         .modules = adapter.modules()},
               .boundaries = settings().boundaries,
               .ids = IdsOf(plan_.honest + plan_.attackers)};
    ASSIGN_OR_RETURN(release_, MakePublicRelease(format_));
    for (size_t number = 0; number < plan_.honest; ++number) {
      ASSIGN_OR_RETURN(
          GlobalAdapter global,
          GlobalAdapter::Create(adapter.banks(), adapter.values_per_bank(), OuterOf(settings())));
      ASSIGN_OR_RETURN(std::unique_ptr<train::Objective> objective,
                       ObjectiveOf(*world_.parts.model, world_.texts[number],
                                   settings().budget.batch, SeedOfNode(settings().seed, number)));
      auto training =
          std::make_unique<LocalTraining>(*world_.pass, *objective, adapter.core_parameters(),
                                          PlanOf(settings(), settings().budget));
      nodes_.push_back({.number = number,
                        .objective = std::move(objective),
                        .training = std::move(training),
                        .global = std::move(global),
                        .reputation = {},
                        .outcome = {}});
    }
    return absl::OkStatus();
  }

  absl::Status RunRound(uint64_t round) {
    std::vector<LocalChange> changes;
    for (Node& node : nodes_) {
      ASSIGN_OR_RETURN(LocalChange change, TrainLocally(round, node));
      changes.push_back(std::move(change));
    }
    ASSIGN_OR_RETURN(ReleasedRound released, release_->Release(round, std::move(changes)));
    RETURN_IF_ERROR(AddLies(round, &released));
    nlohmann::json& log = outcome_.rounds.emplace_back();
    log["norms"] = nlohmann::json::array();
    for (const ReceivedUpdate& received : released.updates) {
      log["norms"].push_back(NormOf(received.update));
    }
    for (Node& node : nodes_) {
      node.outcome.bytes += released.bytes[node.number];
      RETURN_IF_ERROR(Merge(released, &node, &log));
    }
    fmt::print(stderr, "round {}: {}\n", round + 1, log.dump());
    return absl::OkStatus();
  }

  absl::StatusOr<LocalChange> TrainLocally(uint64_t round, Node& node) {
    TrainableAdapter& adapter = *world_.adapter;
    adapter.SetCores(node.global.values());
    if (!settings().keep_state) {
      node.training->ForgetState();
    }
    const auto steps = static_cast<uint64_t>(settings().budget.steps);
    RETURN_IF_ERROR(node.training->Run(round * steps, (round + 1) * steps, &adapter.changes()));
    return LocalChange{
        .node = node.number,
        .delta = Minus(adapter.Cores(), node.global.values()),
        .maskings = node.training->maskings(),
        .examples = steps * static_cast<uint64_t>(settings().budget.batch) * (round + 1)};
  }

  // What attackers send that saw every honest update of the round.
  absl::Status AddLies(uint64_t round, ReleasedRound* released) {
    ASSIGN_OR_RETURN(const UpdateAttack attack, AttackOf(settings().attack));
    if (plan_.attackers == 0 || attack == UpdateAttack::kNone) {
      return absl::OkStatus();
    }
    std::vector<std::vector<float>> honest;
    for (const ReceivedUpdate& received : released->updates) {
      std::vector<float>& values = honest.emplace_back();
      for (const BankValues& bank : received.update.banks) {
        values.insert(values.end(), bank.values.begin(), bank.values.end());
      }
    }
    Random random(Random(settings().seed).Next() + round);
    const auto lies = Attack(attack, honest, plan_.attackers, random);
    for (size_t liar = 0; liar < lies.size(); ++liar) {
      const size_t node = plan_.honest + liar;
      const LocalChange lie{.node = node,
                            .delta = InBanks(lies[liar], world_.adapter->banks()),
                            .maskings = nodes_[0].training->maskings(),
                            .examples = uint64_t{1} << 40};
      const std::string bytes = EncodeAdapterUpdate(UpdateOf(format_, round, lie));
      ASSIGN_OR_RETURN(ReceivedUpdate received, Received(format_.ids[node], bytes));
      released->updates.push_back(std::move(received));
    }
    return absl::OkStatus();
  }

  absl::Status Merge(const ReleasedRound& released, Node* node, nlohmann::json* log) {
    NodeGate gate(world_, node->number);
    const BankedValues current = node->global.values();
    const ShadowEvaluation evaluate = [&](const BankedValues& candidate) {
      return gate.Evaluate(current, candidate);
    };
    DafRoundInput input{.self = format_.ids[node->number],
                        .round = node->global.round(),
                        .boundaries = settings().boundaries,
                        .schedule = HistogramOf(node->training->maskings()),
                        .current = &current,
                        .updates = {}};
    for (const ReceivedUpdate& received : released.updates) {
      input.updates.push_back({.origin = received.origin, .update = &received.update});
    }
    const StrategyOptions strategy{.strategy = StrategyOf(settings().strategy)};
    const GateOptions gating{.standard_errors = settings().gate_errors};
    const bool measures = settings().strategy == "quality" || settings().strategy == "hybrid";
    ASSIGN_OR_RETURN(const DafRoundResult result,
                     AggregateRound(input,
                                    {.rules = format_.rules,
                                     .strategy = strategy,
                                     .rule = RuleOf(settings().rule),
                                     .gate = gating},
                                    measures ? evaluate : ShadowEvaluation(),
                                    measures ? &node->reputation : nullptr));
    ASSIGN_OR_RETURN(const GateOutcome gated,
                     node->global.Apply(result.delta, {},
                                        settings().gate == "each" ? evaluate : ShadowEvaluation(),
                                        gating, result.contributors));
    Note(result, gated, node, log);
    return absl::OkStatus();
  }

  void Note(const DafRoundResult& result, const GateOutcome& gated, Node* node,
            nlohmann::json* log) {
    const bool committed = std::ranges::count(gated.verdicts, BankVerdict::kCommitted) > 0;
    node->outcome.committed += committed ? 1 : 0;
    nlohmann::json& own = (*log)["nodes"].emplace_back();
    own = {{"node", node->number},
           {"committed", committed},
           {"gain", nlohmann::json::array()},
           {"general_loss", gated.score.general_loss},
           {"cosines", nlohmann::json::array()},
           {"refused", nlohmann::json::array()}};
    for (const BankScore& bank : gated.score.banks) {
      own["gain"].push_back({bank.gain, bank.standard_error});
    }
    for (const PeerRecord& peer : result.peers) {
      own["cosines"].push_back(peer.banks.empty() ? 0.0 : peer.banks[0].cosine);
      if (!peer.refused.ok()) {
        own["refused"].push_back(MessageOf(peer.refused));
      }
    }
  }

  // Whether each node serves what the rounds made, at the end.
  absl::Status GateOnce() {
    for (Node& node : nodes_) {
      NodeGate gate(world_, node.number);
      const BankedValues nothing =
          InBanks(std::vector<float>(world_.adapter->core_parameters()), world_.adapter->banks());
      ASSIGN_OR_RETURN(const GateOutcome gated,
                       GateBanks(nothing, node.global.values(),
                                 [&](const BankedValues& candidate) {
                                   return gate.Evaluate(nothing, candidate);
                                 },
                                 {.standard_errors = settings().gate_errors}));
      GlobalAdapterState state = node.global.State();
      state.values = gated.values;
      ASSIGN_OR_RETURN(node.global, GlobalAdapter::Restore(std::move(state), OuterOf(settings())));
    }
    return absl::OkStatus();
  }

  const FederateWorld& world_;
  const FederationPlan& plan_;
  UpdateFormat format_;
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
    outcome.nodes.push_back({.values = node["values"].get<BankedValues>(),
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
