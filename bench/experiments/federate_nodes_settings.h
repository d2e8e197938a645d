// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/experiments/node_processes.h"

namespace ruvd::bench {

// What `federate_nodes` is asked for. The names are those of its flags.
struct FederateNodesSettings {
  size_t nodes = 6;
  std::vector<std::string> domains;  // a folder, or files' common beginnings
  std::string model = "deploy/models/ruvdllm-5m.q8_0.gguf";
  std::string ruvd;  // empty: the program of the same build
  std::string eval;  // general text; empty: the file beside the domains, if there is one

  std::string attack = "none";  // what the last node tells; its domain is not scored
  std::string lying_node;       // empty: the program of the same build
  std::string tier = "public";
  std::string kind;  // of rounds: delta or gradient; empty: what suits the tier
  double epsilon = 8;
  double delta = 1e-5;
  int rounds = 20;
  int round_seconds = 60;
  size_t lessons = 2000;  // of a node
  size_t users = 0;       // whose documents they are, and the unit of privacy; 0: lessons are
  bool deep = false;      // every node also runs a deep round, after the rounds
  std::string compare = "all";
  std::vector<std::string> set;  // KEY=VALUE

  size_t pieces = 40;  // scored of each text
  uint32_t samples = 8;
  int threads = 1;  // of a node
  uint64_t seed = 1;
  bool quick = false;
  std::string keep;
  std::string json;
};

// Returns settings with which all arms of three nodes end within ten minutes on two cores.
FederateNodesSettings QuickSettings();

// Adds all flags; `settings` must outlive the parsing and holds the defaults.
void AddFederateNodesFlags(CLI::App* app, FederateNodesSettings* settings);

// Fills in what the tier decides and where `ruvd` is. Fails with INVALID_ARGUMENT for settings that
// do not go together, and with FILE_NOT_FOUND for a program that is not there.
absl::Status Complete(FederateNodesSettings* settings);

// Returns the settings that every node of an arm is started with: those of the flags, and what
// rounds of `kind` need. INVALID_ARGUMENT for a --set without '='.
absl::StatusOr<NodeSettings> NodeSettingsOf(const FederateNodesSettings& settings,
                                            const std::string& kind);

// Returns whether the last node lies; then the gain is judged by that of a federation without it.
bool IsAttacked(const FederateNodesSettings& settings);
// Returns whether a noise-free federation is run beside, by whose gain noise is judged.
bool ComparesWithoutNoise(const FederateNodesSettings& settings);

}  // namespace ruvd::bench
