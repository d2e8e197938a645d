// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_nodes_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/experiments/federate_figures.h"
#include "bench/experiments/paired.h"
#include "node/terminal/terminal.h"

namespace ruvd::bench {
namespace {

constexpr char kPublic[] = "public";
constexpr size_t kMaxPayloadBytes = 64 << 10;  // a target of the project
// A change of zero is no gain.
constexpr double kBelowZero = -1e-6;

Interval Exactly(double value) {
  return {.mean = value, .low = value, .high = value};
}

// The change on domain `domain` of the mean over the nodes that `counts`.
template <typename Counts>
Interval MeanChange(const ArmScores& base, std::span<const ArmScores> arms, size_t domain,
                    std::span<const size_t> documents, const Counts& counts) {
  const std::vector<double> changes =
      MeanOverNodes(arms.size(), domain, [&](size_t node, size_t at) {
        return counts(node) ? Minus(arms[node].domains[at].nats, base.domains[at].nats)
                            : std::vector<double>();
      });
  return BootstrapDocuments(changes, documents);
}

// The arms by node of a group, or of groups of one node each.
std::vector<ArmScores> ArmsOf(std::span<const GroupResult> groups) {
  std::vector<ArmScores> arms;
  for (const GroupResult& group : groups) {
    for (const NodeResult& node : group.nodes) {
      arms.push_back(node.scores);
    }
  }
  return arms;
}

struct NamedArms {
  std::string name;
  std::vector<ArmScores> arms;  // by node, or one for all
};

std::vector<NamedArms> AllArms(const NodesOutcome& outcome) {
  std::vector<NamedArms> all = {{"federated", ArmsOf({&outcome.federated, 1})},
                                {"local-only", ArmsOf(outcome.local)},
                                {"centralised", ArmsOf(outcome.centralised)},
                                {"noise-free", ArmsOf(outcome.noise_free)},
                                {"without the liar", ArmsOf(outcome.without_liar)}};
  std::erase_if(all, [](const NamedArms& named) { return named.arms.empty(); });
  return all;
}

nlohmann::json ReportDomains(const NodesOutcome& outcome, const NodeTexts& texts) {
  nlohmann::json json;
  std::vector<std::vector<std::string>> rows;
  for (size_t domain = 0; domain < texts.held_out.size(); ++domain) {
    const ScoredTexts& text = texts.held_out[domain];
    json[text.name]["before"] = outcome.base.domains[domain].Mean();
    std::string name = text.name;
    for (const NamedArms& named : AllArms(outcome)) {
      const bool own_and_others = named.arms.size() > 1;
      const auto own = MeanChange(outcome.base, named.arms, domain, text.documents,
                                  [&](size_t node) { return !own_and_others || node == domain; });
      json[text.name][named.name]["own_node"] = ToJson(own);
      std::vector<std::string> row = {std::exchange(name, ""), named.name, SignedText(own), ""};
      if (own_and_others) {
        const auto others = MeanChange(outcome.base, named.arms, domain, text.documents,
                                       [&](size_t node) { return node != domain; });
        json[text.name][named.name]["other_nodes"] = ToJson(others);
        row.back() = SignedText(others);
      }
      rows.push_back(std::move(row));
    }
  }
  fmt::print("change from before the rounds, nats/token\n{}\n",
             cli::FormatTable({"TEXT OF", "ARM", "ITS NODE", "OTHER NODES"}, rows));
  return json;
}

nlohmann::json NodeJson(const NodeResult& node, const std::string& name, size_t rounds) {
  return {{"name", name},
          {"lessons", node.lessons},
          {"own_contributions", node.rounds.own_contributions},
          {"last_round", node.rounds.last_round},
          {"last_epsilon", node.rounds.last_epsilon},
          {"payload_bytes", node.rounds.payload_bytes},
          {"round", node.rounds.round},
          {"state_round", node.rounds.state_round},
          {"state_digest", node.rounds.state_digest},
          {"plan", node.rounds.plan_id},
          {"served_version", node.rounds.served_version},
          {"held_back", node.rounds.held_back},
          {"served_at_end", node.served_at_end},
          {"refusal", node.rounds.refusal},
          {"deep", node.deep},
          {"bytes_a_round", node.bytes / rounds},
          {"ledger",
           {{"valid", node.ledger.valid},
            {"entries", node.ledger.entries},
            {"unit_epsilon", node.ledger.unit_epsilon},
            {"problem", node.ledger.problem}}}};
}

// Rounds in which a group could send something; at least 1, because figures are divided by it.
size_t RoundsOf(const GroupResult& group) {
  return group.last_round + 1 - std::min(group.first_round, group.last_round);
}

// The version that was scored; two, if a newer one came while the node was scored; and what became
// of the deep round.
std::string ServedText(const NodeResult& node) {
  const bool changed = node.served_at_end != node.rounds.served_version;
  return fmt::format("{}{}{}{}", node.rounds.served_version,
                     changed ? fmt::format(" to {}", node.served_at_end) : "",
                     node.rounds.held_back ? ", newer held back" : "",
                     node.deep.empty() ? "" : fmt::format("; deep round: {}", node.deep));
}

nlohmann::json ReportGroup(const std::string& name, const GroupResult& group,
                           std::span<const std::string> names) {
  nlohmann::json json = {{"rounds", RoundsOf(group)},
                         {"agreed", group.agreed},
                         {"start_seconds", group.start_seconds},
                         {"seconds", group.seconds}};
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < group.nodes.size(); ++i) {
    const NodeResult& node = group.nodes[i];
    json["nodes"].push_back(NodeJson(node, names[i], RoundsOf(group)));
    rows.push_back({names[i], fmt::format("{}", node.lessons),
                    fmt::format("{}", node.rounds.own_contributions), ServedText(node),
                    fmt::format("{}", node.bytes / RoundsOf(group)),
                    node.ledger.valid ? fmt::format("valid, {} entries, epsilon {:.3f}",
                                                    node.ledger.entries, node.ledger.unit_epsilon)
                                      : node.ledger.problem,
                    node.rounds.refusal});
  }
  fmt::print("{}: {} rounds, {}, {:.0f} s\n{}\n", name, RoundsOf(group),
             group.agreed ? "the nodes agree" : "the nodes had not agreed", group.seconds,
             cli::FormatTable(
                 {"NODE", "LESSONS", "CONTRIBUTED", "SERVES", "BYTES A ROUND", "LEDGER", "REFUSED"},
                 rows));
  return json;
}

nlohmann::json ReportGroups(const NodesOutcome& outcome, const NodeTexts& texts) {
  std::vector<std::string> names;
  for (const ScoredTexts& text : texts.held_out) {
    names.push_back(text.name);
  }
  nlohmann::json json;
  json["federated"] = ReportGroup("federated", outcome.federated, names);
  for (size_t i = 0; i < outcome.local.size(); ++i) {
    json["local-only"].push_back(
        ReportGroup("local-only " + names[i], outcome.local[i], std::span(names).subspan(i, 1)));
  }
  const std::string all = "all texts";
  for (const GroupResult& group : outcome.centralised) {
    json["centralised"] = ReportGroup("centralised", group, {&all, 1});
  }
  for (const GroupResult& group : outcome.noise_free) {
    json["noise-free"] = ReportGroup("noise-free", group, names);
  }
  if (outcome.liar) {
    json["liar"] = NodeJson(*outcome.liar, "liar", RoundsOf(outcome.federated));
  }
  for (const GroupResult& group : outcome.without_liar) {
    json["without the liar"] = ReportGroup("without the liar", group, names);
  }
  return json;
}

void JudgeGains(const NodesOutcome& outcome, std::span<const DomainText> texts,
                const FederateNodesSettings& settings, Verdicts* verdicts) {
  const std::vector<ArmScores> federated = ArmsOf({&outcome.federated, 1});
  const Interval others = OthersChange(outcome.base, federated, texts);
  verdicts->Add("others_gain",
                {.what = "change on other nodes' domains, nats/token",
                 .bound = kBelowZero,
                 .at_least = false},
                others);
  if (!settings.quick) {
    verdicts->Add("others_target",
                  {.what = "the same against the target of the 29M model",
                   .bound = settings.tier == kPublic ? -0.10 : -0.06,
                   .at_least = false},
                  others);
  }
  JudgeOwnDomains(
      "own_domain", "change", [&](size_t node) -> const ArmScores& { return federated[node]; },
      [&](size_t) -> const ArmScores& { return outcome.base; }, texts, verdicts);
}

void JudgeGeneral(const NodesOutcome& outcome, const NodeTexts& texts, Verdicts* verdicts) {
  if (texts.general.pairs.empty()) {
    return;
  }
  const double before = outcome.base.general.Mean();
  Worst worst = WorstOf(outcome.federated.nodes.size(), [&](size_t node) {
    return Change(outcome.federated.nodes[node].scores.general, outcome.base.general,
                  texts.general.documents);
  });
  for (double* value : {&worst.change.mean, &worst.change.low, &worst.change.high}) {
    *value *= 100 / before;
  }
  verdicts->Add("general",
                {.what = fmt::format("change on general text, the worst node ({}), percent",
                                     texts.held_out[worst.node].name),
                 .bound = 0.3,
                 .at_least = false},
                worst.change);
}

void JudgeArms(const NodesOutcome& outcome, std::span<const DomainText> texts,
               const FederateNodesSettings& settings, Verdicts* verdicts) {
  const ExperimentScores scores = ScoresOf(outcome);
  if (!outcome.centralised.empty()) {
    verdicts->Add("gap",
                  {.what = "share of the gap between local-only and centralised on other nodes' "
                           "domains",
                   .bound = 0.85},
                  GapShare(scores, texts));
    JudgeOwnDomains(
        "own_against_local", "federated against local-only",
        [&](size_t node) -> const ArmScores& { return scores.nodes[node].federated; },
        [&](size_t node) -> const ArmScores& { return scores.nodes[node].local; }, texts, verdicts);
  }
  if (outcome.liar) {
    verdicts->Add("lies",
                  {.what = "lies of the last node in rounds that are not settled", .bound = 1},
                  Exactly(static_cast<double>(outcome.liar->rounds.own_contributions)));
  }
  if (!outcome.without_liar.empty()) {
    JudgeAttack(scores, texts, verdicts);
  }
  if (!outcome.noise_free.empty()) {
    constexpr double kStrict = 3;  // epsilon up to which the target of masked rounds is lower
    const double masked = settings.epsilon <= kStrict ? 0.80 : 0.88;
    verdicts->Add(
        "noise_free",
        {.what = fmt::format("share of the gain without noise that is left at epsilon {:g}",
                             settings.epsilon),
         .bound = settings.tier == "masked" ? masked : 0.65},
        GainShare(scores.base, ArmsOf({&outcome.federated, 1}), scores.reference, texts));
  }
}

void JudgeMachinery(const NodesOutcome& outcome, Verdicts* verdicts) {
  const GroupResult& group = outcome.federated;
  verdicts->Add("bytes",
                {.what = "payload bytes that a node sends in a round, over n x payload",
                 .bound = 1.1,
                 .at_least = false},
                Exactly(BytesShare(outcome, RoundsOf(group))));
  verdicts->Add("payload",
                {.what = "bytes of one contribution",
                 .bound = static_cast<double>(kMaxPayloadBytes),
                 .at_least = false},
                Exactly(static_cast<double>(outcome.payload_bytes)));
  double valid = 0;
  double nodes = 0;
  for (const auto& groups : {std::span<const GroupResult>(&group, 1), std::span(outcome.local),
                             std::span(outcome.centralised), std::span(outcome.noise_free),
                             std::span(outcome.without_liar)}) {
    for (const GroupResult& one : groups) {
      nodes += static_cast<double>(one.nodes.size());
      valid += static_cast<double>(std::ranges::count_if(
          one.nodes, [](const NodeResult& node) { return node.ledger.valid; }));
    }
  }
  verdicts->Add("ledgers",
                {.what = "share of ledgers that `ruvd privacy verify` accepts", .bound = 1},
                Exactly(valid / nodes));
  verdicts->Add("agreement", {.what = "the federation's nodes had one global state", .bound = 1},
                Exactly(group.agreed ? 1 : 0));
  const auto least = std::ranges::min(
      group.nodes, {}, [](const NodeResult& node) { return node.rounds.own_contributions; });
  verdicts->Add(
      "contributions",
      {.what = "contributions to unsettled rounds, of the node with the fewest", .bound = 1},
      Exactly(static_cast<double>(least.rounds.own_contributions)));
}

}  // namespace

