// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "inference/engine/sampling_options.h"
#include "inference/router/router.h"
#include "node/serving/inference.h"

namespace ruvd::serving {

// Tokens that a job wants to be generated.
int TokensToGenerate(const GenerationJob& job);

// The ways of NodeRoutes that a job leaves open, kRouteAsAsked always. Steps and cache are open
// where the job names neither of them nor how positions are chosen (sampler,
// confidence_threshold): those say how many tokens a step commits and what it looks at. Adapters
// are open where the job neither chooses nor switches off any and some would act, as
// `adapters_act` says.
inference::RouteSet OpenRoutes(const GenerationJob& job, inference::DecodingMode mode,
                               bool adapters_act);

// The options of a job that is served this way. `block_length`: the model's own.
inference::SamplingOptions WithRoute(const inference::Route& route,
                                     inference::SamplingOptions options,
                                     inference::DecodingMode mode, int tokens, int block_length);

}  // namespace ruvd::serving
