// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Measures how well embeddings find what belongs together, as they are and whitened:
// `embedding_study --help`. Prints one JSON line for each way.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "inference/backend/backend.h"
#include "inference/evaluate/text_documents.h"
#include "inference/model/model.h"
#include "inference/retrieval/whitening.h"
#include "inference/transformer/transformer.h"

namespace ruvd::bench {
namespace {

constexpr char kDescription[] =
    "Embeds pairs of passages that follow each other in one document, looks for the second among\n"
    "the second passages of all documents by the first, and says how often it is found. JSON "
    "keys:\n"
    "embedding; first (share of pairs whose other half is the nearest), reciprocal_rank (mean);\n"
    "same_file (share whose nearest passage of another document is of the same file); pair and\n"
    "stranger (mean cosine of pairs and of passages of different documents); threshold (cosines "
    "that\n"
    "one stranger in 100, 1000 and 10,000 exceeds) and above (shares of pairs above them).";

struct Arguments {
  std::string model;
  std::vector<std::string> train;
  std::vector<std::string> test;
  int tokens = 32;
  int train_passages = 4000;
  int pairs_per_document = 4;
  int threads = 2;
};

struct Pair {
  size_t file = 0;
  size_t document = 0;
  std::vector<float> first;
  std::vector<float> second;
};

absl::StatusOr<std::vector<float>> TrainRows(const Arguments& arguments,
                                             inference::Transformer& transformer) {
  std::vector<float> rows;
  const auto length = static_cast<size_t>(arguments.tokens);
  for (const std::string& file : arguments.train) {
    ASSIGN_OR_RETURN(const auto documents, inference::ReadTextDocuments(file));
    const size_t wanted = static_cast<size_t>(arguments.train_passages) / arguments.train.size();
    const size_t each = wanted / documents.size() + 1;
    size_t taken = 0;
    for (size_t d = 0; d < documents.size() && taken < wanted; ++d) {
      const auto tokens = transformer.model().tokenizer().Encode(documents[d]);
      for (size_t i = 0; i < each && tokens.size() >= length && taken < wanted; ++i, ++taken) {
        const size_t at = (tokens.size() - length) * i / each;
        ASSIGN_OR_RETURN(const auto row, inference::EmbedTokens(
                                             transformer, std::span(tokens).subspan(at, length)));
        rows.insert(rows.end(), row.begin(), row.end());
      }
    }
  }
  return rows;
}

absl::StatusOr<std::vector<Pair>> TestPairs(const Arguments& arguments,
                                            inference::Transformer& transformer) {
  std::vector<Pair> pairs;
  const auto length = static_cast<size_t>(arguments.tokens);
  size_t number = 0;
  for (size_t file = 0; file < arguments.test.size(); ++file) {
    ASSIGN_OR_RETURN(const auto documents, inference::ReadTextDocuments(arguments.test[file]));
    for (const std::string& document : documents) {
      const auto tokens = transformer.model().tokenizer().Encode(document);
      const auto each = static_cast<size_t>(arguments.pairs_per_document);
      for (size_t i = 0; i < each && tokens.size() >= 2 * length * each; ++i) {
        const auto passage = std::span(tokens).subspan(tokens.size() / each * i);
        Pair pair{.file = file, .document = number};
        ASSIGN_OR_RETURN(pair.first, inference::EmbedTokens(transformer, passage.first(length)));
        ASSIGN_OR_RETURN(pair.second,
                         inference::EmbedTokens(transformer, passage.subspan(length, length)));
        pairs.push_back(std::move(pair));
      }
      ++number;
    }
  }
  return pairs;
}

float Dot(const std::vector<float>& a, const std::vector<float>& b) {
  float sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

nlohmann::ordered_json Judge(const std::string& name, const std::vector<Pair>& pairs) {
  double first = 0, reciprocal = 0, same_file = 0, own = 0, stranger = 0;
  std::vector<float> own_values, strangers;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const float mine = Dot(pairs[i].first, pairs[i].second);
    size_t rank = 1;
    float best = -2;
    size_t best_file = 0;
    for (size_t j = 0; j < pairs.size(); ++j) {
      const float value = Dot(pairs[i].first, pairs[j].second);
      rank += j != i && value > mine ? 1 : 0;
      if (pairs[j].document != pairs[i].document) {
        strangers.push_back(value);
        stranger += value;
        if (value > best) {
          best = value;
          best_file = pairs[j].file;
        }
      }
    }
    first += rank == 1 ? 1 : 0;
    reciprocal += 1 / static_cast<double>(rank);
    same_file += best_file == pairs[i].file ? 1 : 0;
    own += mine;
    own_values.push_back(mine);
  }
  std::sort(strangers.begin(), strangers.end(), std::greater<>());
  nlohmann::ordered_json thresholds = nlohmann::ordered_json::array();
  nlohmann::ordered_json above = nlohmann::ordered_json::array();
  for (const size_t one_in : {100, 1000, 10'000}) {
    const float threshold = strangers[strangers.size() / one_in];
    const auto found = std::count_if(own_values.begin(), own_values.end(),
                                     [threshold](float value) { return value > threshold; });
    thresholds.push_back(threshold);
    above.push_back(static_cast<double>(found) / static_cast<double>(pairs.size()));
  }
  const auto n = static_cast<double>(pairs.size());
  return {{"embedding", name},
          {"pairs", pairs.size()},
          {"first", first / n},
          {"reciprocal_rank", reciprocal / n},
          {"same_file", same_file / n},
          {"pair", own / n},
          {"stranger", stranger / static_cast<double>(strangers.size())},
          {"threshold", thresholds},
          {"above", above}};
}

absl::Status Run(const Arguments& arguments) {
  ASSIGN_OR_RETURN(const auto model, inference::Model::Load(arguments.model));
  ThreadParallelRunner runner(arguments.threads);
  ASSIGN_OR_RETURN(const auto transformer,
                   inference::DefaultBackend().Load(
                       model, {.precision = inference::Precision::kFast, .runner = runner}));
  ASSIGN_OR_RETURN(const std::vector<float> rows, TrainRows(arguments, *transformer));
  ASSIGN_OR_RETURN(const std::vector<Pair> pairs, TestPairs(arguments, *transformer));
  fmt::print("{}\n", Judge("as it is", pairs).dump());
  for (const float shrinkage : {1.0F, 0.5F, 0.2F, 0.1F, 0.05F, 0.02F, 0.01F}) {
    ASSIGN_OR_RETURN(
        const inference::Whitening whitening,
        inference::Whitening::Estimate(model->hash(), rows, model->config().width, shrinkage));
    std::vector<Pair> whitened = pairs;
    for (Pair& pair : whitened) {
      pair.first = whitening.Apply(pair.first);
      pair.second = whitening.Apply(pair.second);
    }
    fmt::print("{}\n", Judge(fmt::format("whitened, shrinkage {}", shrinkage), whitened).dump());
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace ruvd::bench

int main(int argc, char** argv) {
  ruvd::bench::Arguments arguments;
  CLI::App app{ruvd::bench::kDescription, "embedding_study"};
  app.add_option("--model", arguments.model, "GGUF file")->required();
  app.add_option("--train", arguments.train, "Texts for the statistics")->required();
  app.add_option("--test", arguments.test, "Texts for the pairs, a file for each subject")
      ->required();
  app.add_option("--tokens", arguments.tokens, "Of a passage")->check(CLI::Range(1, 256));
  app.add_option("--train-passages", arguments.train_passages)->check(CLI::Range(2, 1'000'000));
  app.add_option("--pairs", arguments.pairs_per_document)->check(CLI::Range(1, 64));
  app.add_option("--threads", arguments.threads)->check(CLI::Range(1, 64));
  CLI11_PARSE(app, argc, argv);
  if (const absl::Status status = ruvd::bench::Run(arguments); !status.ok()) {
    fmt::print(stderr, "{}\n", ruvd::MessageOf(status));
    return 1;
  }
  return 0;
}