ExperimentScores ScoresOf(const NodesOutcome& outcome) {
  ExperimentScores scores;
  scores.base = outcome.base;
  if (!outcome.centralised.empty()) {
    scores.centralised = outcome.centralised.front().nodes.front().scores;
  }
  scores.reference =
      ArmsOf(outcome.without_liar.empty() ? outcome.noise_free : outcome.without_liar);
  const std::vector<ArmScores> local = ArmsOf(outcome.local);
  for (size_t node = 0; node < outcome.federated.nodes.size(); ++node) {
    NodeScores& to = scores.nodes.emplace_back();
    to.federated = outcome.federated.nodes[node].scores;
    to.local = node < local.size() ? local[node] : ArmScores();
  }
  return scores;
}

Interval OthersChange(const ArmScores& base, std::span<const ArmScores> arms,
                      std::span<const DomainText> texts) {
  std::vector<PairedPieces> domains;
  for (size_t domain = 0; domain < texts.size(); ++domain) {
    std::vector<double> changes = MeanOverNodes(arms.size(), domain, [&](size_t node, size_t at) {
      return node == at ? std::vector<double>()
                        : Minus(arms[node].domains[at].nats, base.domains[at].nats);
    });
    const size_t pieces = changes.size();
    domains.push_back({.part = std::move(changes),
                       .whole = std::vector<double>(pieces, 1),
                       .documents = texts[domain].valid.documents});
  }
  return ShareOf(domains);
}

