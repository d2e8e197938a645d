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
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/adapter_arms.h"
#include "bench/experiments/crops.h"
#include "bench/experiments/dgr_report.h"
#include "bench/experiments/flags.h"
#include "bench/experiments/paired.h"
#include "bench/experiments/revealed_text.h"
#include "bench/experiments/serving_gate.h"
#include "bench/experiments/sessions.h"
#include "inference/adapter/talora_file.h"
#include "inference/backend/backend.h"
#include "inference/package/model_package.h"
#include "inference/retrieval/denoising_guided.h"
#include "inference/retrieval/word_evidence.h"

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
    "acts from the next step on, as in a node; the domain's own adapter (oracle). Arms \"words\" "
    "choose\n"
    "by the words of the adapters' lessons: of the prompt once, of prompt and revealed words "
    "before\n"
    "every step, or before two random steps; the likeliest adapter acts, or two share the "
    "weight.\n"
    "Nats/token of the completion, 95 % bootstrap intervals over documents. DGR is worth it where "
    "it\n"
    "beats random steps at as many queries.";

constexpr CropShape kShape{.tokens = 96, .window = 64};
constexpr CropShape kLesson{.tokens = 128, .window = 128};
constexpr size_t kRevealed = 4;  // tokens a step
constexpr size_t kPatternPieces = 256;
constexpr size_t kWhiteningPieces = 512;

struct Arguments : CommonArguments {
  std::vector<std::string> domains;
  ArmSteps steps;
  size_t lessons = 2000;  // of each domain
  size_t pieces = 24;
  int rank = 8;
  double rate = 1.25e-3;
  bool triggers = true;
  std::string adapters;     // a folder; "": trains them
  std::string lessons_out;  // likewise; "": runs the arms
};

