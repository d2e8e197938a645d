// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_settings.h"

#include <filesystem>
#include <set>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/flags.h"
#include "bench/experiments/sessions.h"
#include "inference/limits.h"
#include "node/config/config.h"
#include "node/process/learner_options.h"
#include "node/process/limits.h"
#include "privacy/limits.h"

namespace ruvd::bench {
namespace {

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> what, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument, "{}",
               fmt::format(what, std::forward<Args>(args)...));
}

void AddTexts(CLI::App* app, FederateSettings* s) {
  app->add_option("--nodes", s->nodes, "one domain each")->check(CLI::Range(2, 16));
  app->add_option("--domains", s->domains,
                  "folder of NAME.train.jsonl.zst and NAME.valid.jsonl.zst, or FOLDER/NAME of each "
                  "domain, separated by commas")
      ->delimiter(',')
      ->required();
  app->add_option("--model", s->model, "GGUF file")->capture_default_str();
  app->add_option("--frame", s->frame,
                  "frame.gguf of the cores; default: the one that is shipped with the model");
  app->add_option("--eval", s->eval,
                  "general text, to see what adapters do to it; default: general.valid.jsonl.zst "
                  "beside the domains or in the folder around them");
  app->add_option("--json", s->json, "file of the results");
  app->add_option("--cache", s->cache,
                  "folder where trained adapters and scores are kept between runs");
}

void AddPrivacy(CLI::App* app, FederateSettings* s) {
  app->add_option("--tier", s->tier,
                  "how contributions leave the nodes: changes of the adapter by several steps; "
                  "gradients with noise in each node's sum (dp); or with one noise in the sum of "
                  "all, of which each node adds a share and a third may collude (masked; the masks "
                  "are left out, because they cancel)")
      ->check(CLI::IsMember({"public", "dp", "masked"}))
      ->capture_default_str();
  app->add_option("--epsilon", s->epsilon, "of a sequence, all rounds together")
      ->check(CLI::Range(1e-3, 1e4))
      ->capture_default_str();
  app->add_option("--delta", s->delta)->check(CLI::Range(1e-12, 0.1))->capture_default_str();
}

void AddFederation(CLI::App* app, FederateSettings* s) {
  app->add_option("--attack", s->attack,
                  "none, sign-flip, alie, min-max, gaussian, free-rider, ipm, ... (bench/robust)")
      ->capture_default_str();
  app->add_option("--attackers", s->attackers, "the last nodes")->capture_default_str();
  app->add_option("--participation", s->participation,
                  "the chance that an honest node contributes to a round; attackers always do")
      ->check(CLI::Range(0.01, 1.0))
      ->capture_default_str();
  app->add_option(
         "--quorum", s->quorum,
         "of the nodes of the last rounds: a round of fewer makes a shorter step; 0: every "
         "round makes a whole one; default: that of a node")
      ->check(CLI::Range(0.0, 1.0));
  app->add_option("--strategy", s->strategy)
      ->check(CLI::IsMember({"timestep", "schedule", "hybrid"}))
      ->capture_default_str();
  app->add_option(
         "--rule", s->rule,
         "default: that of a node; mean, median, trimmed_mean, multi_krum, geometric_median, "
         "nearest_neighbour_trimmed, filtered_mean, self_clip")
      ->capture_default_str();
  app->add_option("--outer", s->outer,
                  "optimiser of the global adapter; default: adam for gradients, else plain")
      ->check(CLI::IsMember({"plain", "momentum", "adam"}));
  app->add_option("--outer-step", s->outer_step, "default: that of a node, or 1")
      ->check(CLI::Range(1e-6, 1.0));
  app->add_option("--outer-momentum", s->outer_momentum,
                  "of what the rounds before moved; --outer momentum")
      ->check(CLI::Range(0.0, 0.99))
      ->capture_default_str();
}

