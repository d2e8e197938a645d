// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace ruvd::bench {
namespace {

using NamedArm = std::pair<std::string, const ArmScores*>;

// Returns the arms that were scored.
std::vector<NamedArm> ArmsOf(const ExperimentScores& scores, size_t node) {
  const NodeScores& own = scores.nodes[node];
  std::vector<NamedArm> arms = {{"base", &scores.base},
                                {"local-only", &own.local},
                                {"local-only LoRA", &own.local_lora},
                                {"federated", &own.federated},
                                {"federated + private", &own.overlay},
                                {"centralised", &scores.centralised}};
  std::erase_if(arms, [](const NamedArm& arm) { return arm.second->domains.empty(); });
  return arms;
}

nlohmann::json DomainJson(const ArmScores& arm, const ArmScores& base, const DomainText& text,
                          size_t domain) {
  return {
      {"nelbo", arm.domains[domain].Mean()},
      {"change", ToJson(Change(arm.domains[domain], base.domains[domain], text.valid.documents))},
      {"by_t", arm.domains[domain].by_t}};
}

void PrintDomain(const std::vector<NamedArm>& arms, const ArmScores& base, const DomainText& text,
                 size_t domain, bool own) {
  fmt::print("  {}{}: {} pieces\n", text.name, own ? " (its own)" : "", text.valid.pieces.size());
  for (const auto& [name, arm] : arms) {
    const Scores& scores = arm->domains[domain];
    if (scores.nats.empty()) {
      continue;  // a private adapter alone is scored on its own domain
    }
    fmt::print(
        "    {:<20} {:.4f} {:<30} by t:", name, scores.Mean(),
        arm == &base ? "" : SignedText(Change(scores, base.domains[domain], text.valid.documents)));
    for (const double nats : scores.by_t) {
      fmt::print(" {}", nats > 0 ? fmt::format("{:.3f}", nats) : "-");
    }
    fmt::print("\n");
  }
}

nlohmann::json ReportNode(const ExperimentScores& scores, std::span<const DomainText> texts,
                          size_t node, const ReportOptions& options) {
  const NodeScores& own = scores.nodes[node];
  const std::vector<NamedArm> arms = ArmsOf(scores, node);
  nlohmann::json json = {{"domain", texts[node].name}, {"epsilon", own.spent.epsilon},
                         {"delta", own.spent.delta},   {"snr", own.spent.snr},
                         {"sigma", own.spent.sigma},   {"bytes", own.bytes}};
  fmt::print(
      "\nnode {}, {}: epsilon {} at delta {:g}, predicted SNR {}, {} bytes to each receiver\n",
      node, texts[node].name,
      std::isfinite(own.spent.epsilon) ? fmt::format("{:.3f}", own.spent.epsilon) : "unbounded",
      own.spent.delta,
      std::isfinite(own.spent.snr) ? fmt::format("{:.2f}", own.spent.snr) : "without noise",
      own.bytes);
  for (size_t domain = 0; domain < texts.size(); ++domain) {
    PrintDomain(arms, scores.base, texts[domain], domain, domain == node);
    for (const auto& [name, arm] : arms) {
      if (!arm->domains[domain].nats.empty()) {
        json["arms"][name][texts[domain].name] =
            DomainJson(*arm, scores.base, texts[domain], domain);
      }
    }
  }
  fmt::print("  general text: {:.4f}", scores.base.general.Mean());
  for (const auto& [name, arm] : arms) {
    if (arm == &scores.base || arm->general.nats.empty()) {
      continue;
    }
    const Interval change = Change(arm->general, scores.base.general, options.general->documents);
    json["general"][name] = ToJson(change);
    fmt::print("; {} {}", name, SignedText(change));
  }
  fmt::print("\n");
  return json;
}

void JudgeOverlay(const ExperimentScores& scores, std::span<const DomainText> texts,
                  Verdicts* verdicts) {
  const auto overlay = [&](size_t node) -> const ArmScores& { return scores.nodes[node].overlay; };
  JudgeOwnDomains(
      "overlay", "federated + private against local-only", overlay,
      [&](size_t node) -> const ArmScores& { return scores.nodes[node].local; }, texts, verdicts);
  JudgeOwnDomains(
      "overlay_lora", "federated + private against the same LoRA alone", overlay,
      [&](size_t node) -> const ArmScores& { return scores.nodes[node].local_lora; }, texts,
      verdicts);
}

std::vector<ArmScores> FederatedOf(const ExperimentScores& scores) {
  std::vector<ArmScores> arms;
  for (const NodeScores& node : scores.nodes) {
    arms.push_back(node.federated);
  }
  return arms;
}

}  // namespace

