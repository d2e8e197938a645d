// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <optional>

#include "base/clock.h"
#include "federation/limits.h"
#include "node/actors/federation_actor.h"
#include "node/learning/background_round.h"
#include "node/learning/deep_round.h"
#include "node/process/limits.h"
#include "node/process/port_watchdog.h"
#include "node/serving/extensions/request_router.h"

namespace ruvd::node {

// What experiments decided and no operator sets, with the values that every node has. Tests and
// benchmarks start nodes with other values.
struct NodeTuning {
  // The configuration and the scale of the model's similarities replace `min_rating` and the
  // similarities.
  learning::BackgroundOptions background;
  int round_after_ratings = limits::kRoundAfterRatings;
  Duration round_after = limits::kRoundAfter;
  // The configuration replaces `min_rating`, `guard`, `banks` and `memory_bytes`.
  learning::DeepOptions deep;
  // Least cosine similarity at which a pattern's adapter applies; nullopt: that of the model's
  // scale
  std::optional<float> similarity;
  // Share of the requests that the router serves at random.
  double router_exploration = serving::RequestRouterOptions().exploration;
  PortWatchOptions port_watch;
  // Honest nodes have none.
  sharing::ContributionEdit edit_contribution;
};

}  // namespace ruvd::node
