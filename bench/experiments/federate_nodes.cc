// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What rounds between real nodes are worth: `federate_nodes --help`.

#include <fmt/format.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/folder.h"
#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/federate_nodes_report.h"
#include "bench/experiments/federate_nodes_settings.h"
#include "bench/experiments/federate_settings.h"
#include "bench/experiments/flags.h"
#include "bench/experiments/node_groups.h"
#include "bench/experiments/node_texts.h"
#include "bench/experiments/paired.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/model/model.h"
#include "node/cli/sharing_tier.h"
#include "node/config/config.h"
#include "node/process/learner_options.h"
#include "privacy/ledger/ledger_entry.h"

namespace ruvd::bench {
namespace {

constexpr char kDescription[] =
    "A federation of `ruvd serve` processes on loopback, with TLS and tokens. Each node gets "
    "texts\n"
    "of one domain and the consent of a tier, runs rounds, and is scored as it serves, by the "
    "Score\n"
    "call, on held-out texts of all domains. Compared with every node alone, with one node that "
    "has\n"
    "all texts, and under a private tier with a federation without noise. With --attack the last\n"
    "node lies, and the federation of the others is what it is compared with. Scores are "
    "nats/token\n"
    "on common masks; below zero is better. Intervals: 95 % bootstrap over documents. Every ledger "
    "is\n"
    "verified after the end. All processes are stopped, on errors too.\n"
    "Exit status: 0 done, 1 failed, 2 bad flags or files.\n"
    "\n"
    "Small: federate_nodes --quick --domains DOMAINS";

// A folder for the nodes, which is removed with this object unless it is kept.
class WorkFolder {
 public:
  static absl::StatusOr<std::unique_ptr<WorkFolder>> Make(const std::string& keep) {
    if (!keep.empty()) {
      RETURN_IF_ERROR(MakeDataFolder(keep));
      return std::unique_ptr<WorkFolder>(new WorkFolder(AbsolutePath(keep), true));
    }
    std::string pattern = std::filesystem::temp_directory_path() / "ruvd-nodes-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) {
      return Error(absl::StatusCode::kUnavailable, reasons::kFileUnwritable,
                   "no folder can be made like {}; set TMPDIR to one that can be written", pattern);
    }
    return std::unique_ptr<WorkFolder>(new WorkFolder(pattern, false));
  }
  ~WorkFolder() {
    std::error_code ignored;  // what is left in a folder for temporary files does no harm
    if (!kept_) {
      std::filesystem::remove_all(path_, ignored);
    }
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  WorkFolder(std::string path, bool kept) : path_(std::move(path)), kept_(kept) {}
  std::string path_;
  bool kept_;
};

// What an experiment is made from.
struct Workshop {
  std::unique_ptr<ResultsFile> results;
  std::unique_ptr<WorkFolder> folder;
  NodeTexts texts;
  size_t payload_bytes = 0;
};

// Bytes of the values of one contribution: a core of a node's rank for every linear layer.
size_t PayloadBytes(const inference::Model& model, const std::string& kind) {
  config::NodeConfig config;
  config.federation.contributions = kind;
  const auto rank = static_cast<size_t>(node::RankOf(config));
  return inference::LinearTargets(model, inference::Modules::kAll).size() * rank * rank *
         sizeof(float);
}

// Does every part of the work in which a flag or a file may turn out to be wrong.
absl::Status Prepare(FederateNodesSettings* settings, Workshop* shop) {
  RETURN_IF_ERROR(Complete(settings));
  RETURN_IF_ERROR(NodeSettingsOf(*settings, settings->kind).status());
  ASSIGN_OR_RETURN(const std::vector<DomainFiles> domains,
                   ResolveDomains(settings->domains, settings->nodes));
  ASSIGN_OR_RETURN(shop->results, ResultsFile::Create(settings->json));
  ASSIGN_OR_RETURN(const auto model, inference::Model::Load(settings->model));
  ASSIGN_OR_RETURN(shop->texts,
                   ReadNodeTexts(domains, GeneralText(settings->eval, domains.front()).value_or(""),
                                 model->tokenizer(),
                                 {.lessons = settings->lessons, .pieces = settings->pieces}));
  if (IsAttacked(*settings)) {
    shop->texts.held_out.pop_back();
  }
  shop->payload_bytes = PayloadBytes(*model, settings->kind);
  ASSIGN_OR_RETURN(shop->folder, WorkFolder::Make(settings->keep));
  settings->model = AbsolutePath(settings->model);
  return absl::OkStatus();
}

// A cluster in which each node has the lessons of one domain.
absl::StatusOr<GroupPlan> Federation(const FederateNodesSettings& settings, const NodeTexts& texts,
                                     const std::string& name, const std::string& tier,
                                     const std::string& kind) {
  GroupPlan plan{.name = name, .names = {}, .lessons = {}, .tier = *cli::ParseTier(tier)};
  ASSIGN_OR_RETURN(plan.settings, NodeSettingsOf(settings, kind));
  plan.users = settings.users;
  for (const LessonTexts& lessons : texts.lessons) {
    plan.names.push_back(lessons.name);
    plan.lessons.push_back({&lessons});
  }
  return plan;
}

// The federation that is measured; its last node may lie.
absl::StatusOr<GroupPlan> MeasuredFederation(const FederateNodesSettings& settings,
                                             const NodeTexts& texts) {
  ASSIGN_OR_RETURN(GroupPlan plan,
                   Federation(settings, texts, "federated", settings.tier, settings.kind));
  if (IsAttacked(settings)) {
    plan.liar = {settings.lying_node, settings.attack};
  }
  return plan;
}

// Plans that federation without the node that lies.
absl::StatusOr<GroupPlan> WithoutTheLiar(const FederateNodesSettings& settings,
                                         const NodeTexts& texts) {
  ASSIGN_OR_RETURN(GroupPlan plan,
                   Federation(settings, texts, "without-liar", settings.tier, settings.kind));
  plan.names.pop_back();
  plan.lessons.pop_back();
  return plan;
}

// The arms without privacy: every node alone, and one node with all texts.
absl::StatusOr<std::vector<GroupPlan>> Alone(const FederateNodesSettings& settings,
                                             const NodeTexts& texts) {
  std::vector<GroupPlan> plans;
  GroupPlan all{.name = "centralised", .names = {"all"}, .lessons = {{}}};
  ASSIGN_OR_RETURN(all.settings, NodeSettingsOf(settings, "delta"));
  for (const LessonTexts& lessons : texts.lessons) {
    plans.push_back({.name = "local-" + lessons.name,
                     .names = {lessons.name},
                     .lessons = {{&lessons}},
                     .settings = all.settings});
    all.lessons.front().push_back(&lessons);
  }
  plans.push_back(std::move(all));
  return plans;
}

privacy::PrivacyUnit UnitOf(const FederateNodesSettings& settings) {
  return settings.users > 0 ? privacy::PrivacyUnit::kUser : privacy::PrivacyUnit::kLesson;
}

absl::StatusOr<NodesOutcome> RunArms(const FederateNodesSettings& settings, const Workshop& shop) {
  const NodeTexts& texts = shop.texts;
  GroupOptions options{.program = settings.ruvd,
                       .model = settings.model,
                       .folder = shop.folder->path(),
                       .rounds = static_cast<uint64_t>(settings.rounds),
                       .round_seconds = settings.round_seconds,
                       .samples = settings.samples,
                       .seed = settings.seed,
                       .deep = settings.deep,
                       .unit = UnitOf(settings),
                       .delta = settings.delta};
  NodesOutcome outcome;
  outcome.payload_bytes = shop.payload_bytes;
  ASSIGN_OR_RETURN(const GroupPlan plan, MeasuredFederation(settings, texts));
  options.unit_epsilon = settings.epsilon;
  ASSIGN_OR_RETURN(StageResult federated, RunGroups(texts, {&plan, 1}, options, true));
  outcome.base = std::move(federated.base);
  outcome.federated = std::move(federated.groups.front());
  if (IsAttacked(settings)) {
    outcome.liar = std::move(outcome.federated.nodes.back());
    outcome.federated.nodes.pop_back();
    if (settings.compare != "none") {
      ASSIGN_OR_RETURN(const GroupPlan honest, WithoutTheLiar(settings, texts));
      ASSIGN_OR_RETURN(StageResult stage, RunGroups(texts, {&honest, 1}, options, false));
      outcome.without_liar = std::move(stage.groups);
    }
  }
  options.unit_epsilon = 0;  // the other arms have no privacy
  for (const NodeResult& node : outcome.federated.nodes) {
    outcome.payload_bytes = std::max<size_t>(outcome.payload_bytes, node.rounds.payload_bytes);
  }
  if (ComparesWithoutNoise(settings)) {
    ASSIGN_OR_RETURN(const GroupPlan open,
                     Federation(settings, texts, "noise-free", "public", "delta"));
    ASSIGN_OR_RETURN(StageResult stage, RunGroups(texts, {&open, 1}, options, false));
    outcome.noise_free = std::move(stage.groups);
  }
  if (settings.compare == "all" && !IsAttacked(settings)) {
    ASSIGN_OR_RETURN(const std::vector<GroupPlan> alone, Alone(settings, texts));
    ASSIGN_OR_RETURN(StageResult stage, RunGroups(texts, alone, options, false));
    outcome.centralised.push_back(std::move(stage.groups.back()));
    stage.groups.pop_back();
    outcome.local = std::move(stage.groups);
  }
  return outcome;
}

nlohmann::json SettingsJson(const FederateNodesSettings& s) {
  return {{"model", std::filesystem::path(s.model).filename().string()},
          {"nodes", s.nodes},
          {"attack", s.attack},
          {"tier", s.tier},
          {"kind", s.kind},
          {"epsilon", s.epsilon},
          {"delta", s.delta},
          {"rounds", s.rounds},
          {"round_seconds", s.round_seconds},
          {"lessons", s.lessons},
          {"users", s.users},
          {"deep", s.deep},
          {"documents", s.pieces},
          {"samples", s.samples},
          {"threads", s.threads},
          {"set", s.set},
          {"seed", s.seed},
          {"quick", s.quick}};
}

absl::Status Run(const FederateNodesSettings& settings, const Workshop& shop) {
  ASSIGN_OR_RETURN(const NodesOutcome outcome, RunArms(settings, shop));
  nlohmann::json json = ReportNodes(outcome, shop.texts, settings);
  json["experiment"] = "federate_nodes";
  json["settings"] = SettingsJson(settings);
  return shop.results->Write(json);
}

int Main(int argc, char** argv) {
  FederateNodesSettings settings =
      HasFlag(argc, argv, "--quick") ? QuickSettings() : FederateNodesSettings();
  CLI::App app(kDescription);
  AddFederateNodesFlags(&app, &settings);
  Workshop shop;
  return RunPrepared(
      app, argc, argv, [&] { return Prepare(&settings, &shop); },
      [&] { return Run(settings, shop); });
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  return ruvd::bench::Main(argc, argv);
}
