// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_settings.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/sessions.h"
#include "federation/daf/robust_rules.h"
#include "inference/limits.h"
#include "privacy/limits.h"

namespace ruvd::bench {
namespace {

constexpr std::array<std::pair<std::string_view, federation::Strategy>, 4> kStrategies = {
    {{"timestep", federation::Strategy::kTimestepAligned},
     {"quality", federation::Strategy::kQualityWeighted},
     {"schedule", federation::Strategy::kScheduleSimilarity},
     {"hybrid", federation::Strategy::kHybrid}}};

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
  app->add_option(
      "--frame", s->frame,
      "frame.gguf of the cores; made where there is none. Default: of --cache, or not kept");
  app->add_option("--make-frame", s->make_frame,
                  "public text that a frame is made of; default: base-00.jsonl.zst beside the "
                  "domains or in the folder around them");
  app->add_option("--eval", s->eval,
                  "general text: what adapters do to it, and half of the gate; default: "
                  "general.valid.jsonl.zst in the same places");
  app->add_option("--json", s->json, "file of the results");
  app->add_option("--cache", s->cache,
                  "folder where trained adapters and scores are kept between runs");
}

void AddPrivacy(CLI::App* app, FederateSettings* s) {
  app->add_option("--tier", s->tier, "how updates leave the nodes")
      ->check(CLI::IsMember({"public", "dp", "masked"}))
      ->capture_default_str();
  app->add_option("--unit", s->unit, "tier dp: whose presence the noise hides")
      ->check(CLI::IsMember({"example", "node"}))
      ->capture_default_str();
  app->add_option("--epsilon", s->epsilon, "of the whole run")
      ->check(CLI::Range(1e-3, 1e4))
      ->capture_default_str();
  app->add_option("--delta", s->delta)->check(CLI::Range(1e-12, 0.1))->capture_default_str();
  app->add_option("--clip", s->clip, "clip norm; 0: 2 for gradients of examples, 0.4 for updates")
      ->check(CLI::Range(0.0, 1e3));
  app->add_option("--signal", s->signal,
                  "norm of the mean clipped contribution over the clip norm, for the predicted "
                  "SNR; 0: 0.09 for examples, 0.5 for updates, as measured in the pilot")
      ->check(CLI::Range(0.0, 1.0));
  app->add_option("--colluders", s->colluders, "tier masked: members whose noise does not count")
      ->check(CLI::Range(0, 15))
      ->capture_default_str();
  app->add_option("--noise-seed", s->noise_seed, "0: noise from the operating system");
}

void AddFederation(CLI::App* app, FederateSettings* s) {
  app->add_option("--attack", s->attack,
                  "none, sign-flip, alie, min-max, gaussian, free-rider, ipm, ... (bench/robust)")
      ->capture_default_str();
  app->add_option("--attackers", s->attackers, "the last nodes")->capture_default_str();
  app->add_option("--strategy", s->strategy)
      ->check(CLI::IsMember({"timestep", "quality", "schedule", "hybrid"}))
      ->capture_default_str();
  app->add_option("--rule", s->rule,
                  "default: nearest neighbours and trimmed mean from five updates on, else "
                  "self-centred clipping")
      ->check(CLI::IsMember(
          {"default", "mean", "median", "trimmed", "krum", "geometric", "nnm", "self-clip"}))
      ->capture_default_str();
  app->add_option("--outer", s->outer,
                  "optimiser of the global adapter; default: adam for noised gradients, else plain")
      ->check(CLI::IsMember({"plain", "momentum", "adam"}));
  app->add_option("--outer-step", s->outer_step, "default: 2.5e-3 for adam, else 1")
      ->check(CLI::Range(1e-6, 1.0));
  app->add_option("--outer-momentum", s->outer_momentum,
                  "of what the rounds before moved; --outer momentum")
      ->check(CLI::Range(0.0, 0.99))
      ->capture_default_str();
  app->add_option("--gate", s->gate,
                  "on a node's held-out text: every round, once after the last one, or not at all")
      ->check(CLI::IsMember({"each", "last", "off"}))
      ->capture_default_str();
  app->add_option("--gate-errors", s->gate_errors, "standard errors that a gain must be above")
      ->check(CLI::Range(0.0, 10.0))
      ->capture_default_str();
}

void AddTraining(CLI::App* app, FederateSettings* s) {
  app->add_option("--rounds", s->budget.rounds, "default: the baseline's; noised gradients: 8")
      ->check(CLI::Range(1, 200));
  app->add_option("--steps", s->budget.steps,
                  "of a node in a round; default: the baseline's; noised gradients: 1")
      ->check(CLI::Range(1, 1000));
  app->add_option("--batch", s->budget.batch,
                  "sequences of a step; default: the baseline's; noised gradients: 128 expected")
      ->check(CLI::Range(1, 4096));
  app->add_option("--baseline-rounds", s->baseline.rounds,
                  "of local-only and centralised training and of the noise-free reference of dp")
      ->check(CLI::Range(1, 200))
      ->capture_default_str();
  app->add_option("--baseline-steps", s->baseline.steps)
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app->add_option("--baseline-batch", s->baseline.batch)
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app->add_option("--rank", s->rank, "of the cores")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app->add_option("--boundaries", s->boundaries, "of banks of t; none: one bank")->delimiter(',');
  app->add_option("--learning-rate", s->learning_rate, "0: what suits the rank")
      ->check(CLI::Range(0.0, 100.0));
  app->add_option("--keep-state", s->keep_state, "local optimisers go on from round to round")
      ->capture_default_str();
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
  app->add_option("--held-out", s->held_out, "pieces of a node's gate")
      ->check(CLI::Range(5, 10'000))
      ->capture_default_str();
  app->add_option("--draws", s->draws, "maskings of a piece")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app->add_option("--threads", s->threads)->check(CLI::Range(1, 64))->capture_default_str();
  app->add_option("--seed", s->seed)->capture_default_str();
}

absl::Status CheckBoundaries(const std::vector<float>& boundaries) {
  float last = 0;
  for (const float boundary : boundaries) {
    if (!(boundary > last) || !(boundary < 1)) {
      return Invalid("--boundaries must ascend within 0 to 1, as 0.3,0.6");
    }
    last = boundary;
  }
  return absl::OkStatus();
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
  if (settings.tier == "masked") {
    if (settings.nodes < limits::kMinCliqueMembers || settings.nodes > limits::kMaxCliqueMembers) {
      return Invalid("a masked clique has {} to {} members; give --nodes so",
                     limits::kMinCliqueMembers, limits::kMaxCliqueMembers);
    }
    if (settings.colluders + 1 >= settings.nodes) {
      return Invalid("--colluders {} of {} nodes leave nobody's noise; give fewer",
                     settings.colluders, settings.nodes);
    }
  }
  if (settings.tier == "dp" && settings.unit == "example" &&
      static_cast<size_t>(settings.budget.batch) > settings.sequences) {
    return Invalid("--batch {} of {} sequences; give a smaller one", settings.budget.batch,
                   settings.sequences);
  }
  return absl::OkStatus();
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
  settings.baseline = {.rounds = 2, .steps = 3, .batch = 4};
  settings.sequences = 400;
  settings.pieces = 5;
  settings.held_out = 5;
  settings.draws = 2;
  return settings;
}

void FillDefaults(FederateSettings* settings) {
  const bool examples = settings->tier == "dp" && settings->unit == "example";
  const auto fill = [](int& value, int suits) { value = value > 0 ? value : suits; };
  constexpr int kExampleRounds = 8;
  constexpr int kExampleBatch = 128;
  TrainingBudget& budget = settings->budget;
  fill(budget.rounds, examples ? kExampleRounds : settings->baseline.rounds);
  fill(budget.steps, examples ? 1 : settings->baseline.steps);
  fill(budget.batch, examples ? kExampleBatch : settings->baseline.batch);
  const auto fill_real = [](double& value, double suits) { value = value > 0 ? value : suits; };
  fill_real(settings->clip, examples ? 2.0 : 0.4);
  fill_real(settings->signal, examples ? 0.09 : 0.5);
  if (settings->outer.empty()) {
    settings->outer = examples ? "adam" : "plain";
  }
  fill_real(settings->outer_step, settings->outer == "adam" ? 2.5e-3 : 1.0);
}

void AddFederateFlags(CLI::App* app, FederateSettings* settings) {
  // This flag was read before the others were added, since it gives their defaults.
  app->add_flag("--smoke")->description("small defaults, to try everything in about two minutes");
  AddTexts(app, settings);
  AddPrivacy(app, settings);
  AddFederation(app, settings);
  AddTraining(app, settings);
}

absl::Status CheckSettings(const FederateSettings& settings) {
  RETURN_IF_ERROR(CheckBoundaries(settings.boundaries));
  RETURN_IF_ERROR(CheckAttackers(settings));
  return CheckTier(settings);
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

federation::Strategy StrategyOf(std::string_view name) {
  const auto* const found =
      std::ranges::find(kStrategies, name, &decltype(kStrategies)::value_type::first);
  return found == kStrategies.end() ? federation::Strategy::kTimestepAligned : found->second;
}

const federation::AggregationRule* RuleOf(std::string_view name) {
  static const federation::MeanRule kMean;
  static const federation::MedianRule kMedian;
  static const federation::TrimmedMean kTrimmed;
  static const federation::MultiKrumRule kKrum;
  static const federation::GeometricMedianRule kGeometric;
  static const federation::NearestNeighbourRule kNearest;
  static const federation::SelfClipRule kSelfClip;
  const std::array<std::pair<std::string_view, const federation::AggregationRule*>, 7> rules = {
      {{"mean", &kMean},
       {"median", &kMedian},
       {"trimmed", &kTrimmed},
       {"krum", &kKrum},
       {"geometric", &kGeometric},
       {"nnm", &kNearest},
       {"self-clip", &kSelfClip}}};
  const auto* const found = std::ranges::find(rules, name, &decltype(rules)::value_type::first);
  return found == rules.end() ? nullptr : found->second;
}

federation::OuterOptions OuterOf(const FederateSettings& settings) {
  // Deltas of gradients are small: a larger epsilon would dominate the root.
  federation::OuterOptions options{
      .step = settings.outer_step, .momentum = settings.outer_momentum, .epsilon = 1e-4};
  if (settings.outer == "momentum") {
    options.kind = federation::OuterOptions::Kind::kMomentum;
  } else if (settings.outer == "adam") {
    options.kind = federation::OuterOptions::Kind::kAdam;
  }
  return options;
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

}  // namespace ruvd::bench
