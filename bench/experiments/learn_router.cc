// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Whether a router sends the right requests to the small model: `learn_router --help`.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "base/parallel.h"
#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/paired.h"
#include "bench/experiments/sessions.h"
#include "inference/backend/backend.h"
#include "inference/router/router.h"
#include "inference/sampler/distribution.h"

namespace ruvd::bench {
namespace {

constexpr char kDescription[] =
    "Requests are pieces of documents: given the tokens before it, a piece of 64 tokens is read\n"
    "from left to right by a small and a large model. The small one is good enough where it is at\n"
    "most --margin nats/token worse. Routers see what is known beforehand: lengths, the unigram\n"
    "surprise of the prompt, and the small model's entropy and confidence over the prompt. Each "
    "is\n"
    "trained on the domains' train files and judged on their valid files: the share of the "
    "oracle's\n"
    "gain over sending requests at random (area between the cost-quality curves), and the regret\n"
    "against the oracle in nats/token where half of the requests go to the small model. 95 %\n"
    "bootstrap intervals over documents. --eval adds a file to both parts, half of it to each.";

struct Arguments {
  std::string small;
  std::string large;
  std::string corpus;
  std::string eval;
  std::string out;
  SessionShape shape{.requests = 8, .tokens = 64, .context = 128};
  size_t documents = 60;  // of a train file
  double margin = 0.3;
  int seeds = 5;
  int threads = 2;
};

struct Request {
  RoutingExample example;
  size_t document = 0;
  double excess = 0;  // of the small model, nats/token
};

// Log frequencies of tokens, with one added to every count.
class Unigram {
 public:
  Unigram(const std::vector<Session>& sessions, size_t vocabulary) : counts_(vocabulary, 1) {
    for (const Session& session : sessions) {
      for (const TokenId token : session.tokens) {
        counts_[token] += 1;
      }
    }
    total_ = std::accumulate(counts_.begin(), counts_.end(), 0.0);
  }
  double Surprise(std::span<const TokenId> tokens) const {
    double bits = 0;
    for (const TokenId token : tokens) {
      bits -= std::log2(counts_[token] / total_);
    }
    return bits / std::max(1.0, static_cast<double>(tokens.size()));
  }

