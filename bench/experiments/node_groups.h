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
#include "privacy/ledger/ledger_entry.h"
#include "ruvd/pattern/v1/pattern.pb.h"
#include "ruvd/privacy/v1/privacy.pb.h"

namespace ruvd::bench {

// The rounds of a node, as its status shows them (ruvd.cluster.v1.RoundsStatus).
struct RoundsView {
  std::string plan_id;
  uint64_t round = 0;        // that runs now
  uint64_t state_round = 0;  // the last round that the global state contains
  std::string state_digest;
  uint64_t own_contributions = 0;  // in rounds that are not settled yet
  uint64_t last_round = 0;         // in which this node contributed; 0: none
  double last_epsilon = 0;         // that this contribution cost each unit
  uint32_t payload_bytes = 0;      // of this contribution
  uint32_t served_version = 0;     // of the global adapter
  bool held_back = false;          // the node's gate keeps a newer version from serving
  std::string refusal;             // why the last attempt gave no contribution
};

// Returns whether `rounds` rounds from `first` on have passed on every node. A node that lags gets
// some rounds more for a contribution that comes late.
bool RoundsPassed(std::span<const RoundsView> nodes, uint64_t first, uint64_t rounds);
// Returns whether all nodes have the state of one round with one digest.
bool Agree(std::span<const RoundsView> nodes);
// Returns whether every node serves a version that contains `round`, or holds it back.
bool AllJudged(std::span<const RoundsView> nodes, uint64_t round);

// Nodes of one cluster that are taught, consent, run rounds and are scored.
struct GroupPlan {
  std::string name;
  std::vector<std::string> names;                        // of the nodes
  std::vector<std::vector<const LessonTexts*>> lessons;  // by node
  privacy::v1::SharingTier tier = privacy::v1::SHARING_TIER_PUBLIC;
  NodeSettings settings;
  std::vector<std::string> liar;  // NodeProcesses::Options::liar
  size_t users = 0;               // of a node, who all agree to the tier; 0: its texts have none
};

struct NodeResult {
  ArmScores scores;            // as served after the rounds
  RoundsView rounds;           // when the scoring began
  uint32_t served_at_end = 0;  // version that was served when the scoring ended
  uint64_t lessons = 0;        // stored
  uint64_t bytes = 0;          // payload sent from the consent to the scoring
  LedgerCheck ledger;
  // What became of the deep round, such as "published"; "" if none ran.
  std::string deep;
};

struct GroupResult {
  std::vector<NodeResult> nodes;
  size_t members = 0;  // at the start
  uint64_t first_round = 0;
  uint64_t last_round = 0;   // that ran when learning paused
  bool agreed = false;       // all nodes had one state at a time since then
  double start_seconds = 0;  // until all nodes served and were linked
  double seconds = 0;        // until all had stopped
};

// How groups are run.
struct GroupOptions {
  std::string program;
  std::string model;
  std::string folder;   // an existing one
  uint64_t rounds = 1;  // at least 1
  int round_seconds = 60;
  uint32_t samples = 8;
  uint64_t seed = 1;
  bool deep = false;  // after the rounds, every node runs a deep round
  privacy::PrivacyUnit unit = privacy::PrivacyUnit::kLesson;
  double unit_epsilon = 0;  // budget of a unit that the ledgers are checked against; 0: none
  double delta = 1e-5;
};

struct StageResult {
  ArmScores base;  // of the first node, before any round; empty unless asked for
  std::vector<GroupResult> groups;
};

// Runs groups beside each other: starts their nodes, teaches them, grants the tier on all, waits
// for the rounds and, if asked for, runs a deep round on every node, scores every node on all
// texts, stops all, and verifies every ledger. Rounds go on while nodes are scored, which
// NodeResult::served_at_end shows. An error names the group; then
// all processes have been stopped, too.
absl::StatusOr<StageResult> RunGroups(const NodeTexts& texts, std::span<const GroupPlan> plans,
                                      const GroupOptions& options, bool score_base);

}  // namespace ruvd::bench
