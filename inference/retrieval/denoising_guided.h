// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "inference/retrieval/pattern_index.h"
#include "inference/retrieval/uncertainty.h"
#include "inference/retrieval/whitening.h"

namespace ruvd::inference {

// When a completion looks for other adapters while it is being denoised.
enum class DgrStrategy : uint8_t {
  kEntropy,        // the mean normalised entropy is above a threshold
  kConfidenceGap,  // the mean margin is below a threshold
  kHybrid,         // every few steps, and when entropy rises suddenly
  kAdaptive,       // the entropy is unusually high for its t
};

// Converts a strategy to its name in configurations, and back; nullopt for an unknown name.
std::string_view DgrStrategyName(DgrStrategy strategy);
std::optional<DgrStrategy> DgrStrategyByName(std::string_view name);

struct DgrOptions {
  DgrStrategy strategy = DgrStrategy::kAdaptive;
  float entropy_threshold = 0.5F;  // kEntropy: threshold of the normalised entropy
  float min_gap = 0.1F;            // kConfidenceGap
  int interval = 8;                // kHybrid: steps between queries
  float spike = 2.0F;              // kHybrid, kAdaptive: standard deviations above the usual value
  // The most retrievals in one completion, for every strategy
  int max_retrievals = 2;
  int min_interval = 4;  // steps between two queries
  float min_t = 0.3F;    // below this t too few positions are open for other adapters to matter
  // Share of the uncertain positions in the query; the prompt has the rest
  float uncertain_share = 0.5F;
};

// Returns INVALID_ARGUMENT for an option out of range, with its name and its range.
absl::Status CheckDgrOptions(const DgrOptions& options);

// The queries that a completion made so far.
struct DgrHistory {
  int retrievals = 0;
  int last_step = -1;  // step of the last query; -1: there was no query
};

// The kind of help that the model needs.
enum class UncertaintyKind : uint8_t {
  kNone,
  kDiffuse,    // many tokens are possible
  kContested,  // few tokens are possible, and about equally likely
  kUnstable,   // the prediction changes strongly from step to step
};

// Decides whether to query before the next step, and why. `usual` is the distance of the entropy
// from its usual value at this t, in standard deviations (TimestepStatistics::ZScore). The function
// has no side effects.
struct DgrDecision {
  bool query = false;
  UncertaintyKind kind = UncertaintyKind::kNone;
};
DgrDecision DecideRetrieval(const DgrOptions& options, const DgrHistory& history,
                            const StepUncertainty& now, int step, float usual);

// Returns the kind of an uncertain step.
UncertaintyKind KindOf(const StepUncertainty& step);

// Returns the query vector: the embedding of the prompt, moved towards the hidden states (rows x
// width) of the positions, each weighted by its entropy. The hidden states are pooled and
// normalised as EmbedTokens does it, and whitened if the embedding of the prompt is. The result has
// length one. If no position has a weight, or the result has no direction, the embedding of the
// prompt is returned.
std::vector<float> AugmentedQuery(std::span<const float> prompt, std::span<const float> hidden,
                                  std::span<const PositionUncertainty> positions,
                                  const Whitening* whitening, float uncertain_share);

// Returns the hits that may help. For kUnstable, it drops hits whose adapter is already in the mix,
// because that adapter did not settle the predictions. For kContested, it keeps only hits that are
// nearer than the best one of the mix, because that one already narrowed the choice. For other
// kinds it returns all hits, or none if all of them are in the mix. Both groups of similarities
// must be to the same query. The search must have kept to the bank of t.
std::vector<RetrievedPattern> FilterByKind(std::vector<RetrievedPattern> hits, UncertaintyKind kind,
                                           std::span<const RetrievedPattern> in_use);

}  // namespace ruvd::inference
