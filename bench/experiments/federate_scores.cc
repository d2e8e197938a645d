// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/federate_scores.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <utility>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "bench/experiments/federate_texts.h"

namespace ruvd::bench {
namespace {

std::string FileOf(const std::string& folder, const std::string& key) {
  return (std::filesystem::path(folder) / (ToHex(Sha256(key)) + ".json")).string();
}

}  // namespace

absl::StatusOr<ResultCache> ResultCache::Open(const std::string& folder) {
  if (!folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kFileUnwritable,
                   "the folder {} of --cache cannot be made: {}", folder, error.message());
    }
  }
  return ResultCache(folder);
}

std::optional<nlohmann::json> ResultCache::Find(const nlohmann::json& key) {
  constexpr uint64_t kMostBytes = uint64_t{256} << 20;
  const std::string text = key.dump();
  if (const auto found = known_.find(text); found != known_.end()) {
    return found->second;
  }
  if (folder_.empty()) {
    return std::nullopt;
  }
  const absl::StatusOr<std::string> bytes = ReadFile(FileOf(folder_, text), kMostBytes);
  if (!bytes.ok()) {
    return std::nullopt;
  }
  const nlohmann::json kept = nlohmann::json::parse(*bytes, nullptr, false);
  if (!kept.is_object() || !kept.contains("value") || kept.value("key", nlohmann::json()) != key) {
    return std::nullopt;
  }
  known_[text] = kept["value"];
  return kept["value"];
}

absl::Status ResultCache::Put(const nlohmann::json& key, const nlohmann::json& value) {
  const std::string text = key.dump();
  known_[text] = value;
  if (folder_.empty()) {
    return absl::OkStatus();
  }
  const nlohmann::json kept = {{"key", key}, {"value", value}};
  return WriteFileAtomically(FileOf(folder_, text), kept.dump());
}

double Scores::Mean() const {
  return std::accumulate(nats.begin(), nats.end(), 0.0) /
         static_cast<double>(std::max<size_t>(1, nats.size()));
}

void to_json(nlohmann::json& json, const Scores& scores) {
  json = {{"nats", scores.nats}, {"by_t", scores.by_t}};
}

void from_json(const nlohmann::json& json, Scores& scores) {
  json.at("nats").get_to(scores.nats);
  json.at("by_t").get_to(scores.by_t);
}

absl::StatusOr<Scores> Scorer::Score(const AdaptersTogether& adapters, const Crops& text) const {
  nlohmann::json key = {{"kind", "scores"},
                        {"model", ToHex(transformer_.model().hash())},
                        {"text", ToHex(DigestOf(text.pieces))},
                        {"draws", options_.draws},
                        {"seed", options_.seed},
                        {"adapters", nlohmann::json::array()}};
  for (const auto& adapter : adapters) {
    key["adapters"].push_back(ToHex(inference::AdapterId(*adapter)));
  }
  if (const auto kept = cache_.Find(key)) {
    return kept->get<Scores>();
  }
  inference::AdapterMix mix;
  const inference::AdaptersOfStep adapters_of_step = [&](const inference::ReadingStep& step) {
    const double t = step.t;
    mix.parts.clear();
    for (const auto& adapter : adapters) {
      AppendMix(*adapter, static_cast<float>(t), {}, 1.0F, &mix);
    }
    return &mix;
  };
  ASSIGN_OR_RETURN(const inference::NelboTable table,
                   EvaluateNelbo(transformer_, text.pieces, adapters_of_step, options_));
  const Scores scores{.nats = table.nats, .by_t = table.nats_by_t};
  RETURN_IF_ERROR(cache_.Put(key, scores));
  return scores;
}

std::vector<double> Minus(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> difference(a.size());
  std::ranges::transform(a, b, difference.begin(), std::minus<>());
  return difference;
}

}  // namespace ruvd::bench
