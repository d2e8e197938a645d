// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// What the token memory is worth: `learn_memory --help`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "base/parallel.h"
#include "base/random.h"
#include "base/status.h"
#include "bench/experiments/adapted_arms.h"
#include "bench/experiments/adapted_transformer.h"
#include "bench/experiments/flags.h"
#include "bench/experiments/memory_report.h"
#include "bench/experiments/paired.h"
#include "bench/experiments/scored_text.h"
#include "bench/experiments/session_scores.h"
#include "inference/adapter/lesson_words.h"
#include "inference/adapter/talora_file.h"
#include "inference/backend/backend.h"
#include "inference/evaluate/text_documents.h"
#include "inference/memory/learning/learn_parameters.h"
#include "inference/package/model_package.h"
#include "inference/retrieval/word_evidence.h"

namespace ruvd::bench {
namespace {

constexpr char kDescription[] =
    "What a memory of lessons' tokens gains without training on the node. Pieces of 128 tokens of\n"
    "which the first 32 are given; a memory holds pieces of a domain's train file; the loss is "
    "that\n"
    "of pieces of its valid file, masked (1/t-weighted nats/token, a NELBO) or from left to "
    "right.\n"
    "How a memory is read (keys, bonuses, gate) is learned from the *other* domains and half of "
    "the\n"
    "documents of general text; the other half shows what it costs. Differences are against the\n"
    "frozen model, paired by document, with 95 % bootstrap intervals over documents. The column\n"
    "\"unshared\" is the mean over pieces without a stretch of 12 tokens that the memory has.\n"
    "Baselines with a gate of their own: an n-gram cache (neighbours decide, no keys) and a "
    "unigram\n"
    "cache (all tokens of the memory count alike).\n"
    "--session also runs documents as sessions of 20 requests of 64 tokens with 447 tokens of\n"
    "context: each request is predicted, then learned, with and without the largest memory.\n"
    "--adapters also reads DOMAIN.gguf of a folder, adapters that learned the domain's lessons\n"
    "(expert_arms.py): each alone, always on or where the words of its lessons say so, and with\n"
    "the largest memory, read by the bare model or again with the adapter (masked only).\n"
    "--experts measures them alone: what a visitor gains whose words choose among all of them.";

using inference::ObservedKind;
using inference::TokenId;

struct Arguments : CommonArguments {
  std::vector<size_t> tokens = {10'000, 100'000, 300'000};
  size_t pieces = 320;  // of each domain that are scored
  bool baselines = true;
  bool causal = true;
  bool session = false;
  size_t sessions = 40;  // of each domain at most
  std::string adapters;  // a folder; "": none
  bool experts = false;  // measure the adapters of all domains in place of memories
};

using Arms = std::map<std::string, ReadMemory>;

// A context that leaves the request its room in the window of the shipped models.
constexpr SessionShape kSessions{.requests = 20, .tokens = 64, .context = 447};
constexpr size_t kTrainBytes = 12'000;  // of a document that may be remembered
constexpr size_t kValidBytes = 60'000;  // of a document that is scored

// Scores a text with the frozen model, with each memory and with the adapter's arms, if any.
absl::Status ScoreText(inference::Transformer& transformer, const ScoredText& text,
                       const Arms& arms, const DomainAdapters* adapter, bool causal,
                       const Arguments& arguments, const inference::MemoryLearningOptions& options,
                       Losses* losses) {
  AdaptedTransformer adapted(transformer);
  std::map<std::string, inference::MemoryReader> readers;
  for (const auto& [name, arm] : arms) {
    readers.emplace(
        std::piecewise_construct, std::forward_as_tuple(name),
        std::forward_as_tuple(arm.parameters, arm.memory, std::ref(transformer.runner())));
  }
  const int draws = causal ? 1 : arguments.seeds;
  for (size_t place = 0; place < text.pieces.size(); ++place) {
    const std::vector<TokenId>& piece = text.pieces[place];
    std::map<std::string, double> sums;
    Random random(place + 1);  // equal masks for all arms
    for (int draw = 0; draw < draws; ++draw) {
      const Random masks = random;
      ASSIGN_OR_RETURN(const inference::PiecePrediction prediction,
                       inference::PredictPiece(transformer, piece, options.given, causal, random));
      inference::PieceReading nothing;
      nothing.readings.resize(prediction.positions.size());
      nothing.memory.resize(prediction.positions.size());
      sums["frozen"] += inference::LossOf(prediction, nothing) / draws;
      for (auto& [name, reader] : readers) {
        sums[name] +=
            inference::LossOf(prediction, inference::ReadPrediction(reader, prediction)) / draws;
      }
      if (adapter != nullptr) {
        std::map<std::string, double> own;
        RETURN_IF_ERROR(
            AddAdaptedLosses(prediction, *adapter, options.given, masks, &adapted, &own));
        for (const auto& [name, loss] : own) {
          sums[name] += loss / draws;
        }
      }
    }
    for (const auto& [name, loss] : sums) {
      (*losses)[name].push_back(loss);
    }
  }
  return absl::OkStatus();
}

class Experiment {
 public:
  Experiment(const Arguments& arguments, inference::Transformer& transformer)
      : arguments_(arguments), transformer_(transformer) {
    options_.remembered =
        *std::ranges::max_element(arguments.tokens) / (options_.piece - options_.given) + 1;
    options_.progress = [](const std::string& what) { fmt::print(stderr, "{}\n", what); };
  }

