// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Measures whether asking for other adapters while a text is denoised is worth it: `learn_dgr
// --help`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "base/status.h"
#include "bench/experiments/adapter_arms.h"
#include "bench/experiments/crops.h"
#include "bench/experiments/flags.h"
#include "bench/experiments/paired.h"
#include "bench/experiments/revealed_text.h"
#include "bench/experiments/serving_gate.h"
#include "bench/experiments/sessions.h"
#include "inference/backend/backend.h"
#include "inference/retrieval/denoising_guided.h"

namespace ruvd::bench {
namespace {

constexpr char kDescription[] =
    "Every domain has an adapter (a LoRA of rank 8) and patterns. A completion of 64 tokens is\n"
    "denoised with its true tokens in an order common to all arms; its prompt is the text before "
    "it\n"
    "in half of the cases and unrelated general text in the others. Arms: no adapter; the adapter\n"
    "found by the prompt; the same, and asked again while denoising when the model is uncertain\n"
    "(DGR, one arm a strategy), as often at random steps as far apart, or at every step; what is "
    "found\n"
    "acts from the next step on, as in a node; the domain's own adapter (oracle). Nats/token of "
    "the completion, 95 % bootstrap intervals over documents. DGR is "
    "worth\n"
    "it where it beats random steps at as many queries.";

constexpr CropShape kShape{.tokens = 96, .window = 64};
constexpr size_t kRevealed = 4;  // tokens a step
constexpr size_t kPatternPieces = 256;
constexpr size_t kWhiteningPieces = 512;
constexpr int kRank = 8;
constexpr double kRate = 1.25e-3;

struct Arguments : CommonArguments {
  std::vector<std::string> domains;
  ArmSteps steps;
  size_t pieces = 24;
};

struct Piece {
  inference::ScoredDocument text;
  size_t domain = 0;
  size_t document = 0;  // of all domains
  bool informed = true;
  std::vector<size_t> order;
};

struct Bench {
  std::shared_ptr<const inference::Model> model;
  inference::Transformer* transformer = nullptr;
  std::optional<ServingGate> gate;
  std::vector<inference::AdapterMix> adapters;  // by domain
};

// When an arm asks again after the prompt.
enum class Asks : uint8_t { kNever, kGuided, kRandom, kAlways };

struct DgrArm {
  std::string name;
  Asks asks = Asks::kNever;
  inference::DgrOptions options;  // of kGuided and kRandom
  bool adapters = true;           // false: the model alone
  bool oracle = false;
};

// How a piece was denoised in an arm.
struct Course {
  double nats = 0;                // per token
  int queries = 0;                // beside the prompt's
  double right = 0;               // share of the steps with the domain's own adapter
  std::vector<double> open_nats;  // by step
  std::vector<float> usual, entropy, margin, t;
};

struct Clock {
  double seconds = 0;
  int64_t queries = 0;
};

// Returns the pattern that a query in the middle finds; nullopt keeps what is in use.
std::optional<ServingGate::Choice> Ask(const Bench& bench, const std::vector<float>& prompt,
                                       const RevealedText::Reading& reading, float share,
                                       const std::optional<ServingGate::Choice>& in_use,
                                       Clock* clock) {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<float> query =
      AugmentedQuery(prompt, reading.hidden, reading.positions, &bench.gate->whitening(), share);
  const auto found = bench.gate->Reselect(query, inference::KindOf(reading.step), in_use);
  clock->seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ++clock->queries;
  return found;
}

// `as_often` is the number of queries of kRandom. `statistics` continue over all pieces of an arm.
absl::StatusOr<Course> Denoise(const Bench& bench, const DgrArm& arm, const Piece& piece,
                               int as_often, inference::TimestepStatistics* statistics,
                               Random& random, Clock* clock) {
  ASSIGN_OR_RETURN(const std::vector<float> prompt, bench.gate->Embed(piece.text.prompt));
  std::optional<ServingGate::Choice> in_use = bench.gate->Choose(prompt);
  const size_t steps = (piece.order.size() + kRevealed - 1) / kRevealed;
  const std::vector<bool> at_random = RandomSteps(steps, as_often, arm.options, random);
  RevealedText text(*bench.transformer, piece.text, piece.order, kRevealed);
  Course course;
  inference::DgrHistory history;
  for (size_t step = 0; !text.done(); ++step) {
    std::optional<size_t> adapter = in_use ? std::optional(in_use->adapter) : std::nullopt;
    adapter = arm.oracle ? piece.domain : adapter;
    const inference::AdapterMix* mix =
        arm.adapters && adapter ? &bench.adapters[*adapter] : nullptr;
    ASSIGN_OR_RETURN(const RevealedText::Reading reading, text.Read(mix));
    const float usual = statistics->ZScore(text.t(), reading.step.entropy);
    statistics->Add(text.t(), reading.step.entropy);
    const bool asks =
        (arm.asks == Asks::kGuided &&
         DecideRetrieval(arm.options, history, reading.step, static_cast<int>(step), usual)
             .query) ||
        (arm.asks == Asks::kRandom && at_random[step]) ||
        (arm.asks == Asks::kAlways && text.t() >= arm.options.min_t);
    if (asks) {
      history = {.retrievals = history.retrievals + 1, .last_step = static_cast<int>(step)};
      // As in a node, the adapter acts from the next step on.
      const auto found = Ask(bench, prompt, reading, arm.options.uncertain_share, in_use, clock);
      in_use = found ? found : in_use;
    }
    course.nats += reading.next_nats / static_cast<double>(piece.order.size());
    course.right +=
        (arm.adapters && adapter == piece.domain ? 1.0 : 0.0) / static_cast<double>(steps);
    course.open_nats.push_back(reading.open_nats);
    course.usual.push_back(usual);
    course.entropy.push_back(reading.step.entropy);
    course.margin.push_back(reading.step.margin);
    course.t.push_back(text.t());
    text.Reveal();
  }
  course.queries = history.retrievals;
  return course;
}

std::vector<DgrArm> AllArms() {
  std::vector<DgrArm> arms = {{.name = "none", .adapters = false},
                              {.name = "prompt-only"},
                              {.name = "oracle", .oracle = true},
                              {.name = "every-step", .asks = Asks::kAlways}};
  for (const inference::DgrStrategy strategy :
       {inference::DgrStrategy::kAdaptive, inference::DgrStrategy::kHybrid,
        inference::DgrStrategy::kEntropy, inference::DgrStrategy::kConfidenceGap}) {
    const std::string name(inference::DgrStrategyName(strategy));
    arms.push_back(
        {.name = "dgr-" + name, .asks = Asks::kGuided, .options = {.strategy = strategy}});
    // This arm stands directly behind the arm whose number of queries it takes.
    arms.push_back(
        {.name = "random-" + name, .asks = Asks::kRandom, .options = {.strategy = strategy}});
  }
  return arms;
}

// Returns the probability that a step where the oracle's adapter lowers the loss scores above one
// where it does not; ties count half.
double Auroc(const std::vector<std::pair<double, bool>>& scores) {
  double above = 0;
  double pairs = 0;
  for (const auto& [good, is_good] : scores) {
    for (const auto& [bad, is_bad] : scores) {
      if (is_good && !is_bad) {
        above += good > bad ? 1.0 : good == bad ? 0.5 : 0.0;
        pairs += 1;
      }
    }
  }
  return pairs > 0 ? above / pairs : 0.5;
}

nlohmann::json ReportTriggers(const std::vector<Course>& prompt_only,
                              const std::vector<Course>& oracle) {
  std::vector<std::pair<double, bool>> usual, entropy, margin;
  for (size_t i = 0; i < prompt_only.size(); ++i) {
    for (size_t step = 0; step < prompt_only[i].open_nats.size(); ++step) {
      if (prompt_only[i].t[step] >= inference::DgrOptions().min_t) {
        const bool better = oracle[i].open_nats[step] < prompt_only[i].open_nats[step];
        usual.emplace_back(prompt_only[i].usual[step], better);
        entropy.emplace_back(prompt_only[i].entropy[step], better);
        margin.emplace_back(-prompt_only[i].margin[step], better);
      }
    }
  }
  const nlohmann::json report = {
      {"adaptive", Auroc(usual)}, {"entropy", Auroc(entropy)}, {"confidence_gap", Auroc(margin)}};
  fmt::print("AUROC of the triggers for 'the oracle's adapter lowers the loss': {}\n",
             report.dump());
  return report;
}

// The pieces that count: all, or those with an informative prompt or without one.
using Chosen = std::vector<size_t>;

Interval Difference(const std::vector<Course>& a, const std::vector<Course>& b,
                    const std::vector<Piece>& pieces, const Chosen& chosen) {
  std::vector<double> values;
  std::vector<size_t> documents;
  for (const size_t i : chosen) {
    values.push_back(a[i].nats - b[i].nats);
    documents.push_back(pieces[i].document);
  }
  return BootstrapDocuments(values, documents);
}

nlohmann::json ReportGroup(const std::string& group, const std::vector<DgrArm>& arms,
                           const std::vector<std::vector<Course>>& courses,
                           const std::vector<Piece>& pieces, const Chosen& chosen) {
  nlohmann::json report;
  fmt::print("\n{}: {} pieces\n", group, chosen.size());
  for (size_t a = 0; a < arms.size(); ++a) {
    nlohmann::json& own = report[arms[a].name];
    double nats = 0;
    double queries = 0;
    double right = 0;
    for (const size_t i : chosen) {
      const auto count = static_cast<double>(chosen.size());
      nats += courses[a][i].nats / count;
      queries += courses[a][i].queries / count;
      right += courses[a][i].right / count;
    }
    const Interval gain = Difference(courses[a], courses[1], pieces, chosen);
    own = {{"nats", nats},
           {"queries", queries},
           {"right_adapter", right},
           {"against_prompt_only", ToJson(gain)}};
    fmt::print(
        "{:<22} {:.4f} nats, {:.2f} queries, right adapter {:.0f} %, against prompt-only "
        "{:+.4f} [{:+.4f}, {:+.4f}]",
        arms[a].name, nats, queries, 100 * right, gain.mean, gain.low, gain.high);
    if (arms[a].asks == Asks::kGuided) {
      const Interval random = Difference(courses[a], courses[a + 1], pieces, chosen);
      own["against_random"] = ToJson(random);
      fmt::print(", against random steps {:+.4f} [{:+.4f}, {:+.4f}]", random.mean, random.low,
                 random.high);
    }
    fmt::print("\n");
  }
  return report;
}

std::string Verdict(const nlohmann::json& all) {
  std::string passed;
  for (const auto& [name, arm] : all.items()) {
    if (arm.contains("against_random") && IntervalIn(arm["against_random"]).high < 0 &&
        IntervalIn(arm["against_prompt_only"]).high < 0) {
      passed += (passed.empty() ? "" : ", ") + name;
    }
  }
  return fmt::format("{} better than random steps at as many queries and than the prompt alone",
                     passed.empty() ? "no strategy is shown to be" : passed);
}

absl::StatusOr<std::vector<Piece>> Prepare(const Arguments& arguments, const ArmParts& parts,
                                           uint64_t seed, Bench* bench) {
  const inference::Tokenizer& tokenizer = bench->model->tokenizer();
  ASSIGN_OR_RETURN(const Crops base,
                   ReadCrops(arguments.base, tokenizer, kShape, kWhiteningPieces));
  ASSIGN_OR_RETURN(bench->gate, ServingGate::Create(*bench->transformer, base.pieces));
  ASSIGN_OR_RETURN(const Crops general, ReadCrops(arguments.eval, tokenizer, kShape,
                                                  arguments.pieces * arguments.domains.size()));
  Random random(seed);
  std::vector<Piece> pieces;
  for (size_t domain = 0; domain < arguments.domains.size(); ++domain) {
    const std::string path = fmt::format("{}/{}", arguments.corpus, arguments.domains[domain]);
    ASSIGN_OR_RETURN(const Crops train,
                     ReadCrops(path + ".train.jsonl.zst", tokenizer, {.tokens = 128, .window = 128},
                               limits::kMaxTrainingExamples));
    const AdapterArm arm{.name = arguments.domains[domain],
                         .plan = {.trunk_rank = kRank, .residual_ranks = {}, .training = {}},
                         .schedule = {},
                         .learning_rate = kRate};
    ASSIGN_OR_RETURN(const TrainedAdapter trained,
                     TrainArm(parts, arm, train.Examples(), arguments.steps, seed));
    bench->adapters.push_back({.parts = {{.adapter = trained.talora->trunk}}});
    ASSIGN_OR_RETURN(const Crops learned,
                     ReadCrops(path + ".train.jsonl.zst", tokenizer, kShape, kPatternPieces));
    RETURN_IF_ERROR(bench->gate->Learn(learned.pieces, domain));
    ASSIGN_OR_RETURN(const Crops valid,
                     ReadCrops(path + ".valid.jsonl.zst", tokenizer, kShape, arguments.pieces));
    for (size_t i = 0; i < valid.pieces.size(); ++i) {
      Piece piece{.text = valid.pieces[i],
                  .domain = domain,
                  .document = domain << 32 | valid.documents[i],
                  .informed = i % 2 == 0,
                  .order = std::vector<size_t>(static_cast<size_t>(kShape.window))};
      if (!piece.informed) {
        piece.text.prompt = general.pieces[pieces.size() % general.pieces.size()].prompt;
      }
      std::iota(piece.order.begin(), piece.order.end(), size_t{0});
      random.Shuffle(std::span(piece.order));
      pieces.push_back(std::move(piece));
    }
    fmt::print(stderr, "{} learned\n", arguments.domains[domain]);
  }
  random.Shuffle(std::span(pieces));  // statistics continue over mixed domains
  return pieces;
}

absl::StatusOr<nlohmann::json> RunSeed(const Arguments& arguments, const ArmParts& parts,
                                       inference::Transformer& transformer, uint64_t seed) {
  Bench bench{.model = parts.model, .transformer = &transformer, .gate = {}, .adapters = {}};
  ASSIGN_OR_RETURN(const std::vector<Piece> pieces, Prepare(arguments, parts, seed, &bench));
  const std::vector<DgrArm> arms = AllArms();
  std::vector<std::vector<Course>> courses;
  Clock clock;
  for (const DgrArm& arm : arms) {
    std::vector<Course> own;
    inference::TimestepStatistics statistics;
    Random random(seed);
    for (size_t i = 0; i < pieces.size(); ++i) {
      const int as_often = arm.asks == Asks::kRandom ? courses.back()[i].queries : 0;
      ASSIGN_OR_RETURN(own.emplace_back(),
                       Denoise(bench, arm, pieces[i], as_often, &statistics, random, &clock));
    }
    courses.push_back(std::move(own));
    fmt::print(stderr, "{}\n", arm.name);
  }
  Chosen all(pieces.size());
  std::iota(all.begin(), all.end(), size_t{0});
  Chosen informed = all;
  Chosen uninformed = all;
  std::erase_if(informed, [&](size_t i) { return !pieces[i].informed; });
  std::erase_if(uninformed, [&](size_t i) { return pieces[i].informed; });
  nlohmann::json report;
  report["all"] = ReportGroup("all", arms, courses, pieces, all);
  report["informed"] = ReportGroup("prompt of the text itself", arms, courses, pieces, informed);
  report["uninformed"] = ReportGroup("unrelated prompt", arms, courses, pieces, uninformed);
  report["auroc"] = ReportTriggers(courses[1], courses[2]);
  report["microseconds_a_query"] =
      1e6 * clock.seconds / static_cast<double>(std::max<int64_t>(1, clock.queries));
  report["verdict"] = Verdict(report["all"]);
  fmt::print("a query takes {:.0f} us beside its forward\nverdict, seed {}: {}\n",
             report["microseconds_a_query"].get<double>(), seed,
             report["verdict"].get<std::string>());
  return report;
}

absl::Status Run(Arguments arguments) {
  ASSIGN_OR_RETURN(const auto results_file, ResultsFile::Create(arguments.out));
  if (arguments.domains.empty()) {
    ASSIGN_OR_RETURN(arguments.domains, DomainsIn(arguments.corpus));
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<const inference::Model> model,
                   inference::Model::Load(arguments.model));
  ThreadParallelRunner runner(arguments.threads);
  ASSIGN_OR_RETURN(const auto weights,
                   inference::train::ModelWeights::Create(model, nullptr, runner));
  ASSIGN_OR_RETURN(const auto transformer,
                   inference::DefaultBackend().Load(
                       model, {.precision = inference::Precision::kExact, .runner = runner}));
  const ArmParts parts{.model = model, .weights = weights.get(), .runner = &runner};
  nlohmann::json out = {{"experiment", "learn_dgr"},
                        {"model", std::filesystem::path(arguments.model).filename().string()},
                        {"domains", arguments.domains},
                        {"steps", arguments.steps.steps},
                        {"batch", arguments.steps.batch},
                        {"pieces", arguments.pieces}};
  for (int seed = 1; seed <= arguments.seeds; ++seed) {
    ASSIGN_OR_RETURN(nlohmann::json own,
                     RunSeed(arguments, parts, *transformer, static_cast<uint64_t>(seed)));
    out["seeds"].push_back(std::move(own));
  }
  return results_file->Write(out);
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  ruvd::bench::Arguments arguments;
  CLI::App app(ruvd::bench::kDescription);
  const ruvd::bench::CommonFlags flags = {.eval = "general text: prompts that say nothing",
                                          .needs_eval = true,
                                          .base = "public text to whiten by",
                                          .seeds = "trainings, orders and random steps"};
  ruvd::bench::AddCommonFlags(flags, &app, &arguments);
  app.add_option("--domains", arguments.domains, "all by default")->delimiter(',');
  app.add_option("--steps", arguments.steps.steps, "of training")->check(CLI::Range(1, 10000));
  app.add_option("--batch", arguments.steps.batch)->check(CLI::Range(1, 256));
  app.add_option("--pieces", arguments.pieces, "of a domain")->check(CLI::Range(2, 10000));
  return ruvd::bench::RunExperiment(app, argc, argv, [&] {
    const absl::Status found = ruvd::bench::FindTexts(flags, &arguments);
    return found.ok() ? ruvd::bench::Run(arguments) : found;
  });
}
