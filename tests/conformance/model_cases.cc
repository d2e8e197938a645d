// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/status.h"
#include "inference/adapter/adapter_file.h"
#include "inference/model/cpu_transformer.h"
#include "tests/conformance/suite.h"

namespace ruvd::conformance {
namespace {

double RelativeRms(std::span<const float> actual, std::span<const float> golden) {
  double error = 0;
  double size = 0;
  for (size_t i = 0; i < golden.size(); ++i) {
    const double difference = double{actual[i]} - golden[i];
    error += difference * difference;
    size += double{golden[i]} * golden[i];
  }
  return std::sqrt(error / size);
}

absl::StatusOr<AdapterMix> LoadAdapters(const Suite& suite, const nlohmann::json& entries,
                                        const Model& model) {
  AdapterMix mix;
  for (const auto& entry : entries) {
    ASSIGN_OR_RETURN(auto adapter, LoadAdapterFile(suite.Path(entry.at("file")), model));
    mix.parts.push_back({.adapter = std::move(adapter), .weight = entry.at("scale").get<float>()});
  }
  return mix;
}

// Logits of all rows, tokens x vocabulary.
absl::StatusOr<std::vector<float>> AllLogits(Transformer& transformer,
                                             std::span<const TokenId> tokens, bool causal,
                                             const AdapterMix& adapters) {
  ForwardInput input;
  input.tokens = tokens;
  input.attention.kind = causal ? Attention::Kind::kCausal : Attention::Kind::kBidirectional;
  input.adapters = &adapters;
  ForwardOutput output;
  RETURN_IF_ERROR(transformer.Forward(input, &output));
  const auto vocabulary = static_cast<size_t>(transformer.model().config().vocabulary);
  std::vector<float> logits(tokens.size() * vocabulary);
  transformer.Logits(output.hidden, &adapters, logits);
  return logits;
}

absl::Status RunLogitsCase(const Suite& suite, const std::string& id, const nlohmann::json& entry) {
  const auto model = LoadModel(suite, id, entry.at("model"));
  if (model == nullptr) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const AdapterMix adapters, LoadAdapters(suite, entry.at("lora"), *model));
  CpuTransformer transformer(model, SerialRunner());
  const auto tokens = entry.at("tokens").get<std::vector<TokenId>>();
  ASSIGN_OR_RETURN(const std::vector<float> logits,
                   AllLogits(transformer, tokens, entry.at("causal").get<bool>(), adapters));
  ASSIGN_OR_RETURN(const std::vector<float> golden,
                   ReadFloats(suite.Path(entry.at("golden_exact"))));
  if (golden.size() != logits.size()) {
    suite.report->Fail(id, fmt::format("{} logits instead of {}", logits.size(), golden.size()));
    return absl::OkStatus();
  }
  const double error = RelativeRms(logits, golden);
  const double limit = entry.at("limit_exact").get<double>();
  if (!(error <= limit)) {  // also for NaN
    suite.report->Fail(id, fmt::format("relative rms error {:.3g} exceeds {:.3g}", error, limit));
    return absl::OkStatus();
  }
  suite.report->Pass();
  return absl::OkStatus();
}

// Greedy continuation without a cache: every token from a forward over the whole text.
absl::Status RunGreedyCase(const Suite& suite, const std::string& id, const nlohmann::json& entry) {
  const auto model = LoadModel(suite, id, entry.at("model"));
  if (model == nullptr) {
    return absl::OkStatus();
  }
  CpuTransformer transformer(model, SerialRunner());
  auto tokens = entry.at("prompt").get<std::vector<TokenId>>();
  const auto vocabulary = static_cast<std::ptrdiff_t>(model->config().vocabulary);
  for (const auto& expected : entry.at("continuation")) {
    ASSIGN_OR_RETURN(const std::vector<float> logits,
                     AllLogits(transformer, tokens, /*causal=*/true, {}));
    const auto last = logits.end() - vocabulary;
    const auto best = static_cast<TokenId>(std::max_element(last, logits.end()) - last);
    if (best != expected.get<TokenId>()) {
      suite.report->Fail(id, fmt::format("token {} is {} instead of {}", tokens.size(), best,
                                         expected.get<TokenId>()));
      return absl::OkStatus();
    }
    tokens.push_back(best);
  }
  suite.report->Pass();
  return absl::OkStatus();
}

}  // namespace

void RunLogits(const Suite& suite) {
  for (const auto& entry : suite.manifest.at("logits")) {
    const std::string id = "logits " + entry.at("id").get<std::string>();
    if (absl::Status status = RunLogitsCase(suite, id, entry); !status.ok()) {
      suite.report->Fail(id, MessageOf(status));
    }
  }
}

void RunGreedy(const Suite& suite) {
  for (const auto& entry : suite.manifest.at("greedy")) {
    const std::string id = "greedy " + entry.at("model").get<std::string>();
    if (absl::Status status = RunGreedyCase(suite, id, entry); !status.ok()) {
      suite.report->Fail(id, MessageOf(status));
    }
  }
}

}  // namespace ruvd::conformance
