// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/status.h"
#include "inference/adapter/adapter_file.h"
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

absl::StatusOr<inference::AdapterMix> LoadAdapters(const Suite& suite,
                                                   const nlohmann::json& entries,
                                                   const inference::Model& model) {
  inference::AdapterMix mix;
  for (const auto& entry : entries) {
    ASSIGN_OR_RETURN(auto adapter, inference::LoadAdapterFile(suite.Path(entry.at("file")), model));
    mix.parts.push_back({.adapter = std::move(adapter), .weight = entry.at("scale").get<float>()});
  }
  return mix;
}

// Returns the logits of all rows, tokens x vocabulary.
absl::StatusOr<std::vector<float>> AllLogits(inference::Transformer& transformer,
                                             std::span<const inference::TokenId> tokens,
                                             bool causal, const inference::AdapterMix& adapters) {
  inference::ForwardInput input;
  input.tokens = tokens;
  input.attention.kind =
      causal ? inference::Attention::Kind::kCausal : inference::Attention::Kind::kBidirectional;
  input.adapters = &adapters;
  inference::ForwardOutput output;
  RETURN_IF_ERROR(transformer.Forward(input, &output));
  const auto vocabulary = static_cast<size_t>(transformer.model().config().vocabulary);
  std::vector<float> logits(tokens.size() * vocabulary);
  transformer.Logits(output.hidden, &adapters, logits);
  return logits;
}

// Fails the case and returns false where `logits` are further than `limit` from a golden file.
absl::StatusOr<bool> IsWithin(const Suite& suite, const std::string& id,
                              std::span<const float> logits, const nlohmann::json& file,
                              const nlohmann::json& limit) {
  ASSIGN_OR_RETURN(const std::vector<float> golden, ReadFloats(suite.Path(file)));
  if (golden.size() != logits.size()) {
    suite.report->Fail(id, fmt::format("{} logits instead of {}", logits.size(), golden.size()));
    return false;
  }
  const double error = RelativeRms(logits, golden);
  if (!(error <= limit.get<double>())) {  // also for NaN
    suite.report->Fail(id, fmt::format("relative rms error against {} is {:.3g}, exceeds {:.3g}",
                                       file.get<std::string>(), error, limit.get<double>()));
    return false;
  }
  return true;
}

// Float32 activations must meet the tight limit, rounded ones that of the format's kernels. A
// format without such kernels (F32) must meet the tight limit again.
absl::Status CheckLogits(const Suite& suite, const std::string& id, const nlohmann::json& entry,
                         std::span<const float> logits, inference::Precision precision) {
  const bool rounds =
      precision == inference::Precision::kFast && !entry.at("limit_kernel").is_null();
  ASSIGN_OR_RETURN(bool ok, IsWithin(suite, id, logits, entry.at("golden_exact"),
                                     entry.at(rounds ? "limit_kernel" : "limit_exact")));
  if (ok && rounds) {
    ASSIGN_OR_RETURN(ok, IsWithin(suite, id, logits, entry.at("golden_kernel"),
                                  entry.at("limit_kernel_vs_kernel")));
  }
  if (ok) {
    suite.report->Pass();
  }
  return absl::OkStatus();
}

absl::Status RunLogitsCase(const Suite& suite, const std::string& id, const nlohmann::json& entry,
                           inference::Precision precision) {
  const auto model = LoadModel(suite, id, entry.at("model"));
  if (model == nullptr) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const inference::AdapterMix adapters,
                   LoadAdapters(suite, entry.at("lora"), *model));
  ASSIGN_OR_RETURN(const auto transformer, MakeTransformer(model, precision));
  const auto tokens = entry.at("tokens").get<std::vector<inference::TokenId>>();
  ASSIGN_OR_RETURN(const std::vector<float> logits,
                   AllLogits(*transformer, tokens, entry.at("causal").get<bool>(), adapters));
  return CheckLogits(suite, id, entry, logits, precision);
}

// Returns the best token after `tokens`, from a forward over all of them or over those that the
// cache does not hold yet.
absl::StatusOr<inference::TokenId> BestNext(inference::Transformer& transformer,
                                            std::span<const inference::TokenId> tokens,
                                            inference::KvCache* cache) {
  inference::ForwardInput input{.tokens = tokens,
                                .attention = {.kind = inference::Attention::Kind::kCausal}};
  if (cache != nullptr) {
    input.tokens = tokens.subspan(static_cast<size_t>(cache->length()));
    input.cache = cache;
    input.extend_cache = true;
  }
  input.rows = {static_cast<int>(input.tokens.size()) - 1};
  inference::ForwardOutput output;
  RETURN_IF_ERROR(transformer.Forward(input, &output));
  std::vector<float> logits(static_cast<size_t>(transformer.model().config().vocabulary));
  transformer.Logits(output.hidden, nullptr, logits);
  return static_cast<inference::TokenId>(std::ranges::max_element(logits) - logits.begin());
}

absl::Status RunGreedyCase(const Suite& suite, const std::string& id, const nlohmann::json& entry,
                           inference::Precision precision, bool cached) {
  const auto model = LoadModel(suite, id, entry.at("model"));
  if (model == nullptr) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const auto transformer, MakeTransformer(model, precision));
  auto tokens = entry.at("prompt").get<std::vector<inference::TokenId>>();
  const auto expected = entry.at("continuation").get<std::vector<inference::TokenId>>();
  inference::KvCache cache(model->config(), static_cast<int>(tokens.size() + expected.size()));
  for (const inference::TokenId token : expected) {
    ASSIGN_OR_RETURN(const inference::TokenId best,
                     BestNext(*transformer, tokens, cached ? &cache : nullptr));
    if (best != token) {
      suite.report->Fail(id,
                         fmt::format("token {} is {} instead of {}", tokens.size(), best, token));
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
    for (const inference::Precision precision : suite.precisions) {
      const std::string id =
          fmt::format("logits {} {}", entry.at("id").get<std::string>(), PrecisionName(precision));
      if (absl::Status status = RunLogitsCase(suite, id, entry, precision); !status.ok()) {
        suite.report->Fail(id, MessageOf(status));
      }
    }
  }
}

void RunGreedy(const Suite& suite) {
  for (const auto& entry : suite.manifest.at("greedy")) {
    for (const inference::Precision precision : suite.precisions) {
      for (const bool cached : {false, true}) {
        const std::string id =
            fmt::format("greedy {} {} {} cache", entry.at("model").get<std::string>(),
                        PrecisionName(precision), cached ? "with" : "without");
        if (absl::Status status = RunGreedyCase(suite, id, entry, precision, cached);
            !status.ok()) {
          suite.report->Fail(id, MessageOf(status));
        }
      }
    }
  }
}

}  // namespace ruvd::conformance
