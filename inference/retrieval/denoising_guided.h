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

// When a completion asks for other adapters while it is denoised.
enum class DgrStrategy : uint8_t {
  kEntropy,        // mean entropy above a threshold
  kConfidenceGap,  // mean margin below a threshold
  kHybrid,         // every few steps, and at a spike of entropy
  kAdaptive,       // entropy that is unusual for its t
};

// The name of a strategy in configurations, and back; nullopt for an unknown name.
std::string_view DgrStrategyName(DgrStrategy strategy);
std::optional<DgrStrategy> DgrStrategyByName(std::string_view name);

struct DgrOptions {
  DgrStrategy strategy = DgrStrategy::kAdaptive;
  float entropy_threshold = 0.5F;  // kEntropy, of the normalised entropy
  float min_gap = 0.1F;            // kConfidenceGap
  int interval = 8;                // kHybrid: steps between queries
  float spike = 2.0F;              // kHybrid, kAdaptive: standard deviations above usual
  // Of one completion, whatever the strategy.
  int max_retrievals = 2;
  int min_interval = 4;  // steps between two queries
  float min_t = 0.3F;    // below it too little is open for other adapters to matter
  // Share of the uncertain positions in the query; the rest is the prompt.
  float uncertain_share = 0.5F;
};

// INVALID_ARGUMENT for an option out of range; names it and the range.
absl::Status CheckDgrOptions(const DgrOptions& options);

// What a completion did so far.
struct DgrHistory {
  int retrievals = 0;
  int last_step = -1;  // of the last query; -1: none
};

// What kind of help the model needs.
enum class UncertaintyKind : uint8_t {
  kNone,
  kDiffuse,    // many tokens are possible
  kContested,  // few are, and they are about as likely
  kUnstable,   // the prediction swings from step to step
};

// Whether to query before the next step, and why. `usual` is the entropy's distance from what is
// usual at this t, in standard deviations (TimestepStatistics::ZScore). A pure function.
struct DgrDecision {
  bool query = false;
  UncertaintyKind kind = UncertaintyKind::kNone;
};
DgrDecision DecideRetrieval(const DgrOptions& options, const DgrHistory& history,
                            const StepUncertainty& now, int step, float usual);

// The kind of an uncertain step.
UncertaintyKind KindOf(const StepUncertainty& step);

// Where a query looks: the prompt's embedding, moved towards the hidden states (rows x width) of
// the positions, each weighted by its entropy. These are pooled and normalised as EmbedTokens does,
// and whitened where the prompt's embedding is. Of length one. Where no position has a weight, or
// the result has no direction, the prompt's embedding.
std::vector<float> AugmentedQuery(std::span<const float> prompt, std::span<const float> hidden,
                                  std::span<const PositionUncertainty> positions,
                                  const Whitening* whitening, float uncertain_share);

// The hits that may help: where predictions swing, none whose adapter is in the mix already, as it
// did not settle them; where they are contested, only such as are nearer than the best of the mix,
// because what is there already narrowed the choice down; else all, but none where all are in the
// mix already. Similarities of both are to the same query. The search has kept to the bank of t.
std::vector<RetrievedPattern> FilterByKind(std::vector<RetrievedPattern> hits, UncertaintyKind kind,
                                           std::span<const RetrievedPattern> in_use);

}  // namespace ruvd::inference
