// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_nodes_settings.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/federate_settings.h"
#include "node/local/limits.h"

namespace ruvd::bench {
namespace {

constexpr char kPublic[] = "public";
// A node's own thread learns beside the threads that serve, so more would only take turns.
constexpr int kMaxThreads = 64;

// Returns a program of the same build by its path from the experiments.
std::string ProgramOfThisBuild(const char* path) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / path).lexically_normal().string();
}

absl::Status Invalid(std::string message) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, "{}",
               std::move(message));
}

absl::Status CheckAttack(const FederateNodesSettings& s) {
  ASSIGN_OR_RETURN(const UpdateAttack attack, AttackOf(s.attack));
  if (attack == UpdateAttack::kNone) {
    return absl::OkStatus();
  }
  if (attack == UpdateAttack::kCopies) {
    return Invalid("--attack copies is no lie of one node; use e.g. --attack sign-flip");
  }
  if (s.tier == "masked") {
    return Invalid(
        "--attack changes what a node gives by itself, and under --tier masked only sums are "
        "given; use --tier public or dp");
  }
  constexpr size_t kLeastNodes = 4;
  return s.nodes >= kLeastNodes
             ? absl::OkStatus()
             : Invalid(fmt::format("--attack needs at least {} nodes, because no rule can tell one "
                                   "liar from fewer members, and --nodes is {}",
                                   kLeastNodes, s.nodes));
}

}  // namespace

FederateNodesSettings QuickSettings() {
  FederateNodesSettings settings;
  settings.nodes = 3;
  settings.rounds = 4;
  settings.round_seconds = 20;
  settings.lessons = 64;
  settings.pieces = 12;
  settings.samples = 4;
  settings.quick = true;
  return settings;
}

