// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Whether adapters that are aligned with the masked share t beat static ones: `learn_talora
// --help`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/adapter_arms.h"
#include "bench/experiments/crops.h"
#include "bench/experiments/flags.h"
#include "bench/experiments/paired.h"
#include "bench/experiments/sessions.h"
#include "inference/backend/backend.h"

namespace ruvd::bench {
namespace {

constexpr char kDescription[] =
    "Adapters of equal training, one after the other: static ones, banks of the masked share t,\n"
    "banks that are drawn at random, a trunk with residuals. Each is trained on a domain's train\n"
    "file and scored on its valid file and on --eval as it would be served, on common masks "
    "(exact\n"
    "NELBO, nats/token; below zero is better). Intervals: 95 % bootstrap over documents of the "
    "mean\n"
    "over seeds; 'seeds' is the range of the means of single seeds. Timestep banks are accepted\n"
    "where the interval against the static adapter of their own stored size is below zero; it is\n"
    "trained with every arm with banks, whatever --arms names.";

struct Arguments : CommonArguments {
  std::vector<std::string> domains;
  std::vector<std::string> arms;
  std::string family = "core";
  int rank = 16;
  double learning_rate = 0;
  ArmSteps steps;
  CropShape shape;
  int draws = 4;
  size_t pieces = 128;
  size_t general_pieces = 64;
};

// Returns the learning rate that suits a family and rank, as it was measured on the 5M model.
double DefaultRate(bool core, int rank) {
  if (!core) {
    return 1.25e-3;
  }
  return rank <= 14 ? 3e-3 : rank <= 28 ? 2e-3 : 1.5e-3;
}

// Returns the rank of a static adapter that stores as many numbers as an arm, trunk and residuals:
// cores have a number for each pair of ranks, LoRAs as many for each rank.
int StoredRank(const AdapterArm& arm) {
  std::vector<int> ranks = arm.plan.residual_ranks;
  ranks.push_back(arm.plan.trunk_rank);
  double numbers = 0;
  for (const int rank : ranks) {
    numbers += arm.core ? static_cast<double>(rank) * rank : rank;
  }
  return static_cast<int>(std::lround(arm.core ? std::sqrt(numbers) : numbers));
}

bool IsStatic(const AdapterArm& arm) {
  return arm.plan.residual_ranks.empty();
}

// Returns the static adapter among these that has an arm's stored size; null if there is no such
// adapter.
const AdapterArm* StoredBaseline(const std::vector<AdapterArm>& arms, const AdapterArm& arm) {
  const auto found = std::ranges::find_if(arms, [&](const AdapterArm& other) {
    return IsStatic(other) && other.core == arm.core && other.plan.trunk_rank == StoredRank(arm);
  });
  return found == arms.end() ? nullptr : &*found;
}

std::vector<AdapterArm> AllArms(const Arguments& arguments) {
  const bool core = arguments.family == "core";
  const int r = arguments.rank;
  const auto rate = [&](bool of_core, int rank) {
    return arguments.learning_rate > 0 ? arguments.learning_rate : DefaultRate(of_core, rank);
  };
  const auto banks = [&](const std::string& name, int trunk, std::vector<int> residuals,
                         const inference::TaloraTraining& training) {
    return AdapterArm{
        .name = name,
        .core = core,
        .plan = {.trunk_rank = trunk, .residual_ranks = std::move(residuals), .training = training},
        .schedule = {},
        .learning_rate = rate(core, r)};
  };
  const inference::TaloraTraining full{.residual_rate = 1.0F};
  std::vector<AdapterArm> arms = {
      banks("static-r", r, {}, {}),
      banks("banks", 0, {r, r, r}, full),
      banks("banks-shuffled", 0, {r, r, r}, full),
      banks("trunk-slow", r, {r, r, r}, {}),
      banks("trunk-full-rate", r, {r, r, r}, full),
      banks("trunk-decay", r, {r, r, r}, {.residual_rate = 1.0F, .residual_decay = 0.02F}),
      banks("trunk-high-only", r, {0, 0, r}, {}),
      banks("trunk-rank-by-bank", r, {r / 4, r / 2, r}, {}),
      banks("trunk-linear", r, {r, r, r}, {}),
      banks("trunk-shuffled", r, {r, r, r}, {}),
  };
  arms[2].shuffled = true;
  arms[8].schedule.strategy = inference::BankStrategy::kLinear;
  arms[9].shuffled = true;
  for (const auto& [name, of_core, rank] :
       {std::tuple{"lora8", false, 8}, std::tuple{"core8", true, 8},
        std::tuple{"core32", true, 32}}) {
    arms.push_back({.name = name,
                    .core = of_core,
                    .plan = {.trunk_rank = rank, .residual_ranks = {}, .training = {}},
                    .schedule = {},
                    .learning_rate = DefaultRate(of_core, rank)});
  }
  return arms;
}

// Adds the static adapters of equal stored size that arms with banks are judged by.
std::vector<AdapterArm> WithBaselines(const Arguments& arguments, std::vector<AdapterArm> arms) {
  const std::vector<AdapterArm> chosen = arms;
  for (const AdapterArm& arm : chosen) {
    if (IsStatic(arm) || StoredBaseline(arms, arm) != nullptr) {
      continue;
    }
    const int rank = StoredRank(arm);
    arms.push_back({.name = fmt::format("static-{}", rank),
                    .core = arm.core,
                    .plan = {.trunk_rank = rank, .residual_ranks = {}, .training = {}},
                    .schedule = {},
                    .learning_rate = arguments.learning_rate > 0 ? arguments.learning_rate
                                                                 : DefaultRate(arm.core, rank)});
  }
  return arms;
}

// What an arm did on one text: by piece, the mean over seeds, and the seeds apart.
struct Scores {
  std::vector<double> nats;
  std::vector<std::vector<double>> by_seed;
  std::array<double, 10> by_t{};

