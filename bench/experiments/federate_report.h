// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/experiments/federate_figures.h"
#include "bench/experiments/federate_guards.h"
#include "bench/experiments/federate_scores.h"
#include "bench/experiments/federate_texts.h"

namespace ruvd::bench {

// An arm's scores on every domain, in the order of the nodes, and on general text.
struct ArmScores {
  std::vector<Scores> domains;
  Scores general;
};

// All arms of one node; those that were left out have no domains.
struct NodeScores {
  ArmScores local;      // R-cores of its own text
  ArmScores federated;  // the global adapter
  ArmScores overlay;    // that and its private LoRA
  // It is the LoRA of the overlay without the global adapter beneath. It is scored on its own
  // domain alone: its scores on the other domains and on general text are empty.
  ArmScores local_lora;
  PrivacySpent spent;
  size_t bytes = 0;  // to one receiver
};

struct ExperimentScores {
  ArmScores base;
  ArmScores centralised;
  std::vector<NodeScores> nodes;
  // Scores of the federation without attackers, or without noise; by node.
  std::vector<ArmScores> reference;
  // Tier dp: scores of the federation that only clips.
  std::vector<ArmScores> clipped;
};

// Returns (local - federated) / (local - centralised), over the domains of other nodes.
Interval GapShare(const ExperimentScores& scores, std::span<const DomainText> texts);
// Gain of some arms over another's gain, both by node and over all honest nodes' domains.
Interval GainShare(const ArmScores& base, std::span<const ArmScores> arms,
                   std::span<const ArmScores> others, std::span<const DomainText> texts);

// The arm's change from another one on a text, nats per token; below zero is better.
Interval Change(const Scores& arm, const Scores& other, std::span<const size_t> documents);

// Adds the verdict that an arm changes nothing for the worse on any node's own domain. Both
// functions return the scores of a node; `what` says what is compared.
using ArmOfNode = std::function<const ArmScores&(size_t node)>;
void JudgeOwnDomains(const std::string& key, std::string_view what, const ArmOfNode& arm,
                     const ArmOfNode& other, std::span<const DomainText> texts, Verdicts* verdicts);

// Adds the verdict on what attackers cost of the gain that `scores.reference` has without them.
void JudgeAttack(const ExperimentScores& scores, std::span<const DomainText> texts,
                 Verdicts* verdicts);

// What the run is judged by.
struct ReportOptions {
  bool attacked = false;
  bool noised = false;
  const Crops* general = nullptr;
};

// Prints a table for each node and the verdicts, and returns both as JSON.
nlohmann::json Report(const ExperimentScores& scores, std::span<const DomainText> texts,
                      const ReportOptions& options);

}  // namespace ruvd::bench
