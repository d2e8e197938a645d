// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/update_attacks.h"
#include "federation/daf/aggregation_rule.h"
#include "federation/daf/outer_optimizer.h"
#include "federation/daf/strategy.h"

namespace ruvd::bench {

// How much a node trains between two updates.
struct TrainingBudget {
  int rounds = 5;
  int steps = 12;  // of a round
  int batch = 8;   // sequences of a step; under example-level privacy the expected number
};

// What `federate` is asked for. The names are those of its flags.
struct FederateSettings {
  size_t nodes = 6;
  std::vector<std::string> domains;  // a folder, or files' common beginnings
  std::string model = "deploy/models/ruvdllm-5m.q8_0.gguf";
  std::string frame;       // empty: a file of the cache, or of no file
  std::string make_frame;  // public text that a missing frame is made of
  std::string eval;
  std::string json;
  std::string cache;

  std::string tier = "public";
  std::string unit = "example";
  double epsilon = 8;
  double delta = 1e-5;
  double clip = 0;    // 0: what suits the unit
  double signal = 0;  // mean clipped norm / clip norm; 0: default of the unit
  size_t colluders = 1;
  uint64_t noise_seed = 0;  // 0: the operating system's randomness

  std::string attack = "none";
  size_t attackers = 1;

  std::string strategy = "timestep";
  std::string rule = "default";
  std::string outer;      // empty: adam for noised gradients, else plain
  double outer_step = 0;  // 0: 2.5e-3 for adam, else 1
  double outer_momentum = federation::OuterOptions().momentum;
  std::string gate = "off";
  double gate_errors = 1;

  TrainingBudget budget = {.rounds = 0, .steps = 0, .batch = 0};  // 0: what suits the tier
  // Budget of what is trained without privacy for comparison: local-only, centralised, and under
  // tier dp a federation without noise.
  TrainingBudget baseline;
  int rank = 8;
  std::vector<float> boundaries;
  double learning_rate = 0;  // 0: what suits the rank
  bool keep_state = true;
  int overlay_rank = 2;
  std::string compare = "all";
  size_t sequences = 2000;
  size_t pieces = 40;
  size_t held_out = 48;
  int draws = 2;
  int threads = 1;
  uint64_t seed = 1;
};

// Returns settings that are small enough to try everything in two minutes.
FederateSettings SmokeSettings();

// Fills in what was left to the tier and the unit. Tier dp at the level of examples has few large
// batches, one a round, and an adaptive outer optimiser; all others have the baseline's budget.
void FillDefaults(FederateSettings* settings);

// Adds all flags; `settings` must outlive the parsing and holds the defaults.
void AddFederateFlags(CLI::App* app, FederateSettings* settings);

// Fails with INVALID_ARGUMENT for settings that do not go together; the message names the remedy.
absl::Status CheckSettings(const FederateSettings& settings);

// "sign-flip" is sign-flip-3, "ipm" is inner-product; else the names of update_attacks.h.
absl::StatusOr<UpdateAttack> AttackOf(std::string_view name);
federation::Strategy StrategyOf(std::string_view name);
// Returns null for "default", which means DefaultRule().
const federation::AggregationRule* RuleOf(std::string_view name);
federation::OuterOptions OuterOf(const FederateSettings& settings);

// The two files of a domain.
struct DomainFiles {
  std::string name;
  std::string train;
  std::string valid;
};

// Finds the files of the first `nodes` domains. `given` is one folder, which has
// NAME.train.jsonl.zst and NAME.valid.jsonl.zst of every domain, in the order of their names; or
// FOLDER/NAME of each domain. FILE_NOT_FOUND names what is missing; INVALID_ARGUMENT means fewer
// than `nodes` domains or a name that is given twice.
absl::StatusOr<std::vector<DomainFiles>> ResolveDomains(std::span<const std::string> given,
                                                        size_t nodes);

}  // namespace ruvd::bench