void AddTraining(CLI::App* app, FederateSettings* s) {
  app->add_option("--rounds", s->rounds)->check(CLI::Range(1, 1000))->capture_default_str();
  app->add_option("--steps", s->steps,
                  "of a node in a round of tier public; what is trained without a federation has "
                  "as many in all; default: that of a node")
      ->check(CLI::Range(1, 1000));
  app->add_option("--batch", s->batch,
                  "sequences of a step; in private tiers the most that a sample is expected to "
                  "have; default: that of a node")
      ->check(CLI::Range(1, 4096));
  app->add_option("--rank", s->rank, "of the cores; default: that of a node")
      ->check(CLI::Range(1, 64));
  app->add_option("--boundaries", s->boundaries, "of banks of t; none: one bank")->delimiter(',');
  app->add_option("--learning-rate", s->learning_rate, "of steps without noise; 0: that of a node")
      ->check(CLI::Range(0.0, 100.0));
  app->add_option("--hold", s->hold,
                  "of general text, in local steps, or in the rounds of a private tier under adam; "
                  "default: that of a node")
      ->check(CLI::Range(0.0, 1e6));
  app->add_option("--overlay-rank", s->overlay_rank, "of the private LoRA on top")
      ->check(CLI::Range(1, 32))
      ->capture_default_str();
  app->add_option("--compare", s->compare,
                  "all; or federated: without local-only, centralised and private adapters")
      ->check(CLI::IsMember({"all", "federated"}))
      ->capture_default_str();
  app->add_option("--sequences", s->sequences, "of 128 tokens, that a node trains on")
      ->check(CLI::Range(size_t{8}, limits::kMaxTrainingExamples))
      ->capture_default_str();
  app->add_option("--pieces", s->pieces, "of a domain that are scored")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  app->add_option("--draws", s->draws, "maskings of a piece")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app->add_option("--threads", s->threads)->check(CLI::Range(1, 64))->capture_default_str();
  app->add_option("--seed", s->seed, "of batches, samples, noise and attacks")
      ->capture_default_str();
}

absl::Status CheckAttackers(const FederateSettings& settings) {
  ASSIGN_OR_RETURN(const UpdateAttack attack, AttackOf(settings.attack));
  if (attack == UpdateAttack::kNone) {
    return absl::OkStatus();
  }
  if (settings.attackers < 1 || 2 * settings.attackers >= settings.nodes) {
    return Invalid("--attackers {} of {} nodes; give at least 1 and fewer than half",
                   settings.attackers, settings.nodes);
  }
  return absl::OkStatus();
}

absl::Status CheckTier(const FederateSettings& settings) {
  if (settings.tier == "masked" &&
      (settings.nodes < limits::kMinCliqueMembers || settings.nodes > limits::kMaxCliqueMembers)) {
    return Invalid("a masked clique has {} to {} members; give --nodes so",
                   limits::kMinCliqueMembers, limits::kMaxCliqueMembers);
  }
  return absl::OkStatus();
}

federation::OuterOptions OuterOf(const FederateSettings& settings,
                                 const federation::OuterOptions& usual) {
  using Kind = federation::OuterOptions::Kind;
  federation::OuterOptions outer = usual;
  if (settings.outer == "adam" && usual.kind != Kind::kAdam) {
    outer = {
        .kind = Kind::kAdam, .step = limits::kGradientStep, .epsilon = limits::kGradientEpsilon};
  } else if (!settings.outer.empty() && settings.outer != "adam") {
    outer = {.kind = settings.outer == "momentum" ? Kind::kMomentum : Kind::kPlain,
             .momentum = settings.outer_momentum};
  }
  outer.step = settings.outer_step > 0 ? settings.outer_step : outer.step;
  return outer;
}

absl::Status CheckFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error)
             ? absl::OkStatus()
             : Error(absl::StatusCode::kNotFound, reasons::kFileNotFound, "there is no file {}",
                     path);
}

}  // namespace

FederateSettings SmokeSettings() {
  FederateSettings settings;
  settings.rounds = 2;
  settings.steps = 3;
  settings.sequences = 400;
  settings.pieces = 5;
  return settings;
}

void AddFederateFlags(CLI::App* app, FederateSettings* settings) {
  // This flag was read before the others were added, since it gives their defaults.
  app->add_flag("--smoke")->description("small defaults, to try everything within minutes");
  AddTexts(app, settings);
  AddPrivacy(app, settings);
  AddFederation(app, settings);
  AddTraining(app, settings);
}

absl::Status CheckSettings(const FederateSettings& settings) {
  RETURN_IF_ERROR(CheckAttackers(settings));
  if (settings.participation < 1 && settings.tier == "masked") {
    return Invalid(
        "--participation is for the tiers public and dp, because all nodes of a masked sum give "
        "their shares; leave it out");
  }
  return CheckTier(settings);
}

