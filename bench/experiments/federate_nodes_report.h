// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/experiments/federate_nodes_settings.h"
#include "bench/experiments/federate_report.h"
#include "bench/experiments/node_groups.h"
#include "bench/experiments/node_texts.h"

namespace ruvd::bench {

// What the arms of an experiment with processes gave. Arms that were left out are empty.
struct NodesOutcome {
  ArmScores base;
  GroupResult federated;
  std::vector<GroupResult> local;         // a cluster of one node for each domain
  std::vector<GroupResult> centralised;   // a single cluster of one node
  std::vector<GroupResult> noise_free;    // a single cluster
  std::optional<NodeResult> liar;         // which then is not in `federated`
  std::vector<GroupResult> without_liar;  // a single cluster of the honest nodes
  size_t payload_bytes = 0;               // of one contribution; at least that of its values
};

// Returns the scores of all arms as the figures of `federate` read them.
ExperimentScores ScoresOf(const NodesOutcome& outcome);

// The change from `base` on the domains of other nodes: the mean over nodes, with all domains
// alike, in nats per token; below zero is better.
Interval OthersChange(const ArmScores& base, std::span<const ArmScores> arms,
                      std::span<const DomainText> texts);

// Returns the texts as far as figures need them: names, and the document of each piece.
std::vector<DomainText> FigureTextsOf(const NodeTexts& texts);

// The largest payload bytes that a node sent in a round, over those that its contribution to each
// of the nodes would take.
double BytesShare(const NodesOutcome& outcome, size_t rounds);

// Prints the tables and a verdict for each expectation, and returns all of it as JSON.
nlohmann::json ReportNodes(const NodesOutcome& outcome, const NodeTexts& texts,
                           const FederateNodesSettings& settings);

}  // namespace ruvd::bench