  void Add(const inference::NelboTable& table, int seeds) {
    nats.resize(table.nats.size());
    for (size_t i = 0; i < nats.size(); ++i) {
      nats[i] += table.nats[i] / seeds;
    }
    for (size_t bin = 0; bin < by_t.size(); ++bin) {
      by_t[bin] += table.nats_by_t[bin] / seeds;
    }
    by_seed.push_back(table.nats);
  }
};

struct ArmScores {
  std::string name;
  std::string own_size;  // of an arm with banks: the static arm that stores as much
  size_t parameters = 0;
  double seconds = 0;
  Scores domain;
  Scores general;
};

// The texts of one domain.
struct DomainText {
  std::vector<inference::TrainingExample> train;
  Crops valid;
};

struct Bench {
  ArmParts parts;
  std::unique_ptr<inference::Transformer> transformer;
  std::optional<Crops> general;
  inference::NelboOptions nelbo;
};

std::vector<double> Minus(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> differences(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    differences[i] = a[i] - b[i];
  }
  return differences;
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return sum / static_cast<double>(std::max<size_t>(1, values.size()));
}

absl::StatusOr<ArmScores> RunArm(const Bench& bench, const Arguments& arguments,
                                 const AdapterArm& arm, const DomainText& text) {
  ArmScores scores{.name = arm.name};
  for (int seed = 0; seed < arguments.seeds; ++seed) {
    ASSIGN_OR_RETURN(
        const TrainedAdapter trained,
        TrainArm(bench.parts, arm, text.train, arguments.steps, static_cast<uint64_t>(seed) + 1));
    scores.parameters = trained.parameters;
    scores.seconds += trained.seconds / arguments.seeds;
    ASSIGN_OR_RETURN(const inference::NelboTable own,
                     EvaluateAdapter(*bench.transformer, text.valid.pieces, trained, bench.nelbo));
    scores.domain.Add(own, arguments.seeds);
    if (bench.general) {
      ASSIGN_OR_RETURN(
          const inference::NelboTable general,
          EvaluateAdapter(*bench.transformer, bench.general->pieces, trained, bench.nelbo));
      scores.general.Add(general, arguments.seeds);
    }
    if (arm.name == "lora8" && seed == 0) {
      ASSIGN_OR_RETURN(const std::vector<double> cosines,
                       GradientCosines(bench.parts, arm, trained, text.train, 77));
      fmt::print(
          "gradient cosines of banks at {}: low-middle {:.2f}, low-high {:.2f}, "
          "middle-high {:.2f}\n",
          arm.name, cosines[0], cosines[1], cosines[2]);
    }
  }
  return scores;
}

absl::StatusOr<ArmScores> Untrained(const Bench& bench, const DomainText& text) {
  ArmScores scores{.name = "untrained"};
  ASSIGN_OR_RETURN(
      const inference::NelboTable own,
      inference::EvaluateNelbo(*bench.transformer, text.valid.pieces, {}, bench.nelbo));
  scores.domain.Add(own, 1);
  if (bench.general) {
    ASSIGN_OR_RETURN(
        const inference::NelboTable general,
        inference::EvaluateNelbo(*bench.transformer, bench.general->pieces, {}, bench.nelbo));
    scores.general.Add(general, 1);
  }
  return scores;
}

// An arm against another one, with the spread of single seeds.
nlohmann::json Against(const Scores& arm, const Scores& other,
                       const std::vector<size_t>& documents) {
  nlohmann::json json = ToJson(BootstrapDocuments(Minus(arm.nats, other.nats), documents));
  for (size_t seed = 0; seed < arm.by_seed.size(); ++seed) {
    const auto& same = other.by_seed[std::min(seed, other.by_seed.size() - 1)];
    json["seeds"].push_back(Mean(Minus(arm.by_seed[seed], same)));
  }
  return json;
}

std::string SanitizeForDisplay(const nlohmann::json& interval) {
  const std::vector<double> seeds = interval["seeds"];
  const auto [least, most] = std::ranges::minmax(seeds);
  const Interval shown = IntervalIn(interval);
  return fmt::format("{:+.4f} [{:+.4f}, {:+.4f}] seeds {:+.4f}..{:+.4f}", shown.mean, shown.low,
                     shown.high, least, most);
}

const ArmScores* Find(const std::vector<ArmScores>& arms, std::string_view name) {
  const auto found = std::ranges::find(arms, name, &ArmScores::name);
  return found == arms.end() ? nullptr : &*found;
}

nlohmann::json ReportDomain(const std::string& domain, const std::vector<ArmScores>& arms,
                            const Bench& bench, const DomainText& text) {
  const ArmScores& frozen = arms.front();
  nlohmann::json report = {{"untrained", Mean(frozen.domain.nats)},
                           {"pieces", text.valid.pieces.size()}};
  fmt::print("\n{}: {} pieces, untrained {:.4f} nats/token", domain, text.valid.pieces.size(),
             Mean(frozen.domain.nats));
  if (bench.general) {
    report["general_untrained"] = Mean(frozen.general.nats);
    fmt::print("; general text {:.4f}", Mean(frozen.general.nats));
  }
  fmt::print("\n");
  for (const ArmScores& arm : arms) {
    nlohmann::json& own = report["arms"][arm.name];
    own["nats_by_t"] = arm.domain.by_t;
    if (&arm == &frozen) {
      continue;
    }
    own["parameters"] = arm.parameters;
    own["train_seconds"] = arm.seconds;
    own["gain"] = Against(arm.domain, frozen.domain, text.valid.documents);
    fmt::print("{} ({} parameters, {:.0f} s)\n  gain {}\n", arm.name, arm.parameters, arm.seconds,
               SanitizeForDisplay(own["gain"]));
    if (bench.general) {
      own["general"] = Against(arm.general, frozen.general, bench.general->documents);
      fmt::print("  general text {}\n", SanitizeForDisplay(own["general"]));
    }
    const auto compare = [&](const std::string& key, const std::string& name) {
      const ArmScores* other = Find(arms, name);
      if (other != nullptr && other != &arm) {
        own["against " + key] = Against(arm.domain, other->domain, text.valid.documents);
        fmt::print("  against {} {}\n", name, SanitizeForDisplay(own["against " + key]));
      }
    };
    for (const char* name : {"static-r", "banks-shuffled", "trunk-shuffled", "lora8"}) {
      compare(name, name);
    }
    if (!arm.own_size.empty()) {
      own["own_size"] = arm.own_size;
      compare("own size", arm.own_size);
    }
  }
  fmt::print("cross-entropy by t\n");
  for (const ArmScores& arm : arms) {
    fmt::print("  {:<20}", arm.name);
    for (const double nats : arm.domain.by_t) {
      fmt::print(" {:.3f}", nats);
    }
    fmt::print("\n");
  }
  return report;
}

// The arms with banks whose interval against another one is below zero.
std::string Verdict(const nlohmann::json& report) {
  const auto passed = [&](const std::string& prefix, const std::string& other) {
    std::string names;
    for (const auto& [name, arm] : report["arms"].items()) {
      const std::string key = "against " + other;
      if (name.starts_with(prefix) && !name.ends_with("-shuffled") && arm.contains(key) &&
          IntervalIn(arm[key]).high < 0) {
        names += (names.empty() ? "" : ", ") + name;
        names +=
            other == "own size" ? fmt::format(" ({})", arm["own_size"].get<std::string>()) : "";
      }
    }
    return names.empty() ? std::string("none") : names;
  };
  const auto either = [&](const std::string& other) {
    return fmt::format("banks: {}, trunk with residuals: {}", passed("banks", other),
                       passed("trunk", other));
  };
  return fmt::format(
      "better than the static one of their own stored size: {}; than static of equal rank: {}; "
      "aligned better than shuffled: banks: {}, trunk: {}",
      either("own size"), either("static-r"), passed("banks", "banks-shuffled"),
      passed("trunk-slow", "trunk-shuffled"));
}

absl::StatusOr<Bench> MakeBench(const Arguments& arguments, const std::vector<AdapterArm>& arms,
                                ParallelRunner& runner,
                                const std::shared_ptr<const inference::Model>& model,
                                std::unique_ptr<inference::train::ModelWeights>* weights,
                                inference::FrameSet* frame) {
  Bench bench;
  ASSIGN_OR_RETURN(*weights, inference::train::ModelWeights::Create(model, nullptr, runner));
  ASSIGN_OR_RETURN(bench.transformer,
                   inference::DefaultBackend().Load(
                       model, {.precision = inference::Precision::kExact, .runner = runner}));
  bench.parts = {.model = model, .weights = weights->get(), .runner = &runner};
  bench.nelbo = {.draws = arguments.draws, .seed = 99};
  if (!arguments.eval.empty()) {
    ASSIGN_OR_RETURN(bench.general, ReadCrops(arguments.eval, model->tokenizer(), arguments.shape,
                                              arguments.general_pieces));
  }
  if (!arguments.base.empty()) {
    constexpr size_t kFramePieces = 384;
    constexpr int kFrameRank = 32;
    ASSIGN_OR_RETURN(const Crops text,
                     ReadCrops(arguments.base, model->tokenizer(), {}, kFramePieces));
    int widest = kFrameRank;
    for (const AdapterArm& arm : arms) {
      widest = std::max(widest, arm.core ? arm.plan.trunk_rank : 0);
    }
    ASSIGN_OR_RETURN(*frame, FrameOf(model, text.Examples(), widest, runner));
    bench.parts.frame = frame;
  }
  return bench;
}

absl::StatusOr<std::vector<AdapterArm>> ChosenArms(const Arguments& arguments) {
  std::vector<AdapterArm> arms = AllArms(arguments);
  std::string names;
  for (const AdapterArm& arm : arms) {
    names += (names.empty() ? "" : ", ") + arm.name;
  }
  for (const std::string& name : arguments.arms) {
    if (std::ranges::count(arms, name, &AdapterArm::name) == 0) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "--arms {}: no such arm; there are: {}", name, names);
    }
  }
  std::erase_if(arms, [&](const AdapterArm& arm) {
    return !arguments.arms.empty() && std::ranges::count(arguments.arms, arm.name) == 0;
  });
  if (std::ranges::any_of(arms, &AdapterArm::core) && arguments.base.empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "cores need --base, public text for their frame");
  }
  return WithBaselines(arguments, std::move(arms));
}