void AddFederateNodesFlags(CLI::App* app, FederateNodesSettings* s) {
  app->add_option("--domains", s->domains,
                  "folder of NAME.train and NAME.valid .jsonl.zst, or FOLDER/NAME of each domain; "
                  "every node gets the texts of one")
      ->required()
      ->delimiter(',');
  app->add_option("--nodes", s->nodes)->check(CLI::Range(2, limits::kMaxDemoNodes));
  app->add_option("--model", s->model, "GGUF file");
  app->add_option("--ruvd", s->ruvd, "program of the nodes; default: that of the same build");
  app->add_option(
      "--eval", s->eval,
      "general text; default: general.valid.jsonl.zst beside the domains, if it exists");
  app->add_option("--tier", s->tier, "consent of every node")
      ->check(CLI::IsMember({kPublic, "masked", "dp"}));
  app->add_option("--attack", s->attack,
                  "what the last node gives to rounds: none, sign-flip, alie, min-max, ipm, ... "
                  "(bench/robust); compared with the federation of the other nodes")
      ->capture_default_str();
  app->add_option("--lying-node", s->lying_node,
                  "program of that node; default: that of the same build");
  app->add_option("--kind", s->kind, "of rounds; default: delta for public, else gradient")
      ->check(CLI::IsMember({"delta", "gradient"}));
  app->add_option("--epsilon", s->epsilon, "budget of a lesson under masked and dp")
      ->check(CLI::Range(0.01, 100.0));
  app->add_option("--delta", s->delta)->check(CLI::Range(1e-12, 1e-2));
  app->add_option("--rounds", s->rounds)->check(CLI::Range(1, 1000));
  app->add_option("--round-seconds", s->round_seconds,
                  "a node must train within this time, beside the others on this machine")
      ->check(CLI::Range(1, 86'400));
  app->add_option("--lessons", s->lessons, "of a node, of 112 tokens")
      ->check(CLI::Range(8, 100'000));
  app->add_option("--users", s->users,
                  "users among whom a node's documents are shared out, and who are the unit of "
                  "privacy; 0: lessons are")
      ->check(CLI::Range(0, 100'000));
  app->add_flag("--deep", s->deep,
                "after the rounds, every node of every arm runs a deep round on its lessons, which "
                "trains its private adapter on top of what the cluster learned");
  app->add_option("--compare", s->compare,
                  "arms beside the federation: local-only, centralised and, under a private tier, "
                  "a federation without noise; with --attack only the federation without the liar")
      ->check(CLI::IsMember({"all", "noise", "none"}));
  app->add_option("--set", s->set,
                  "KEY=VALUE for every node, as on the command line of ruvd serve");
  app->add_option("--documents", s->pieces,
                  "held-out pieces of 128 tokens that are scored of each text, spread over its "
                  "documents")
      ->check(CLI::Range(1, 100'000));
  app->add_option("--samples", s->samples, "masks that a score averages")
      ->check(CLI::Range(1, 128));
  app->add_option("--threads", s->threads, "of a node")->check(CLI::Range(1, kMaxThreads));
  app->add_option("--seed", s->seed, "of the masks");
  app->add_flag("--quick", s->quick, "few lessons and short rounds, for a try");
  app->add_option("--keep", s->keep, "new folder for data, logs and ledgers, which stays");
  app->add_option("--json", s->json, "file of the results");
}

absl::Status Complete(FederateNodesSettings* s) {
  if (s->kind.empty()) {
    s->kind = s->tier == kPublic ? "delta" : "gradient";
  }
  if (s->tier != kPublic && s->kind == "delta") {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "--kind delta shows what was learned without noise, and --tier is {}; use --kind "
                 "gradient or --tier public",
                 s->tier);
  }
  RETURN_IF_ERROR(CheckAttack(*s));
  constexpr size_t kLeastMasked = 4;
  if (s->tier == "masked" && s->nodes < kLeastMasked) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a masked sum needs at least {} nodes, and --nodes is {}", kLeastMasked, s->nodes);
  }
  if (s->ruvd.empty()) {
    s->ruvd = ProgramOfThisBuild("../../node/ruvd");
  }
  if (s->lying_node.empty()) {
    s->lying_node = ProgramOfThisBuild("lying_node");
  }
  std::vector<std::pair<const char*, std::string>> files = {{"--ruvd", s->ruvd},
                                                            {"--model", s->model}};
  if (IsAttacked(*s)) {
    files.emplace_back("--lying-node", s->lying_node);
  }
  for (const auto& [flag, path] : files) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
      return Error(absl::StatusCode::kNotFound, reasons::kFileNotFound,
                   "{} is not a file; build it, or name it with {}", path, flag);
    }
  }
  std::error_code error;
  if (!s->keep.empty() && std::filesystem::exists(s->keep, error)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "{} exists already; name a new folder with --keep", s->keep);
  }
  return absl::OkStatus();
}

absl::StatusOr<NodeSettings> NodeSettingsOf(const FederateNodesSettings& settings,
                                            const std::string& kind) {
  NodeSettings all = {{"federation.round_seconds", std::to_string(settings.round_seconds)},
                      {"federation.contributions", kind},
                      {"inference.threads", std::to_string(settings.threads)}};
  if (kind == "gradient") {
    all.emplace_back("privacy.epsilon", fmt::format("{:g}", settings.epsilon));
    all.emplace_back("privacy.delta", fmt::format("{:g}", settings.delta));
    all.emplace_back("privacy.rounds", std::to_string(settings.rounds));
  }
  if (settings.users > 0) {
    all.emplace_back("privacy.unit", "user");
  }
  for (const std::string& setting : settings.set) {
    const size_t equals = setting.find('=');
    if (equals == std::string::npos) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "--set {} has no '='; give KEY=VALUE, e.g. privacy.clip_norm=2", setting);
    }
    all.emplace_back(setting.substr(0, equals), setting.substr(equals + 1));
  }
  return all;
}

bool IsAttacked(const FederateNodesSettings& settings) {
  return settings.attack != "none";
}

bool ComparesWithoutNoise(const FederateNodesSettings& settings) {
  return settings.tier != kPublic && settings.compare != "none" && !IsAttacked(settings);
}

}  // namespace ruvd::bench
