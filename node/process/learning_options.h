// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "inference/retrieval/whitening.h"
#include "node/config/config.h"
#include "node/learning/background_round.h"
#include "node/learning/deep_round.h"
#include "node/sharing/federated_model.h"

namespace ruvd::node {

// What the section `learning` of a configuration says to the loops; `scale` is that of the model's
// embeddings, for similarities that are left to it.
learning::BackgroundOptions RoundOptionsOf(const config::NodeConfig::LearningSection& learning,
                                           const inference::SimilarityScale& scale);
learning::DeepOptions DeepOptionsOf(const config::NodeConfig::LearningSection& learning,
                                    const inference::SimilarityScale& scale);

// What the sections `federation` and `learning` say to rounds of updates; layout, texts and file
// are the caller's to fill in.
sharing::FederatedModelOptions FederatedOptionsOf(const config::NodeConfig& config);

}  // namespace ruvd::node
