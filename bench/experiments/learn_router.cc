// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Whether a router sends the right requests to the small model: `learn_router --help`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/flags.h"
#include "bench/experiments/paired.h"
#include "bench/experiments/routing_judge.h"
#include "bench/experiments/sessions.h"
#include "inference/backend/backend.h"
#include "inference/router/router.h"
#include "inference/sampler/distribution.h"

namespace ruvd::bench {
namespace {

constexpr char kDescription[] =
    "Requests are pieces of documents: given the tokens before it, a piece of 64 tokens is\n"
    "read from left to right by a small and a large model, --model and --other. The small\n"
    "one is good enough where it is at most --margin nats/token worse. Routers see what is\n"
    "known beforehand: lengths, the unigram surprise of the prompt, and the small model's\n"
    "entropy and confidence over the prompt. Each is trained on the domains' train files\n"
    "and judged on their valid files: the share of the oracle's gain over sending requests\n"
    "at random (area between the cost-quality curves), and the regret against the oracle in\n"
    "nats/token where half of the requests go to the small model. Means over trainings,\n"
    "each judged by itself, and their range; 95 % bootstrap intervals over documents, the\n"
    "same ones for all routers. --eval adds a file to both parts, half of it to each.";

constexpr std::array<std::string_view, 2> kShippedModels = {"deploy/models/ruvdllm-5m.q8_0.gguf",
                                                            "deploy/models/ruvdllm-29m.q8_0.gguf"};

struct Arguments : CommonArguments {
  std::string other;
  SessionShape shape{.requests = 8, .tokens = 64, .context = 128};
  size_t documents = 60;  // of a train file
  double margin = 0.3;
};

struct Request {
  inference::RoutingExample example;
  size_t document = 0;
  double excess = 0;  // of the small model, nats/token
};

// Log frequencies of tokens, with one added to every count.
class Unigram {
 public:
  Unigram(const std::vector<Session>& sessions, size_t vocabulary) : counts_(vocabulary, 1) {
    for (const Session& session : sessions) {
      for (const inference::TokenId token : session.tokens) {
        counts_[token] += 1;
      }
    }
    total_ = std::accumulate(counts_.begin(), counts_.end(), 0.0);
  }
  double Surprise(std::span<const inference::TokenId> tokens) const {
    double bits = 0;
    for (const inference::TokenId token : tokens) {
      bits -= std::log2(counts_[token] / total_);
    }
    return bits / std::max(1.0, static_cast<double>(tokens.size()));
  }