int RankOf(const FederateSettings& settings) {
  config::NodeConfig config;
  config.federation.contributions =
      KindOf(settings) == federation::ContributionKind::kDelta ? "delta" : "gradient";
  config.federation.rank = settings.rank;
  return node::RankOf(config);
}

absl::StatusOr<federation::LearnerPlan> PlanOf(const FederateSettings& settings,
                                               const inference::CoreShape& shape,
                                               federation::ContributionKind kind) {
  const bool open = kind == federation::ContributionKind::kDelta;
  config::NodeConfig config;
  config.federation.contributions = open ? "delta" : "gradient";
  config.federation.rank = RankOf(settings);
  config.federation.strategy = settings.strategy;
  ASSIGN_OR_RETURN(federation::LearnerPlan plan, node::LearnerPlanOf(config, shape));
  plan.rule = settings.rule;
  plan.quorum = settings.quorum.value_or(plan.quorum);
  plan.outer = OuterOf(settings, plan.outer);
  const auto given = [](auto value, auto* to) { *to = value > 0 ? value : *to; };
  given(static_cast<uint32_t>(settings.steps), &plan.local.steps);
  given(settings.learning_rate, &plan.local.learning_rate);
  if (!open && plan.outer.kind != federation::OuterOptions::Kind::kAdam) {
    plan.local.hold = 0;
  }
  plan.local.hold = settings.hold.value_or(plan.local.hold);
  if (settings.tier == "public") {
    given(static_cast<uint32_t>(settings.batch), &plan.local.batch);
  }
  RETURN_IF_ERROR(plan.Check());
  return plan;
}

absl::StatusOr<UpdateAttack> AttackOf(std::string_view name) {
  if (name == "sign-flip") {
    return UpdateAttack::kSignFlip3;
  }
  if (name == "ipm") {
    return UpdateAttack::kInnerProduct;
  }
  if (const auto attack = AttackByName(name)) {
    return *attack;
  }
  std::string names = "none, sign-flip, ipm";
  for (const UpdateAttack attack : AllAttacks()) {
    names += fmt::format(", {}", AttackName(attack));
  }
  return Invalid("--attack {} is none of {}", name, names);
}

privacy::ConsentTier TierOf(const FederateSettings& settings) {
  if (settings.tier == "public") {
    return privacy::ConsentTier::kPublic;
  }
  return settings.tier == "dp" ? privacy::ConsentTier::kDp : privacy::ConsentTier::kMasked;
}

federation::ContributionKind KindOf(const FederateSettings& settings) {
  return settings.tier == "public" ? federation::ContributionKind::kDelta
                                   : federation::ContributionKind::kGradient;
}

absl::StatusOr<std::vector<DomainFiles>> ResolveDomains(std::span<const std::string> given,
                                                        size_t nodes) {
  std::vector<std::string> beginnings(given.begin(), given.end());
  std::error_code error;
  if (given.size() == 1 && std::filesystem::is_directory(given[0], error)) {
    ASSIGN_OR_RETURN(beginnings, DomainsIn(given[0]));
    for (std::string& beginning : beginnings) {
      beginning = (std::filesystem::path(given[0]) / beginning).string();
    }
  }
  if (beginnings.size() < nodes) {
    return Invalid("{} domains for {} nodes; give more domains or fewer nodes", beginnings.size(),
                   nodes);
  }
  std::vector<DomainFiles> files;
  std::set<std::string> names;
  for (size_t node = 0; node < nodes; ++node) {
    const std::string& beginning = beginnings[node];
    files.push_back({.name = std::filesystem::path(beginning).filename().string(),
                     .train = beginning + ".train.jsonl.zst",
                     .valid = beginning + ".valid.jsonl.zst"});
    RETURN_IF_ERROR(CheckFile(files.back().train));
    RETURN_IF_ERROR(CheckFile(files.back().valid));
    if (!names.insert(files.back().name).second) {
      return Invalid("the domain {} is given twice; every node has its own", files.back().name);
    }
  }
  return files;
}

absl::StatusOr<std::string> GeneralText(const std::string& named, const DomainFiles& domain) {
  CommonArguments found;
  found.corpus = std::filesystem::path(domain.train).parent_path().string();
  found.eval = named;
  RETURN_IF_ERROR(FindTexts({.eval = "general text", .needs_eval = true}, &found));
  return found.eval;
}

}  // namespace ruvd::bench
