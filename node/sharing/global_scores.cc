// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/global_scores.h"

#include <cstdint>
#include <cstring>

#include "base/status.h"
#include "node/serving/served_adapters.h"

namespace ruvd::sharing {
namespace {

absl::StatusOr<double> LossOf(const learning::LearningServices& services,
                              std::vector<serving::RangedPart> parts,
                              const inference::ScoredDocument& text, uint64_t seed, int draws) {
  absl::Status yielded;
  const auto stop = [&] {
    yielded = learning::YieldBetweenPieces(services);
    return !yielded.ok();
  };
  const auto table = inference::EvaluateNelbo(*services.transformer, std::span(&text, 1),
                                              serving::MixesOf(std::move(parts)),
                                              {.draws = draws, .seed = seed, .cancelled = stop});
  RETURN_IF_ERROR(yielded);
  RETURN_IF_ERROR(table.status());
  return table->nats.front();
}

}  // namespace

absl::StatusOr<std::vector<double>> GlobalScores::LossesOf(
    const learning::LearningServices& services,
    const std::shared_ptr<const inference::Talora>& global,
    std::span<const JudgingDocument> documents, int draws) {
  const Digest adapter = global == nullptr ? Digest{} : inference::AdapterId(*global);
  std::vector<double> losses;
  for (const JudgingDocument& document : documents) {
    const std::pair key(adapter, document.id);
    auto known = scored_.find(key);
    if (const auto former = former_.find(key); known == scored_.end() && former != former_.end()) {
      known = scored_.insert(*former).first;
    }
    if (known == scored_.end()) {
      std::vector<serving::RangedPart> parts = document.beside;
      if (global != nullptr) {
        parts.insert(parts.begin(), {.adapter = global});
      }
      uint64_t seed = 0;
      std::memcpy(&seed, document.id.data(), sizeof(seed));
      ASSIGN_OR_RETURN(const double loss,
                       LossOf(services, std::move(parts), document.text, seed, draws));
      known = scored_.emplace(key, loss).first;
    }
    losses.push_back(known->second);
  }
  return losses;
}

}  // namespace ruvd::sharing
