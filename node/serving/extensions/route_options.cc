// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/extensions/route_options.h"

#include <algorithm>

#include "inference/limits.h"
#include "node/serving/extensions/request_router.h"

namespace ruvd::serving {
namespace {

// Number of steps after which an approximate cache evaluates the whole text again.
constexpr int kCacheSteps = 8;

}  // namespace

inference::RouteSet AvailableRoutes(const GenerationJob& job, inference::DecodingMode mode,
                                    bool adapters_act) {
  inference::RouteSet open;
  open.set(kRouteUnchanged);
  const inference::SamplingOptions& asked = job.options;
  const bool schedule = job.grammar == nullptr && asked.steps == 0 && !asked.sampler.has_value() &&
                        asked.confidence_threshold == 0 && asked.approximate_cache_steps == 0;
  open.set(kRouteHalfSteps, schedule && mode != inference::DecodingMode::kAutoregressive &&
                                TokensToGenerate(job) > 1);
  open.set(kRouteApproximateCache, schedule && mode == inference::DecodingMode::kDiffusion);
  open.set(kRouteNoAdapters, job.use_adapters && job.adapters.empty() && adapters_act);
  return open;
}

inference::SamplingOptions WithRoute(const inference::Route& route,
                                     inference::SamplingOptions options,
                                     inference::DecodingMode mode, int tokens, int block_length) {
  if (route.cache == NodeRoutes()[kRouteApproximateCache].cache) {
    options.approximate_cache_steps = kCacheSteps;
  }
  if (route.tokens_per_step > 0) {
    // In block mode, `steps` counts the steps of one block.
    const int block = options.block_length > 0 ? options.block_length : block_length;
    const int scope = mode == inference::DecodingMode::kBlock && block > 0 ? block : tokens;
    options.steps = std::clamp((scope + route.tokens_per_step - 1) / route.tokens_per_step, 1,
                               limits::kMaxSteps);
  }
  return options;
}

}  // namespace ruvd::serving
