// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "base/parallel.h"
#include "bench/engine_runs.h"
#include "bench/metered_transformer.h"

namespace ruvd::bench {

// A loaded model with threads to run it.
struct EngineSession {
  std::shared_ptr<const inference::Model> model;
  std::unique_ptr<ParallelRunner> runner;
  std::unique_ptr<MeteredTransformer> transformer;

  const inference::ModelConfig& config() const { return model->config(); }
  // How the architecture attends when it is read the way it was trained: dream attends in both
  // directions.
  bool causal() const { return config().architecture != inference::Architecture::kDream; }
  inference::Attention attention() const {
    return {.kind = causal() ? inference::Attention::Kind::kCausal
                             : inference::Attention::Kind::kBidirectional};
  }
};

absl::StatusOr<EngineSession> OpenSession(const RunOptions& options);

// Returns the same ids every time; none of them is special.
std::vector<inference::TokenId> RandomTokens(const inference::ModelConfig& config, size_t count);

}  // namespace ruvd::bench