struct Bench {
  std::shared_ptr<const inference::Model> model;
  std::shared_ptr<const inference::MemoryParameters> memory;  // has the frequencies of words
  inference::Transformer* transformer = nullptr;
  std::optional<ServingGate> gate;
  std::vector<inference::AdapterMix> adapters;                           // by domain
  std::vector<std::shared_ptr<const inference::WordEvidence>> evidence;  // likewise
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

// Returns the mix of the chosen adapters.
inference::AdapterMix MixOf(const Bench& bench, std::span<const inference::WordChoice> chosen) {
  inference::AdapterMix mix;
  for (const inference::WordChoice& choice : chosen) {
    inference::AdapterMix::Part part = bench.adapters[choice.adapter].parts[0];
    part.weight *= choice.weight;
    mix.parts.push_back(std::move(part));
  }
  return mix;
}

// Denoises a piece whose adapters are chosen by words.
absl::StatusOr<DgrCourse> DenoiseByWords(const Bench& bench, const DgrArm& arm,
                                         const DgrPiece& piece, Random& random, Clock* clock) {
  const inference::WordChooser chooser(bench.evidence, piece.text.prompt, *arm.words);
  std::vector<inference::WordChoice> chosen = chooser.Choose({}, std::nullopt);
  const size_t steps = (piece.order.size() + kRevealed - 1) / kRevealed;
  constexpr int kRandomSteps = 2;
  const std::vector<bool> at_random = RandomSteps(steps, kRandomSteps, arm.options, random);
  RevealedText text(*bench.transformer, piece.text, piece.order, kRevealed);
  DgrCourse course;
  for (size_t step = 0; !text.done(); ++step) {
    if (arm.asks == Asks::kAlways || (arm.asks == Asks::kRandom && at_random[step])) {
      const auto begin = std::chrono::steady_clock::now();
      chosen = chooser.Choose(text.known(), std::nullopt);
      clock->seconds +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      ++clock->queries;
      ++course.queries;
    }
    const inference::AdapterMix mix = MixOf(bench, chosen);
    ASSIGN_OR_RETURN(const RevealedText::Reading reading,
                     text.Read(mix.parts.empty() ? nullptr : &mix));
    course.nats += reading.next_nats / static_cast<double>(piece.order.size());
    const bool right =
        chosen.empty() ? piece.domain == bench.adapters.size() : chosen[0].adapter == piece.domain;
    course.right += (right ? 1.0 : 0.0) / static_cast<double>(steps);
    text.Reveal();
  }
  return course;
}

// `as_often` is the number of queries of kRandom. `statistics` continue over all pieces of an arm.
absl::StatusOr<DgrCourse> Denoise(const Bench& bench, const DgrArm& arm, const DgrPiece& piece,
                                  int as_often, inference::TimestepStatistics* statistics,
                                  Random& random, Clock* clock) {
  if (arm.words) {
    return DenoiseByWords(bench, arm, piece, random, clock);
  }
  ASSIGN_OR_RETURN(const std::vector<float> prompt, bench.gate->Embed(piece.text.prompt));
  std::optional<ServingGate::Choice> in_use = bench.gate->Choose(prompt);
  const size_t steps = (piece.order.size() + kRevealed - 1) / kRevealed;
  const std::vector<bool> at_random = RandomSteps(steps, as_often, arm.options, random);
  RevealedText text(*bench.transformer, piece.text, piece.order, kRevealed);
  DgrCourse course;
  inference::DgrHistory history;
  for (size_t step = 0; !text.done(); ++step) {
    std::optional<size_t> adapter = in_use ? std::optional(in_use->adapter) : std::nullopt;
    if (arm.oracle) {
      adapter = piece.domain < bench.adapters.size() ? std::optional(piece.domain) : std::nullopt;
    }
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

std::vector<DgrArm> AllArms(bool triggers) {
  std::vector<DgrArm> arms = {{.name = "none", .adapters = false},
                              {.name = "prompt-only"},
                              {.name = "oracle", .oracle = true}};
  for (const size_t most : {size_t{1}, size_t{2}}) {
    const std::string name = most == 1 ? "best" : "two";
    const inference::WordChoiceOptions options{.most = most};
    arms.push_back({.name = "words-prompt-" + name, .words = options});
    arms.push_back({.name = "words-random-" + name, .asks = Asks::kRandom, .words = options});
    arms.push_back({.name = "words-" + name, .asks = Asks::kAlways, .words = options});
  }
  if (!triggers) {
    return arms;
  }
  arms.push_back({.name = "every-step", .asks = Asks::kAlways});
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

// Reads the adapter of a domain, or trains it.
absl::StatusOr<std::shared_ptr<const inference::Talora>> AdapterOf(const Arguments& arguments,
                                                                   const ArmParts& parts,
                                                                   size_t domain,
                                                                   const Crops& lessons,
                                                                   uint64_t seed) {
  const std::string& name = arguments.domains[domain];
  if (!arguments.adapters.empty()) {
    return inference::LoadTaloraFile(fmt::format("{}/{}.gguf", arguments.adapters, name),
                                     *parts.model);
  }
  const AdapterArm arm{.name = name,
                       .plan = {.trunk_rank = arguments.rank, .residual_ranks = {}, .training = {}},
                       .schedule = {},
                       .learning_rate = arguments.rate};
  ASSIGN_OR_RETURN(const TrainedAdapter trained,
                   TrainArm(parts, arm, lessons.Examples(), arguments.steps, seed));
  return trained.talora;
}

// Writes the tokens of lessons and of general text, 32 bits each, for expert_arms.py.
absl::Status WriteLessons(const Arguments& arguments, const inference::Tokenizer& tokenizer) {
  std::vector<std::pair<std::string, std::string>> files = {{"general", arguments.base}};
  for (const std::string& domain : arguments.domains) {
    files.emplace_back(domain, fmt::format("{}/{}.train.jsonl.zst", arguments.corpus, domain));
  }
  for (const auto& [name, path] : files) {
    ASSIGN_OR_RETURN(const Crops crops, ReadCrops(path, tokenizer, kLesson, arguments.lessons));
    std::string bytes;
    for (const inference::ScoredDocument& piece : crops.pieces) {
      bytes.append(reinterpret_cast<const char*>(piece.completion.data()),
                   piece.completion.size() * sizeof(inference::TokenId));
    }
    RETURN_IF_ERROR(
        WriteFileAtomically(fmt::format("{}/{}.u32", arguments.lessons_out, name), bytes));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<DgrPiece>> Prepare(const Arguments& arguments, const ArmParts& parts,
                                              uint64_t seed, Bench* bench) {
  const inference::Tokenizer& tokenizer = bench->model->tokenizer();
  ASSIGN_OR_RETURN(const Crops base,
                   ReadCrops(arguments.base, tokenizer, kShape, kWhiteningPieces));
  ASSIGN_OR_RETURN(bench->gate, ServingGate::Create(*bench->transformer, base.pieces));
  ASSIGN_OR_RETURN(const Crops general, ReadCrops(arguments.eval, tokenizer, kShape,
                                                  arguments.pieces * arguments.domains.size()));
  Random random(seed);
  std::vector<DgrPiece> pieces;
  for (size_t domain = 0; domain < arguments.domains.size(); ++domain) {
    const std::string path = fmt::format("{}/{}", arguments.corpus, arguments.domains[domain]);
    ASSIGN_OR_RETURN(const Crops train,
                     ReadCrops(path + ".train.jsonl.zst", tokenizer, kLesson, arguments.lessons));
    ASSIGN_OR_RETURN(const auto adapter, AdapterOf(arguments, parts, domain, train, seed));
    bench->adapters.push_back({.parts = {{.adapter = adapter->trunk}}});
    inference::LessonWordCounter words;
    for (const inference::ScoredDocument& piece : train.pieces) {
      words.Add(piece.completion);
    }
    bench->evidence.push_back(std::make_shared<inference::WordEvidence>(
        words.Finish(), bench->memory->public_log_frequency));
    ASSIGN_OR_RETURN(const Crops learned,
                     ReadCrops(path + ".train.jsonl.zst", tokenizer, kShape, kPatternPieces));
    RETURN_IF_ERROR(bench->gate->Learn(learned.pieces, domain));
    ASSIGN_OR_RETURN(const Crops valid,
                     ReadCrops(path + ".valid.jsonl.zst", tokenizer, kShape, arguments.pieces));
    for (size_t i = 0; i < valid.pieces.size(); ++i) {
      DgrPiece piece{.text = valid.pieces[i],
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
  for (size_t i = 0; i < std::min(arguments.pieces, general.pieces.size()); ++i) {
    DgrPiece piece{.text = general.pieces[i],
                   .domain = arguments.domains.size(),
                   .document = arguments.domains.size() << 32 | general.documents[i],
                   .order = std::vector<size_t>(static_cast<size_t>(kShape.window))};
    std::iota(piece.order.begin(), piece.order.end(), size_t{0});
    random.Shuffle(std::span(piece.order));
    pieces.push_back(std::move(piece));
  }
  random.Shuffle(std::span(pieces));  // statistics continue over mixed domains
  return pieces;
}

absl::StatusOr<nlohmann::json> RunSeed(const Arguments& arguments, const ArmParts& parts,
                                       inference::Transformer& transformer,
                                       std::shared_ptr<const inference::MemoryParameters> memory,
                                       uint64_t seed) {
  Bench bench{.model = parts.model, .memory = std::move(memory), .transformer = &transformer};
  ASSIGN_OR_RETURN(const std::vector<DgrPiece> pieces, Prepare(arguments, parts, seed, &bench));
  const std::vector<DgrArm> arms = AllArms(arguments.triggers);
  std::vector<std::vector<DgrCourse>> courses;
  Clock clock;
  for (const DgrArm& arm : arms) {
    std::vector<DgrCourse> own;
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
  std::vector<size_t> all(pieces.size());
  std::iota(all.begin(), all.end(), size_t{0});
  std::vector<size_t> general = all;
  const auto is_general = [&](size_t i) { return pieces[i].domain == arguments.domains.size(); };
  std::erase_if(all, is_general);
  std::erase_if(general, [&](size_t i) { return !is_general(i); });
  std::vector<size_t> informed = all;
  std::vector<size_t> uninformed = all;
  std::erase_if(informed, [&](size_t i) { return !pieces[i].informed; });
  std::erase_if(uninformed, [&](size_t i) { return pieces[i].informed; });
  nlohmann::json report;
  report["all"] = ReportDgrArms("all", arms, courses, pieces, all);
  report["informed"] = ReportDgrArms("prompt of the text itself", arms, courses, pieces, informed);
  report["uninformed"] = ReportDgrArms("unrelated prompt", arms, courses, pieces, uninformed);
  report["general"] = ReportDgrArms("general text", arms, courses, pieces, general);
  report["auroc"] = ReportDgrTriggers(courses[1], courses[2], all);
  report["microseconds_a_query"] =
      1e6 * clock.seconds / static_cast<double>(std::max<int64_t>(1, clock.queries));
  report["verdict"] = DgrVerdict(report["all"]);
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
  ASSIGN_OR_RETURN(const inference::ModelPackage package,
                   inference::LoadModelPackage(arguments.model));
  const std::shared_ptr<const inference::Model>& model = package.model;
  if (package.memory == nullptr) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kInvalidArgument,
                 "{} has no NAME.memory.gguf beside it, which has the public frequencies of words; "
                 "make it with `ruvd model memory`",
                 arguments.model);
  }
  if (!arguments.lessons_out.empty()) {
    return WriteLessons(arguments, model->tokenizer());
  }
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
                        {"adapters", arguments.adapters.empty() ? "trained" : "read"},
                        {"steps", arguments.steps.steps},
                        {"batch", arguments.steps.batch},
                        {"rank", arguments.rank},
                        {"rate", arguments.rate},
                        {"lessons", arguments.lessons},
                        {"pieces", arguments.pieces}};
  for (int seed = 1; seed <= arguments.seeds; ++seed) {
    ASSIGN_OR_RETURN(nlohmann::json own, RunSeed(arguments, parts, *transformer, package.memory,
                                                 static_cast<uint64_t>(seed)));
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
  app.add_option("--lessons", arguments.lessons, "of 128 tokens that a domain's adapter learns")
      ->check(CLI::Range(1, 100000));
  app.add_option("--rank", arguments.rank, "of the adapters")->check(CLI::Range(1, 64));
  app.add_option("--rate", arguments.rate, "of learning")->check(CLI::Range(1e-6, 1.0));
  app.add_option("--pieces", arguments.pieces, "of a domain, and of general text")
      ->check(CLI::Range(2, 10000));
  app.add_option("--adapters", arguments.adapters,
                 "folder with DOMAIN.gguf, which are used instead of training");
  app.add_option("--lessons-out", arguments.lessons_out,
                 "folder for the lessons' tokens, from which expert_arms.py trains; no arms run");
  app.add_flag("!--no-triggers", arguments.triggers, "no arms that ask by uncertainty");
  return ruvd::bench::RunExperiment(app, argc, argv, [&] {
    const absl::Status found = ruvd::bench::FindTexts(flags, &arguments);
    return found.ok() ? ruvd::bench::Run(arguments) : found;
  });
}