 private:
  std::vector<double> counts_;
  double total_ = 0;
};

// What the small model says of a prompt that it has read.
struct PromptReading {
  double entropy = 0;  // normalised
  double confidence = 0;
};

absl::StatusOr<PromptReading> ReadPrompt(Transformer& small, std::span<const TokenId> prompt) {
  ForwardOutput output;
  RETURN_IF_ERROR(
      small.Forward({.tokens = prompt, .attention = {.kind = Attention::Kind::kCausal}}, &output));
  const auto vocabulary = static_cast<size_t>(small.model().config().vocabulary);
  std::vector<float> logits(prompt.size() * vocabulary);
  small.Logits(output.hidden, nullptr, logits);
  PromptReading reading;
  for (size_t i = 0; i < prompt.size(); ++i) {
    const auto row = std::span<const float>(logits).subspan(i * vocabulary, vocabulary);
    const RowSummary summary = Summarise(row, kNoToken);
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

absl::StatusOr<std::vector<Request>> Measure(Transformer& small, Transformer& large,
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
      const auto features =
          RouterFeatures({.prompt_tokens = static_cast<int>(prompt.size()),
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

// Mean excess nats/token of the requests that go to the small model, summed along the curve of
// shares 0..1, where `order` is who goes first.
struct Curve {
  double area = 0;
  double at_half = 0;
};
Curve CurveOf(std::span<const Request* const> requests, std::vector<size_t> order) {
  const auto count = static_cast<double>(requests.size());
  Curve curve;
  double sum = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const double before = sum;
    sum += requests[order[i]]->excess / count;
    curve.area += (before + sum) / 2 / count;
    if (i + 1 == (order.size() + 1) / 2) {
      curve.at_half = sum;
    }
  }
  return curve;
}

std::vector<size_t> OrderBy(std::span<const double> keys) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [keys](size_t a, size_t b) { return keys[a] < keys[b]; });
  return order;
}

struct Judged {
  double share = 0;   // of the oracle's gain over random
  double regret = 0;  // nats/token at half
};

// `scores`: by request, higher goes to the small model first.
Judged Judge(std::span<const Request* const> requests, std::span<const double> scores) {
  std::vector<double> keys;
  std::vector<double> truth;
  for (size_t i = 0; i < requests.size(); ++i) {
    keys.push_back(-scores[i]);
    truth.push_back(requests[i]->excess);
  }
  const Curve own = CurveOf(requests, OrderBy(keys));
  const Curve oracle = CurveOf(requests, OrderBy(truth));
  const double random =
      std::accumulate(truth.begin(), truth.end(), 0.0) / static_cast<double>(truth.size()) / 2;
  return {.share = (random - own.area) / (random - oracle.area),
          .regret = own.at_half - oracle.at_half};
}

// Both measures with intervals over documents.
std::pair<Interval, Interval> JudgeWithIntervals(const std::vector<Request>& requests,
                                                 const std::vector<double>& scores) {
  constexpr int kSamples = 1000;
  std::map<size_t, std::vector<size_t>> by_document;
  for (size_t i = 0; i < requests.size(); ++i) {
    by_document[requests[i].document].push_back(i);
  }
  std::vector<std::vector<size_t>> documents;
  for (const auto& [document, own] : by_document) {
    documents.push_back(own);
  }
  Random random(1);
  std::vector<double> shares;
  std::vector<double> regrets;
  for (int sample = 0; sample <= kSamples; ++sample) {  // the first one is the sample itself
    std::vector<const Request*> drawn;
    std::vector<double> keys;
    for (size_t i = 0; i < documents.size(); ++i) {
      for (const size_t at : documents[sample == 0 ? i : random.Below(documents.size())]) {
        drawn.push_back(&requests[at]);
        keys.push_back(scores[at]);
      }
    }
    const Judged judged = Judge(drawn, keys);
    shares.push_back(judged.share);
    regrets.push_back(judged.regret);
  }
  const auto interval = [](std::vector<double> values) {
    const double mean = values.front();
    std::ranges::sort(values);
    constexpr size_t kTail = kSamples / 40;
    return Interval{.mean = mean, .low = values[kTail], .high = values[kSamples - kTail]};
  };
  return {interval(shares), interval(regrets)};
}

struct Kind {
  std::string name;
  ScorerShape shape;
  double density = 1;
};

std::vector<Kind> Kinds() {
  constexpr uint32_t kInputs = kRouterFeatures;
  return {
      {"cascade",
       {.kind = ScorerKind::kCascade, .inputs = kInputs, .confidence = kConfidenceFeature}},
      {"logistic", {.kind = ScorerKind::kLogistic, .inputs = kInputs}},
      {"mlp", {.kind = ScorerKind::kMlp, .inputs = kInputs, .hidden = 16}},
      {"fastgrnn", {.kind = ScorerKind::kFastGrnn, .inputs = kInputs, .hidden = 16, .steps = 4}},
      {"fastgrnn, density 0.5, bytes",
       {.kind = ScorerKind::kFastGrnn, .inputs = kInputs, .hidden = 16, .steps = 4},
       0.5}};
}

absl::Status TrainAndJudge(const Kind& kind, const std::vector<Request>& train,
                           const std::vector<Request>& test, int seeds, nlohmann::json* out) {
  std::vector<RoutingExample> examples;
  for (const Request& request : train) {
    examples.push_back(request.example);
  }
  // A fifth is for the calibration.
  const size_t split = examples.size() * 4 / 5;
  std::vector<double> scores(test.size());
  double loss = 0;
  for (int seed = 0; seed < seeds; ++seed) {
    Random random(static_cast<uint64_t>(seed) + 1);
    random.Shuffle(std::span(examples));
    ASSIGN_OR_RETURN(const std::unique_ptr<Scorer> scorer, Scorer::Create(kind.shape, random));
    RETURN_IF_ERROR(TrainScorer(std::span(examples).first(split), {.density = kind.density}, random,
                                scorer.get()));
    if (kind.density < 1) {
      QuantizeToBytes(scorer.get());
    }
    const Calibration calibration = FitCalibration(*scorer, std::span(examples).subspan(split));
    for (size_t i = 0; i < test.size(); ++i) {
      const double p = calibration.Probability(scorer->Logit(test[i].example.features));
      scores[i] += p / seeds;
      loss += LogisticLoss(std::log(p / (1 - p)), test[i].example.good) /
              static_cast<double>(test.size() * static_cast<size_t>(seeds));
    }
  }
  const auto [share, regret] = JudgeWithIntervals(test, scores);
  fmt::print("| {} | {} | {} | {:.3f} |\n", kind.name, ToText(share), ToText(regret), loss);
  (*out)["routers"][kind.name] = {
      {"share_of_oracle", ToJson(share)}, {"regret", ToJson(regret)}, {"log_loss", loss}};
  return absl::OkStatus();
}

absl::Status ReadAll(const Arguments& arguments, const Tokenizer& tokenizer,
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

// Both read the same token numbers.
absl::Status CheckSameVocabulary(const Tokenizer& small, const Tokenizer& large) {
  bool same = small.size() == large.size();
  for (size_t i = 0; same && i < small.size(); ++i) {
    const auto token = static_cast<TokenId>(i);
    same = small.Piece(token) == large.Piece(token) &&
           small.IsSpecial(token) == large.IsSpecial(token);
  }
  return same ? absl::OkStatus()
              : Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                      "--small and --large have different vocabularies; give two models of one "
                      "tokenizer");
}

absl::Status Run(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto results_file, ResultsFile::Create(arguments.out));
  ThreadParallelRunner runner(arguments.threads);
  ASSIGN_OR_RETURN(const std::shared_ptr<const Model> small_model, Model::Load(arguments.small));
  ASSIGN_OR_RETURN(const std::shared_ptr<const Model> large_model, Model::Load(arguments.large));
  RETURN_IF_ERROR(CheckSameVocabulary(small_model->tokenizer(), large_model->tokenizer()));
  const BackendOptions options{.precision = Precision::kFast, .runner = runner};
  ASSIGN_OR_RETURN(const auto small, DefaultBackend().Load(small_model, options));
  ASSIGN_OR_RETURN(const auto large, DefaultBackend().Load(large_model, options));
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
  fmt::print("| router | share of the oracle's gain | regret at half | log loss |\n");
  for (const Kind& kind : Kinds()) {
    RETURN_IF_ERROR(TrainAndJudge(kind, train, test, arguments.seeds, &out));
  }
  return results_file->Write(out);
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  ruvd::bench::Arguments arguments;
  CLI::App app(ruvd::bench::kDescription);
  app.add_option("--small", arguments.small, "GGUF file")->required();
  app.add_option("--large", arguments.large, "GGUF file with the same tokenizer")->required();
  app.add_option("--corpus", arguments.corpus, "folder of NAME.train and NAME.valid .jsonl.zst")
      ->required();
  app.add_option("--eval", arguments.eval, "a further file of documents");
  app.add_option("--documents", arguments.documents, "at most so many of a train file");
  app.add_option("--margin", arguments.margin, "nats/token");
  app.add_option("--seeds", arguments.seeds, "trainings of each router")->check(CLI::Range(1, 100));
  app.add_option("--out", arguments.out, "file of the results, JSON");
  app.add_option("--threads", arguments.threads)->check(CLI::Range(1, 64));
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = ruvd::bench::Run(arguments);
  if (!status.ok()) {
    fmt::print(stderr, "{}\n", ruvd::MessageOf(status));
  }
  return status.ok() ? 0 : 1;
}
