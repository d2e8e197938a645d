// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/update_attacks.h"
#include "federation/daf/outer_optimizer.h"
#include "federation/learner/plan.h"
#include "inference/adapter/core_shape.h"
#include "privacy/consent/consent.h"

namespace ruvd::bench {

// What `federate` is asked for. The names are those of its flags; 0 and "" stand for what a node
// does by default.
struct FederateSettings {
  size_t nodes = 6;
  std::vector<std::string> domains;  // a folder, or files' common beginnings
  std::string model = "deploy/models/ruvdllm-5m.q8_0.gguf";
  std::string frame;  // "": the file that is shipped with the model
  std::string eval;
  std::string json;
  std::string cache;

  std::string tier = "public";
  double epsilon = 8;
  double delta = 1e-5;

  std::string attack = "none";
  size_t attackers = 1;
  double participation = 1;      // the chance that an honest node contributes to a round
  std::optional<double> quorum;  // of the nodes of the last rounds; nullopt: that of a node

  std::string strategy = "timestep";
  std::string rule = "default";
  std::string outer;
  double outer_step = 0;
  double outer_momentum = federation::OuterOptions().momentum;

  int rounds = 20;  // as many as a lesson takes part in by default
  int steps = 0;    // of a round without noise
  int batch = 0;    // of a step; in a private tier the most units that a sample is expected to have
  int rank = 0;     // 0: that of a node
  std::vector<float> boundaries;
  double learning_rate = 0;
  std::optional<double> hold;  // nullopt: that of a node
  int overlay_rank = 2;
  std::string compare = "all";
  size_t sequences = 2000;
  size_t pieces = 40;
  int draws = 2;
  int threads = 1;
  uint64_t seed = 1;
};

// Returns settings that are small enough to try everything within minutes.
FederateSettings SmokeSettings();

// Adds all flags; `settings` must outlive the parsing and holds the defaults.
void AddFederateFlags(CLI::App* app, FederateSettings* settings);

// Fails with INVALID_ARGUMENT for settings that do not go together; the message names the remedy.
absl::Status CheckSettings(const FederateSettings& settings);

// Returns the plan with which a node learns if it is configured like this, with what the flags
// change. Fails as node::LearnerPlanOf and LearnerPlan::Check do.
absl::StatusOr<federation::LearnerPlan> PlanOf(const FederateSettings& settings,
                                               const inference::CoreShape& shape,
                                               federation::ContributionKind kind);

// "sign-flip" is sign-flip-3, "ipm" is inner-product; else the names of update_attacks.h.
absl::StatusOr<UpdateAttack> AttackOf(std::string_view name);
privacy::ConsentTier TierOf(const FederateSettings& settings);
// What contributions of the tier hold.
federation::ContributionKind KindOf(const FederateSettings& settings);
// Returns the rank of the cores.
int RankOf(const FederateSettings& settings);

// The two files of a domain
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

// Returns the file of general text that was named, or the one beside the domain or in the folder
// around it. NOT_FOUND names the flag.
absl::StatusOr<std::string> GeneralText(const std::string& named, const DomainFiles& domain);

}  // namespace ruvd::bench
