// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/experiments/federate_report.h"
#include "bench/experiments/node_processes.h"
#include "bench/experiments/node_texts.h"
#include "ruvd/pattern/v1/pattern.pb.h"

namespace ruvd::bench {

// The rounds of a node, as its status shows them.
struct RoundsView {
  std::string plan_id;
  uint64_t round = 0;        // that runs now
  uint64_t state_round = 0;  // of the global adapter's state
  std::string state_digest;
  uint64_t contributions = 0;  // accepted within the window, of all nodes
  uint64_t own_contributions = 0;
  uint32_t served_version = 0;
  bool held_back = false;  // the node's gate keeps the newest state from serving
  std::string last_error;
};

// Returns whether `rounds` rounds from `first` on have passed on every node. A node that lags gets
// some rounds more for contributions that come late.
bool RoundsPassed(std::span<const RoundsView> nodes, uint64_t first, uint64_t rounds);
// Returns whether all nodes have the state of one round with one digest.
bool Agree(std::span<const RoundsView> nodes);

// Nodes of one cluster that are taught, consent, run rounds and are scored.
struct GroupPlan {
  std::string name;
  std::vector<std::string> names;                        // of the nodes
  std::vector<std::vector<const LessonTexts*>> lessons;  // by node
  pattern::v1::SharingTier tier = pattern::v1::SHARING_TIER_PUBLIC;
  NodeSettings settings;
};

struct NodeResult {
  ArmScores scores;      // as served after the rounds
  RoundsView rounds;     // when the scoring began
  uint64_t lessons = 0;  // stored
  uint64_t bytes = 0;    // payload sent from the consent to the scoring
  LedgerCheck ledger;
};

struct GroupResult {
  std::vector<NodeResult> nodes;
  uint64_t first_round = 0;
  uint64_t last_round = 0;   // that ran when learning paused
  bool agreed = false;       // all nodes had one state then
  double start_seconds = 0;  // until all nodes served and were linked
  double seconds = 0;        // until all had stopped
};

// How groups are run.
struct GroupOptions {
  std::string program;
  std::string model;
  std::string folder;   // an existing one
  uint64_t rounds = 1;  // 0: the nodes run none
  int round_seconds = 60;
  uint32_t samples = 8;
  uint64_t seed = 1;
  double lesson_epsilon = 0;  // budget that the ledgers are checked against; 0: none
  double delta = 1e-5;
};

struct StageResult {
  ArmScores base;  // of the first node, before any round; empty unless asked for
  std::vector<GroupResult> groups;
};

// Runs groups beside each other: starts their nodes, teaches them, grants the tier on all, waits
// for the rounds, pauses learning, scores every node on all texts, stops all, and verifies every
// ledger. An error names the group; then all processes have been stopped, too.
absl::StatusOr<StageResult> RunGroups(const NodeTexts& texts, std::span<const GroupPlan> plans,
                                      const GroupOptions& options, bool score_base);

}  // namespace ruvd::bench