Interval Change(const Scores& arm, const Scores& other, std::span<const size_t> documents) {
  return BootstrapDocuments(Minus(arm.nats, other.nats), documents);
}

void JudgeOwnDomains(const std::string& key, std::string_view what, const ArmOfNode& arm,
                     const ArmOfNode& other, std::span<const DomainText> texts,
                     Verdicts* verdicts) {
  const Worst worst = WorstOf(texts.size(), [&](size_t node) {
    return Change(arm(node).domains[node], other(node).domains[node], texts[node].valid.documents);
  });
  verdicts->Add(key,
                {.what = fmt::format("{} on the own domain, the worst node ({}), nats/token", what,
                                     texts[worst.node].name),
                 .bound = 0,
                 .at_least = false},
                worst.change);
}

void JudgeAttack(const ExperimentScores& scores, std::span<const DomainText> texts,
                 Verdicts* verdicts) {
  const Interval kept = GainShare(scores.base, FederatedOf(scores), scores.reference, texts);
  verdicts->Add("attack",
                {.what = "share of the gain without attackers that they cost",
                 .bound = 0.05,
                 .at_least = false},
                {.mean = 1 - kept.mean, .low = 1 - kept.high, .high = 1 - kept.low});
}

Interval GapShare(const ExperimentScores& scores, std::span<const DomainText> texts) {
  std::vector<PairedPieces> domains;
  const auto gain = [&](const auto& arm) {
    return [&](size_t node, size_t domain) {
      return node == domain ? std::vector<double>()
                            : Minus(scores.nodes[node].local.domains[domain].nats,
                                    arm(node).domains[domain].nats);
    };
  };
  const auto federated = [&](size_t node) -> const ArmScores& {
    return scores.nodes[node].federated;
  };
  const auto centralised = [&](size_t) -> const ArmScores& { return scores.centralised; };
  for (size_t domain = 0; domain < texts.size(); ++domain) {
    domains.push_back({.part = MeanOverNodes(scores.nodes.size(), domain, gain(federated)),
                       .whole = MeanOverNodes(scores.nodes.size(), domain, gain(centralised)),
                       .documents = texts[domain].valid.documents});
  }
  return ShareOf(domains);
}

Interval GainShare(const ArmScores& base, std::span<const ArmScores> arms,
                   std::span<const ArmScores> others, std::span<const DomainText> texts) {
  std::vector<PairedPieces> domains;
  const auto gain = [&](std::span<const ArmScores> of) {
    return [&base, of](size_t node, size_t domain) {
      return Minus(base.domains[domain].nats, of[node].domains[domain].nats);
    };
  };
  for (size_t domain = 0; domain < texts.size(); ++domain) {
    domains.push_back({.part = MeanOverNodes(arms.size(), domain, gain(arms)),
                       .whole = MeanOverNodes(others.size(), domain, gain(others)),
                       .documents = texts[domain].valid.documents});
  }
  return ShareOf(domains);
}

nlohmann::json Report(const ExperimentScores& scores, std::span<const DomainText> texts,
                      const ReportOptions& options) {
  nlohmann::json json;
  for (size_t node = 0; node < scores.nodes.size(); ++node) {
    json["nodes"].push_back(ReportNode(scores, texts, node, options));
  }
  fmt::print("\n");
  Verdicts verdicts;
  if (!scores.centralised.domains.empty()) {
    verdicts.Add("gap",
                 {.what = "share of the gap between local-only and centralised that federation "
                          "recovers on other nodes' domains",
                  .bound = 0.85},
                 GapShare(scores, texts));
    JudgeOverlay(scores, texts, &verdicts);
  }
  const std::vector<ArmScores> federated = FederatedOf(scores);
  if (options.noised) {
    verdicts.Add("noise_free",
                 {.what = "share of the gain of the noise-free federation that is left under noise",
                  .bound = 0.6},
                 GainShare(scores.base, federated, scores.reference, texts));
  }
  if (!scores.clipped.empty()) {
    verdicts.Add("clipped",
                 {.what = "the same against the same schedule that only clips", .bound = 0.6},
                 GainShare(scores.base, federated, scores.clipped, texts));
  }
  if (options.attacked) {
    JudgeAttack(scores, texts, &verdicts);
  }
  json["verdicts"] = verdicts.Take();
  return json;
}

}  // namespace ruvd::bench
