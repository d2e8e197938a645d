// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "inference/retrieval/whitening.h"
#include "node/config/config.h"
#include "node/learning/background_round.h"
#include "node/learning/deep_round.h"

namespace ruvd::node {

// Return the options of the learning loops: `tuned`, with what the configuration decides. `scale`
// belongs to the model's embeddings and gives the similarities.
learning::BackgroundOptions BackgroundOptionsOf(const config::NodeConfig::LearningSection& learning,
                                                const inference::SimilarityThresholds& scale,
                                                learning::BackgroundOptions tuned);
learning::DeepOptions DeepOptionsOf(const config::NodeConfig& config, learning::DeepOptions tuned);

}  // namespace ruvd::node