 private:
  std::vector<double> counts_;
  double total_ = 0;
};

// What the small model says about a prompt that it has read.
struct PromptReading {
  double entropy = 0;  // normalised
  double confidence = 0;
};

absl::StatusOr<PromptReading> ReadPrompt(inference::Transformer& small,
                                         std::span<const inference::TokenId> prompt) {
  inference::ForwardOutput output;
  RETURN_IF_ERROR(small.Forward(
      {.tokens = prompt, .attention = {.kind = inference::Attention::Kind::kCausal}}, &output));
  const auto vocabulary = static_cast<size_t>(small.model().config().vocabulary);
  std::vector<float> logits(prompt.size() * vocabulary);
  small.Logits(output.hidden, nullptr, logits);
  PromptReading reading;
  for (size_t i = 0; i < prompt.size(); ++i) {
    const auto row = std::span<const float>(logits).subspan(i * vocabulary, vocabulary);
    const inference::RowSummary summary = inference::Summarise(row, inference::kNoToken);
    reading.entropy += summary.entropy / std::log(static_cast<double>(vocabulary));
    reading.confidence += summary.Probability(row[summary.best]);
  }
  reading.entropy /= static_cast<double>(prompt.size());
  reading.confidence /= static_cast<double>(prompt.size());
  return reading;
}

double NatsOf(const RequestOutputs& outputs) {
  const size_t vocabulary = outputs.logits.size() / outputs.predictions.size();
  double nats = 0;
  for (size_t i = 0; i < outputs.predictions.size(); ++i) {
    nats += outputs.predictions[i].weight *
            CrossEntropyOf(std::span(outputs.logits).subspan(i * vocabulary, vocabulary),
                           outputs.predictions[i].target);
  }
  return nats;
}

absl::StatusOr<std::vector<Request>> Measure(inference::Transformer& small,
                                             inference::Transformer& large,
                                             const std::vector<Session>& sessions,
                                             const Unigram& unigram, const Arguments& arguments) {
  std::vector<Request> requests;
  for (size_t document = 0; document < sessions.size(); ++document) {
    const Session& session = sessions[document];
    for (int i = 1; i < arguments.shape.requests; ++i) {  // the first has hardly a prompt
      const auto end = static_cast<size_t>(i * arguments.shape.tokens) + 1;
      const size_t begin = end - std::min(end, static_cast<size_t>(arguments.shape.context));
      const auto prompt = std::span(session.tokens).subspan(begin, end - begin);
      ASSIGN_OR_RETURN(const PromptReading reading, ReadPrompt(small, prompt));
      ASSIGN_OR_RETURN(const RequestOutputs by_small,
                       PredictRequest(small, session, arguments.shape, i, false, 0));
      ASSIGN_OR_RETURN(const RequestOutputs by_large,
                       PredictRequest(large, session, arguments.shape, i, false, 0));
      const auto features = inference::RouterFeatures(
          {.prompt_tokens = static_cast<int>(prompt.size()),
           .max_tokens = arguments.shape.tokens,
           .autoregressive = true,
           .unigram_surprise = static_cast<float>(unigram.Surprise(prompt)),
           .first_entropy = static_cast<float>(reading.entropy),
           .first_confidence = static_cast<float>(reading.confidence)});
      const double excess = NatsOf(by_small) - NatsOf(by_large);
      requests.push_back({.example = {.features = {features.begin(), features.end()},
                                      .good = excess <= arguments.margin},
                          .document = document,
                          .excess = excess});
    }
  }
  return requests;
}

struct Kind {
  std::string name;
  inference::ScorerShape shape;
  double density = 1;
};

std::vector<Kind> Kinds() {
  constexpr uint32_t kInputs = inference::kRouterFeatures;
  return {{"cascade",
           {.kind = inference::ScorerKind::kCascade,
            .inputs = kInputs,
            .confidence = inference::kConfidenceFeature}},
          {"logistic", {.kind = inference::ScorerKind::kLogistic, .inputs = kInputs}},
          {"mlp", {.kind = inference::ScorerKind::kMlp, .inputs = kInputs, .hidden = 16}},
          {"fastgrnn",
           {.kind = inference::ScorerKind::kFastGrnn, .inputs = kInputs, .hidden = 16, .steps = 4}},
          {"fastgrnn, density 0.5, bytes",
           {.kind = inference::ScorerKind::kFastGrnn, .inputs = kInputs, .hidden = 16, .steps = 4},
           0.5}};
}

std::vector<inference::RoutingExample> ExamplesAt(const std::vector<Request>& requests,
                                                  const std::vector<size_t>& places) {
  std::vector<inference::RoutingExample> examples;
  examples.reserve(places.size());
  for (const size_t place : places) {
    examples.push_back(requests[place].example);
  }
  return examples;
}

// What the trainings of a kind say about the requests to judge by.
struct KindScores {
  std::vector<std::vector<double>> scores;  // by training, by request
  double loss = 0;                          // mean over both
};

absl::StatusOr<KindScores> TrainKind(const Kind& kind, const std::vector<Request>& train,
                                     const std::vector<Request>& test, int seeds) {
  std::vector<size_t> documents;
  documents.reserve(train.size());
  for (const Request& request : train) {
    documents.push_back(request.document);
  }
  KindScores result;
  for (int seed = 0; seed < seeds; ++seed) {
    Random random(static_cast<uint64_t>(seed) + 1);
    // A fifth of the documents is for the calibration: on documents that were learned it would see
    // the answers.
    const DocumentSplit split = HoldBackDocuments(documents, random);
    ASSIGN_OR_RETURN(const std::unique_ptr<inference::Scorer> scorer,
                     inference::Scorer::Create(kind.shape, random));
    RETURN_IF_ERROR(inference::TrainScorer(ExamplesAt(train, split.taught),
                                           {.density = kind.density}, random, scorer.get()));
    if (kind.density < 1) {
      inference::QuantizeToBytes(scorer.get());
    }
    const inference::Calibration calibration =
        inference::FitCalibration(*scorer, ExamplesAt(train, split.held_back));
    std::vector<double>& scores = result.scores.emplace_back();
    for (const Request& request : test) {
      const double p = calibration.Probability(scorer->Logit(request.example.features));
      scores.push_back(p);
      result.loss += inference::LogisticLoss(std::log(p / (1 - p)), request.example.good) /
                     static_cast<double>(test.size() * static_cast<size_t>(seeds));
    }
  }
  return result;
}

// Returns the kinds that are better than chance, than the cascade and than logistic regression.
std::string Verdict(const nlohmann::json& routers) {
  std::string passed;
  for (const auto& [name, router] : routers.items()) {
    bool better = IntervalIn(router["share_of_oracle"]).low > 0;
    for (const char* baseline : {"cascade", "logistic"}) {
      const std::string key = fmt::format("share_less_{}", baseline);
      better = better && (name == baseline || IntervalIn(router[key]).low > 0);
    }
    passed += better ? (passed.empty() ? "" : ", ") + name : "";
  }
  return fmt::format("{} better than chance and than the other of cascade and logistic regression",
                     passed.empty() ? "no router is shown to be" : passed);
}

absl::Status TrainAndJudge(const std::vector<Request>& train, const std::vector<Request>& test,
                           int seeds, nlohmann::json* out) {
  std::vector<RoutedRequest> requests;
  requests.reserve(test.size());
  for (const Request& request : test) {
    requests.push_back({.document = request.document, .excess = request.excess});
  }
  std::map<std::string, JudgedDraws> draws;
  fmt::print(
      "| router | share of the oracle's gain | trainings | less cascade | less logistic | regret "
      "at half | log loss |\n");
  for (const Kind& kind : Kinds()) {
    ASSIGN_OR_RETURN(const KindScores scores, TrainKind(kind, train, test, seeds));
    const JudgedDraws& own = draws[kind.name] = JudgeTrainings(requests, scores.scores);
    nlohmann::json& report = (*out)["routers"][kind.name];
    report = {{"share_of_oracle", ToJson(IntervalOf(own.shares))},
              {"regret", ToJson(IntervalOf(own.regrets))},
              {"trainings", own.trainings},
              {"log_loss", scores.loss}};
  }
  for (const Kind& kind : Kinds()) {
    const JudgedDraws& own = draws[kind.name];
    nlohmann::json& report = (*out)["routers"][kind.name];
    std::string differences;
    for (const char* baseline : {"cascade", "logistic"}) {
      const Interval difference = DifferenceOf(own.shares, draws[baseline].shares);
      report[fmt::format("share_less_{}", baseline)] = ToJson(difference);
      differences += kind.name == baseline ? " |" : " " + ToText(difference) + " |";
    }
    const auto [least, most] = std::ranges::minmax(own.trainings);
    fmt::print("| {} | {} | {:+.3f} to {:+.3f} |{} {} | {:.3f} |\n", kind.name,
               ToText(IntervalOf(own.shares)), least, most, differences,
               ToText(IntervalOf(own.regrets)), report["log_loss"].get<double>());
  }
  (*out)["verdict"] = Verdict((*out)["routers"]);
  fmt::print("verdict: {}\n", (*out)["verdict"].get<std::string>());
  return absl::OkStatus();
}

absl::Status ReadAll(const Arguments& arguments, const inference::Tokenizer& tokenizer,
                     std::vector<Session>* train, std::vector<Session>* test) {
  constexpr size_t kAny = 1000;
  ASSIGN_OR_RETURN(const std::vector<std::string> domains, DomainsIn(arguments.corpus));
  const auto add = [&](const std::string& path, size_t most, std::vector<Session>* to) {
    auto own = ReadSessions(path, "", tokenizer, arguments.shape, most);
    if (own.ok()) {
      std::move(own->begin(), own->end(), std::back_inserter(*to));
    }
    return own.status();
  };
  for (const std::string& domain : domains) {
    const std::string path = fmt::format("{}/{}", arguments.corpus, domain);
    RETURN_IF_ERROR(add(path + ".train.jsonl.zst", arguments.documents, train));
    RETURN_IF_ERROR(add(path + ".valid.jsonl.zst", kAny, test));
  }
  if (!arguments.eval.empty()) {
    std::vector<Session> both;
    RETURN_IF_ERROR(add(arguments.eval, kAny, &both));
    for (size_t i = 0; i < both.size(); ++i) {
      (i % 2 == 0 ? train : test)->push_back(std::move(both[i]));
    }
  }
  return absl::OkStatus();
}

// Both models must read the same token numbers.
absl::Status CheckSameVocabulary(const inference::Tokenizer& small,
                                 const inference::Tokenizer& large) {
  bool same = small.size() == large.size();
  for (size_t i = 0; same && i < small.size(); ++i) {
    const auto token = static_cast<inference::TokenId>(i);
    same = small.Piece(token) == large.Piece(token) &&
           small.IsSpecial(token) == large.IsSpecial(token);
  }
  return same ? absl::OkStatus()
              : Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                      "--model and --other have different vocabularies; give two models of one "
                      "tokenizer");
}

struct ModelPair {
  std::shared_ptr<const inference::Model> small;
  std::shared_ptr<const inference::Model> large;
};

// Counts the weights of the linear layers of a block, which is what decides between a small and a
// large model.
int64_t SizeOf(const inference::Model& model) {
  const inference::ModelConfig& config = model.config();
  return int64_t{config.layers} * config.width * (config.width + config.ffn);
}

// Loads the shipped model that --model is not, unless --other names one.
absl::StatusOr<ModelPair> LoadModels(const Arguments& arguments) {
  ModelPair models;
  ASSIGN_OR_RETURN(models.large, inference::Model::Load(arguments.model));
  std::vector<std::string> others(kShippedModels.begin(), kShippedModels.end());
  if (!arguments.other.empty()) {
    others = {arguments.other};
  }
  for (const std::string& path : others) {
    ASSIGN_OR_RETURN(models.small, inference::Model::Load(path));
    if (SizeOf(*models.small) != SizeOf(*models.large)) {
      break;
    }
  }
  if (SizeOf(*models.small) == SizeOf(*models.large)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "{} is as large as {}; name a smaller or larger model with --other", others.back(),
                 arguments.model);
  }
  if (SizeOf(*models.small) > SizeOf(*models.large)) {
    std::swap(models.small, models.large);
  }
  RETURN_IF_ERROR(CheckSameVocabulary(models.small->tokenizer(), models.large->tokenizer()));
  return models;
}