std::vector<DomainText> FigureTextsOf(const NodeTexts& texts) {
  std::vector<DomainText> figures;
  for (const ScoredTexts& text : texts.held_out) {
    DomainText& to = figures.emplace_back();
    to.name = text.name;
    to.valid.documents = text.documents;
  }
  return figures;
}

double BytesShare(const NodesOutcome& outcome, size_t rounds) {
  const auto& nodes = outcome.federated.nodes;
  const uint64_t most = std::ranges::max(nodes, {}, &NodeResult::bytes).bytes;
  return static_cast<double>(most) /
         static_cast<double>(rounds * outcome.federated.members * outcome.payload_bytes);
}

nlohmann::json ReportNodes(const NodesOutcome& outcome, const NodeTexts& texts,
                           const FederateNodesSettings& settings) {
  nlohmann::json json;
  json["arms"] = ReportGroups(outcome, texts);
  json["domains"] = ReportDomains(outcome, texts);
  const std::vector<DomainText> figures = FigureTextsOf(texts);
  Verdicts verdicts;
  JudgeGains(outcome, figures, settings, &verdicts);
  JudgeGeneral(outcome, texts, &verdicts);
  JudgeArms(outcome, figures, settings, &verdicts);
  JudgeMachinery(outcome, &verdicts);
  json["verdicts"] = verdicts.Take();
  return json;
}

}  // namespace ruvd::bench
