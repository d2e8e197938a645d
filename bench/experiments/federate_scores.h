// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/experiments/crops.h"
#include "inference/adapter/talora.h"
#include "inference/evaluate/paired.h"
#include "inference/transformer/transformer.h"

namespace ruvd::bench {

// Results of parts of an experiment that others share. They are kept in memory and, between runs,
// in one file each, which is named by the hash of the key. Not thread-safe.
class ResultCache {
 public:
  // Makes the folder where it is missing; an empty path means that there are no files. Fails with
  // FILE_UNWRITABLE.
  static absl::StatusOr<ResultCache> Open(const std::string& folder);
  // Returns what was put under an equal key; nullopt if nothing was, or if its file cannot be read.
  std::optional<nlohmann::json> Find(const nlohmann::json& key);
  absl::Status Put(const nlohmann::json& key, const nlohmann::json& value);

 private:
  explicit ResultCache(std::string folder) : folder_(std::move(folder)) {}
  std::string folder_;
  std::map<std::string, nlohmann::json> known_;  // by the key as text
};

// NELBO of pieces of text in nats per token, and their cross-entropy by tenth of the masked share.
struct Scores {
  std::vector<double> nats;  // by piece
  std::array<double, 10> by_t{};
  double Mean() const;
};
void to_json(nlohmann::json& json, const Scores& scores);
void from_json(const nlohmann::json& json, Scores& scores);

// Adapters that act together; none: the model itself.
using AdaptersTogether = std::vector<std::shared_ptr<const inference::Talora>>;

// Scores texts under masks that every arm shares, so that differences are paired. Borrows
// everything; not thread-safe.
class Scorer {
 public:
  Scorer(inference::Transformer& transformer, ResultCache& cache,
         const inference::NelboOptions& options)
      : transformer_(transformer), cache_(cache), options_(options) {}
  absl::StatusOr<Scores> Score(const AdaptersTogether& adapters, const Crops& text) const;

 private:
  inference::Transformer& transformer_;
  ResultCache& cache_;
  inference::NelboOptions options_;
};

// Returns a - b, piece by piece.
std::vector<double> Minus(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace ruvd::bench