absl::Status Run(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto results_file, ResultsFile::Create(arguments.out));
  ThreadParallelRunner runner(arguments.threads);
  ASSIGN_OR_RETURN(const ModelPair models, LoadModels(arguments));
  const auto& [small_model, large_model] = models;
  const inference::BackendOptions options{.precision = inference::Precision::kFast,
                                          .runner = runner};
  ASSIGN_OR_RETURN(const auto small, inference::DefaultBackend().Load(small_model, options));
  ASSIGN_OR_RETURN(const auto large, inference::DefaultBackend().Load(large_model, options));
  std::vector<Session> train_text;
  std::vector<Session> test_text;
  RETURN_IF_ERROR(ReadAll(arguments, small_model->tokenizer(), &train_text, &test_text));
  const Unigram unigram(train_text, static_cast<size_t>(small_model->config().vocabulary));
  ASSIGN_OR_RETURN(const std::vector<Request> train,
                   Measure(*small, *large, train_text, unigram, arguments));
  ASSIGN_OR_RETURN(const std::vector<Request> test,
                   Measure(*small, *large, test_text, unigram, arguments));
  const auto good = std::count_if(test.begin(), test.end(),
                                  [](const Request& request) { return request.example.good; });
  double excess = 0;
  for (const Request& request : test) {
    excess += request.excess / static_cast<double>(test.size());
  }
  nlohmann::json out = {
      {"experiment", "learn_router"},  {"train", train.size()}, {"test", test.size()},
      {"documents", test_text.size()}, {"good", good},          {"mean_excess", excess},
      {"margin", arguments.margin}};
  fmt::print(
      "{} requests to learn from, {} of {} documents to judge by; the small model is {:.3f} "
      "nats/token worse and good enough for {}\n",
      train.size(), test.size(), test_text.size(), excess, good);
  RETURN_IF_ERROR(TrainAndJudge(train, test, arguments.seeds, &out));
  return results_file->Write(out);
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  ruvd::bench::Arguments arguments;
  CLI::App app(ruvd::bench::kDescription);
  arguments.seeds = 5;
  ruvd::bench::AddCommonFlags(
      {.eval = "a further file of documents", .seeds = "trainings of each router"}, &app,
      &arguments);
  app.add_option("--other", arguments.other,
                 "GGUF file of a smaller or larger model with the same tokenizer; default: of\n"
                 "deploy/models, the first of another size");
  app.add_option("--documents", arguments.documents, "at most so many of a train file");
  app.add_option("--margin", arguments.margin, "nats/token");
  return ruvd::bench::RunExperiment(app, argc, argv, [&] { return ruvd::bench::Run(arguments); });
}