  absl::Status Prepare() {
    if (arguments_.experts) {
      ASSIGN_OR_RETURN(const inference::ModelPackage package,
                       inference::LoadModelPackage(arguments_.model));
      shipped_ = package.memory;
    }
    const inference::Tokenizer& tokenizer = transformer_.model().tokenizer();
    ASSIGN_OR_RETURN(names_, DomainsIn(arguments_.corpus));
    for (const std::string& name : names_) {
      fmt::print(stderr, "observing {}\n", name);
      ASSIGN_OR_RETURN(const Documents train,
                       ReadTokens(fmt::format("{}/{}.train.jsonl.zst", arguments_.corpus, name),
                                  tokenizer, kTrainBytes));
      ASSIGN_OR_RETURN(kinds_.emplace_back(), ObserveKind(transformer_, train, options_));
      ASSIGN_OR_RETURN(const Documents valid,
                       ReadTokens(fmt::format("{}/{}.valid.jsonl.zst", arguments_.corpus, name),
                                  tokenizer, kValidBytes));
      texts_.push_back(CutForScoring(valid, options_, arguments_.pieces));
      MarkShared(kinds_.back().remembered, &texts_.back());
      if (arguments_.session) {
        ASSIGN_OR_RETURN(sessions_.emplace_back(),
                         ReadSessions(fmt::format("{}/{}.valid.jsonl.zst", arguments_.corpus, name),
                                      name, tokenizer, kSessions, arguments_.sessions));
      }
    }
    ASSIGN_OR_RETURN(const Documents general, ReadTokens(arguments_.eval, tokenizer, kValidBytes));
    Documents even;
    Documents odd;
    for (size_t i = 0; i < general.size(); ++i) {
      (i % 2 == 0 ? even : odd).push_back(general[i]);
    }
    if (arguments_.session) {
      ASSIGN_OR_RETURN(general_sessions_,
                       ReadSessions(arguments_.eval, "general", tokenizer, kSessions, 10'000));
      // The even documents are text that the gate learned from.
      std::erase_if(general_sessions_,
                    [](const Session& session) { return session.document % 2 == 0; });
      general_sessions_.resize(std::min(general_sessions_.size(), arguments_.sessions));
    }
    general_pieces_ = SpreadPieces(even, options_, options_.general_read);
    general_text_ = CutForScoring(odd, options_, arguments_.pieces);
    ASSIGN_OR_RETURN(const Documents base, ReadTokens(arguments_.base, tokenizer, kTrainBytes));
    constexpr size_t kFrequentTokens = 400'000;
    for (const std::vector<TokenId>& document : base) {
      if (frequent_.size() < kFrequentTokens) {
        frequent_.insert(frequent_.end(), document.begin(), document.end());
      }
    }
    return absl::OkStatus();
  }

  absl::Status Run(nlohmann::json* out) {
    std::map<std::string, std::vector<DomainRun>> runs;
    for (size_t held = 0; held < names_.size(); ++held) {
      fmt::print(stderr, "{} held out\n", names_[held]);
      std::vector<const ObservedKind*> others;
      for (size_t i = 0; i < kinds_.size(); ++i) {
        if (i != held) {
          others.push_back(&kinds_[i]);
        }
      }
      learned_.clear();
      if (arguments_.experts) {
        learned_["memory"] = shipped_;
      } else {
        RETURN_IF_ERROR(Learn(held, others));
      }
      for (const std::string& way : Ways()) {
        ASSIGN_OR_RETURN(DomainRun run,
                         way == "sessions" ? RunSessionsOf(held) : RunDomain(held, way == "ar"));
        PrintGains(way, run);
        runs[way].push_back(std::move(run));
      }
    }
    for (const auto& [way, own] : runs) {
      (*out)[way] = ReportGains(way, own);
    }
    return absl::OkStatus();
  }

 private:
  std::vector<std::string> Ways() const {
    std::vector<std::string> ways;
    if (arguments_.pieces > 0) {
      ways.emplace_back("masked");
    }
    if (arguments_.pieces > 0 && arguments_.causal) {
      ways.emplace_back("ar");
    }
    if (arguments_.session) {
      ways.emplace_back("sessions");
    }
    return ways;
  }

  // Learns how the memory and the baselines are read. Baselines are measured masked only.
  absl::Status Learn(size_t held, std::span<const ObservedKind* const> others) {
    const auto learn = [&](const std::string& name, bool keys, bool neighbours) -> absl::Status {
      inference::MemoryLearningOptions options = options_;
      options.causal = keys && arguments_.causal && arguments_.pieces > 0;
      options.projection.keys = keys;
      options.projection.neighbours = neighbours;
      if (!keys) {
        // Keys that take no part need not be long.
        options.projection.dimension = 32;
        options.projection.steps = neighbours ? 100 : 1;
      }
      ASSIGN_OR_RETURN(
          inference::MemoryParameters learned,
          LearnMemoryParameters(transformer_, others, general_pieces_, frequent_, options));
      fmt::print(
          "{}, {}: temperature {:.4f}, left {:.2f}, right {:.2f}, both {:.2f}, surprise "
          "{:.3f}, timestep {:.3f}\n",
          names_[held], name, learned.temperature, fmt::join(learned.left, " "),
          fmt::join(learned.right, " "), learned.both, learned.surprise, learned.timestep);
      learned_[name] = std::make_shared<inference::MemoryParameters>(std::move(learned));
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(learn("memory", /*keys=*/true, /*neighbours=*/true));
    if (arguments_.baselines) {
      RETURN_IF_ERROR(learn("n-grams", /*keys=*/false, /*neighbours=*/true));
      RETURN_IF_ERROR(learn("unigrams", /*keys=*/false, /*neighbours=*/false));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<DomainRun> RunDomain(size_t held, bool causal) {
    Arms arms;
    const auto add = [&](const std::string& name, const std::string& reading, size_t kind,
                         size_t tokens) {
      const auto& parameters = learned_.at(reading);
      arms[name] = {.parameters = parameters,
                    .memory = std::make_shared<inference::TokenMemory>(
                        RunsOf(*parameters, kinds_[kind].remembered,
                               tokens / (options_.piece - options_.given), causal))};
    };
    for (const auto& [reading, unused] : learned_) {
      if (arguments_.experts) {
        break;
      }
      if (causal && reading != "memory") {
        continue;
      }
      for (const size_t tokens : arguments_.tokens) {
        add(fmt::format("{}, {:>6} tokens", reading, tokens), reading, held, tokens);
      }
    }
    if (!arguments_.experts) {
      add("memory of another domain", "memory", (held + 1) % kinds_.size(),
          arguments_.tokens.back());
    }
    DomainRun run{
        .name = names_[held], .documents = texts_[held].documents, .shared = texts_[held].shared};
    std::optional<DomainAdapters> adapters;
    if (!causal && !arguments_.adapters.empty()) {
      ASSIGN_OR_RETURN(adapters, AdaptersFor(held));
    }
    const DomainAdapters* const own = adapters ? &*adapters : nullptr;
    RETURN_IF_ERROR(
        ScoreText(transformer_, texts_[held], arms, own, causal, arguments_, options_, &run.own));
    RETURN_IF_ERROR(ScoreText(transformer_, general_text_, arms, own, causal, arguments_, options_,
                              &run.general));
    return run;
  }

  // Reads the adapters and makes their arms for a domain.
  absl::StatusOr<DomainAdapters> AdaptersFor(size_t held) {
    DomainAdapters domain{.own = held};
    for (size_t i = 0; i < names_.size(); ++i) {
      LearnedAdapter& one = domain.adapters.emplace_back();
      ASSIGN_OR_RETURN(one.adapter, inference::LoadTaloraFile(
                                        fmt::format("{}/{}.gguf", arguments_.adapters, names_[i]),
                                        transformer_.model()));
      inference::LessonWordCounter words;
      for (const inference::ObservedPiece& piece : kinds_[i].remembered) {
        words.Add(piece.tokens);
      }
      one.evidence = std::make_shared<inference::WordEvidence>(
          words.Finish(), learned_.at("memory")->public_log_frequency);
    }
    if (arguments_.experts) {
      domain.arms = {{"owner, always", {.acting = Acting::kOwn}},
                     {"owner, by words", {.acting = Acting::kOwnByWords}},
                     {"visitor, experts by words", {.acting = Acting::kByWords}},
                     {"visitor, experts of other domains", {.acting = Acting::kOthers}},
                     {"visitor, mean of the experts", {.acting = Acting::kMean}}};
      return domain;
    }
    RETURN_IF_ERROR(AddArmsWithMemory(held, &domain));
    return domain;
  }

  absl::Status AddArmsWithMemory(size_t held, DomainAdapters* domain) {
    const auto& parameters = learned_.at("memory");
    const auto memory_of = [&](std::span<const inference::ObservedPiece> pieces) {
      return ReadMemory{.parameters = parameters,
                        .memory = std::make_shared<inference::TokenMemory>(
                            RunsOf(*parameters, pieces, pieces.size(), false))};
    };
    AdaptedTransformer adapted(transformer_);
    adapted.SetMix({.parts = {{.adapter = domain->adapters[held].adapter->trunk}}});
    std::vector<inference::ObservedPiece> again;
    for (const inference::ObservedPiece& piece : kinds_[held].remembered) {
      Random random(again.size() + 1);
      inference::ObservedPiece& own = again.emplace_back();
      own.tokens = piece.tokens;
      ASSIGN_OR_RETURN(own.masked,
                       ObserveLesson(adapted, piece.tokens, options_.given, false, random));
    }
    const ReadMemory bare = memory_of(kinds_[held].remembered);
    const ReadMemory read_again = memory_of(again);
    constexpr Acting kWords = Acting::kOwnByWords;
    domain->arms = {
        {"adapter", {}},
        {"adapter by words", {.acting = kWords}},
        {"adapter and memory", {.memory = bare}},
        {"adapter and memory read again", {.memory = read_again}},
        {"adapter by words and memory", {.acting = kWords, .memory = bare}},
        {"adapter by words and memory read again", {.acting = kWords, .memory = read_again}}};
    return absl::OkStatus();
  }

  // Runs sessions beside the largest memory of their domain, and of general text beside the same.
  absl::StatusOr<DomainRun> RunSessionsOf(size_t held) {
    const auto& reading = learned_.at("memory");
    const auto node = std::make_shared<inference::TokenMemory>(
        RunsOf(*reading, kinds_[held].remembered, kinds_[held].remembered.size(), false));
    const inference::TokenId mask = *transformer_.model().tokenizer().mask_id();
    ParallelRunner* const runner = &transformer_.runner();
    std::vector<ArmSettings> arms = {FrozenArm(), DefaultMemoryArm("neighbours as landed")};
    arms.push_back(MakeTokenMemoryArm(
        "lessons",
        {.parameters = reading, .node = node, .mask = mask, .learns = false, .runner = runner}));
    arms.push_back(
        MakeTokenMemoryArm("session and lessons",
                           {.parameters = reading, .node = node, .mask = mask, .runner = runner}));
    arms.push_back(InTurnArm("neighbours, session and lessons", arms[1], arms.back()));
    for (const auto& [name, parameters] : learned_) {
      arms.push_back(
          MakeTokenMemoryArm(name == "memory" ? "session" : fmt::format("session, {}", name),
                             {.parameters = parameters, .mask = mask, .runner = runner}));
    }
    const SessionRuns runs{.shape = kSessions, .seeds = arguments_.seeds};
    DomainRun run{.name = names_[held]};
    const auto score = [&](const std::vector<Session>& sessions, Losses* losses) -> absl::Status {
      ASSIGN_OR_RETURN(const std::vector<ArmResult> results,
                       RunSessions(transformer_, sessions, runs, arms));
      for (size_t i = 0; i < arms.size(); ++i) {
        (*losses)[arms[i].name] = results[i].nats;
      }
      return absl::OkStatus();
    };
    RETURN_IF_ERROR(score(sessions_[held], &run.own));
    RETURN_IF_ERROR(score(general_sessions_, &run.general));
    for (size_t i = 0; i < sessions_[held].size(); ++i) {
      run.documents.push_back(i);
    }
    return run;
  }

  const Arguments& arguments_;
  inference::Transformer& transformer_;
  inference::MemoryLearningOptions options_;
  std::vector<std::string> names_;
  std::vector<ObservedKind> kinds_;
  std::vector<ScoredText> texts_;
  // How the memory and the baselines are read, by name
  std::map<std::string, std::shared_ptr<const inference::MemoryParameters>> learned_;
  Documents general_pieces_;
  ScoredText general_text_;
  std::vector<std::vector<Session>> sessions_;  // of each domain
  std::vector<Session> general_sessions_;
  std::vector<TokenId> frequent_;
  std::shared_ptr<const inference::MemoryParameters> shipped_;  // only for experts
};

absl::Status Run(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto results_file, ResultsFile::Create(arguments.out));
  ASSIGN_OR_RETURN(const std::shared_ptr<const inference::Model> model,
                   inference::Model::Load(arguments.model));
  ThreadParallelRunner runner(arguments.threads);
  ASSIGN_OR_RETURN(const auto transformer,
                   inference::DefaultBackend().Load(
                       model, {.precision = inference::Precision::kFast, .runner = runner}));
  Experiment experiment(arguments, *transformer);
  RETURN_IF_ERROR(experiment.Prepare());
  nlohmann::json out = {{"experiment", "learn_memory"},
                        {"model", std::filesystem::path(arguments.model).filename().string()},
                        {"pieces", arguments.pieces},
                        {"seeds", arguments.seeds}};
  RETURN_IF_ERROR(experiment.Run(&out));
  return results_file->Write(out);
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  ruvd::bench::Arguments arguments;
  arguments.seeds = 2;
  CLI::App app(ruvd::bench::kDescription);
  const ruvd::bench::CommonFlags flags = {.eval = "general text, half of it to learn with",
                                          .needs_eval = true,
                                          .base = "public text whose frequencies count",
                                          .seeds = "maskings of each piece"};
  ruvd::bench::AddCommonFlags(flags, &app, &arguments);
  app.add_option("--tokens", arguments.tokens, "sizes of the memory")->delimiter(',');
  app.add_option("--pieces", arguments.pieces, "of each domain that are scored; 0: none");
  app.add_flag("--session", arguments.session, "run documents as sessions, too (masked)");
  app.add_option("--sessions", arguments.sessions, "at most so many of each domain");
  app.add_option("--adapters", arguments.adapters, "folder with DOMAIN.gguf");
  app.add_flag("--experts", arguments.experts,
               "what the adapters of all domains give a visitor, without memories")
      ->needs("--adapters");
  app.add_flag("!--no-baselines", arguments.baselines, "no n-gram and unigram caches");
  app.add_flag("!--no-ar", arguments.causal, "no reading from left to right");
  return ruvd::bench::RunPrepared(
      app, argc, argv, [&] { return ruvd::bench::FindTexts(flags, &arguments); },
      [&] { return ruvd::bench::Run(arguments); });
}