absl::Status Run(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto results_file, ResultsFile::Create(arguments.out));
  ASSIGN_OR_RETURN(const std::vector<AdapterArm> arms, ChosenArms(arguments));
  ASSIGN_OR_RETURN(const std::shared_ptr<const inference::Model> model,
                   inference::Model::Load(arguments.model));
  std::vector<std::string> domains = arguments.domains;
  if (domains.empty()) {
    ASSIGN_OR_RETURN(domains, DomainsIn(arguments.corpus));
  }
  ThreadParallelRunner runner(arguments.threads);
  std::unique_ptr<inference::train::ModelWeights> weights;
  inference::FrameSet frame;
  ASSIGN_OR_RETURN(const Bench bench, MakeBench(arguments, arms, runner, model, &weights, &frame));
  nlohmann::json out = {{"experiment", "learn_talora"},
                        {"model", std::filesystem::path(arguments.model).filename().string()},
                        {"family", arguments.family},
                        {"rank", arguments.rank},
                        {"steps", arguments.steps.steps},
                        {"batch", arguments.steps.batch},
                        {"tokens", arguments.shape.tokens},
                        {"window", arguments.shape.window},
                        {"draws", arguments.draws},
                        {"seeds", arguments.seeds}};
  for (const std::string& domain : domains) {
    const std::string path = fmt::format("{}/{}", arguments.corpus, domain);
    DomainText text;
    ASSIGN_OR_RETURN(const Crops train, ReadCrops(path + ".train.jsonl.zst", model->tokenizer(),
                                                  arguments.shape, limits::kMaxTrainingExamples));
    text.train = train.Examples();
    ASSIGN_OR_RETURN(text.valid, ReadCrops(path + ".valid.jsonl.zst", model->tokenizer(),
                                           arguments.shape, arguments.pieces));
    std::vector<ArmScores> scores(1);
    ASSIGN_OR_RETURN(scores[0], Untrained(bench, text));
    for (const AdapterArm& arm : arms) {
      ASSIGN_OR_RETURN(ArmScores own, RunArm(bench, arguments, arm, text));
      if (const AdapterArm* baseline = StoredBaseline(arms, arm);
          !IsStatic(arm) && baseline != nullptr) {
        own.own_size = baseline->name;
      }
      fmt::print(stderr, "{} {}: {:+.4f}\n", domain, arm.name,
                 Mean(Minus(own.domain.nats, scores[0].domain.nats)));
      scores.push_back(std::move(own));
    }
    out["domains"][domain] = ReportDomain(domain, scores, bench, text);
    out["verdict"][domain] = Verdict(out["domains"][domain]);
    fmt::print("verdict, {}: {}\n", domain, out["verdict"][domain].get<std::string>());
  }
  return results_file->Write(out);
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  ruvd::bench::Arguments arguments;
  CLI::App app(ruvd::bench::kDescription);
  const ruvd::bench::CommonFlags flags = {.eval = "general text: what adapters do to it",
                                          .base = "public text that the frame of cores is made of",
                                          .seeds = "trainings of each arm"};
  ruvd::bench::AddCommonFlags(flags, &app, &arguments);
  app.add_option("--domains", arguments.domains, "all by default")->delimiter(',');
  app.add_option("--arms", arguments.arms, "all by default")->delimiter(',');
  app.add_option("--family", arguments.family, "of the arms with banks and their static ones")
      ->check(CLI::IsMember({"core", "lora"}));
  app.add_option("--rank", arguments.rank, "r")->check(CLI::Range(1, 64));
  app.add_option("--learning-rate", arguments.learning_rate, "0: what suits the rank");
  app.add_option("--steps", arguments.steps.steps)->check(CLI::Range(1, 10000));
  app.add_option("--batch", arguments.steps.batch)->check(CLI::Range(1, 256));
  app.add_option("--tokens", arguments.shape.tokens, "of a piece")->check(CLI::Range(8, 512));
  app.add_option("--window", arguments.shape.window, "tokens of a piece that are masked")
      ->check(CLI::Range(1, 512));
  app.add_option("--draws", arguments.draws, "maskings of a piece")->check(CLI::Range(1, 1000));
  app.add_option("--pieces", arguments.pieces, "of a valid file");
  app.add_option("--general-pieces", arguments.general_pieces, "of --eval");
  return ruvd::bench::RunExperiment(app, argc, argv, [&] {
    arguments.shape.window = std::min(arguments.shape.window, arguments.shape.tokens);
    const bool cores = arguments.family == "core" || arguments.arms.empty();
    const absl::Status found = cores ? ruvd::bench::FindTexts(flags, &arguments) : absl::OkStatus();
    return found.ok() ? ruvd::bench::Run(arguments) : found;
  });
}
