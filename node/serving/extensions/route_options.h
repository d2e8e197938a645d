// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "inference/engine/sampling_options.h"
#include "inference/router/router.h"
#include "node/serving/served_request.h"

namespace ruvd::serving {

// Returns the routes that a job leaves open; kRouteUnchanged is always one. The routes of steps and
// cache are open if the job sets neither of them, nor a sampler or a confidence_threshold, which
// decide how many tokens a step commits and what it looks at. The route without adapters is open if
// the job neither chooses adapters nor switches them off and some would act (`adapters_act`).
inference::RouteSet AvailableRoutes(const GenerationJob& job, inference::DecodingMode mode,
                                    bool adapters_act);

// Returns the options of a job served by `route`. `block_length` is the model's own.
inference::SamplingOptions WithRoute(const inference::Route& route,
                                     inference::SamplingOptions options,
                                     inference::DecodingMode mode, int tokens, int block_length);

}  // namespace ruvd::serving
