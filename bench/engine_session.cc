// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/engine_session.h"

#include <utility>

#include "base/random.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/backend/backend.h"

namespace ruvd::bench {
namespace {

constexpr inference::TokenId kLastSpecial =
    16;  // ids at the end of a vocabulary that may be special

absl::StatusOr<inference::Precision> ReadPrecision(const std::string& name) {
  if (name == "fast") {
    return inference::Precision::kFast;
  }
  if (name == "exact") {
    return inference::Precision::kExact;
  }
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "--precision {} must be fast or exact", name);
}

}  // namespace

absl::StatusOr<EngineSession> OpenSession(const RunOptions& options) {
  if (options.threads < 1 || options.reps < 1 || options.tokens < 1) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "threads, repetitions and tokens must be at least 1");
  }
  EngineSession session;
  ASSIGN_OR_RETURN(session.model, inference::Model::Load(options.model));
  session.runner = std::make_unique<ThreadParallelRunner>(options.threads);
  ASSIGN_OR_RETURN(const inference::Precision precision, ReadPrecision(options.precision));
  ASSIGN_OR_RETURN(auto transformer,
                   inference::DefaultBackend().Load(
                       session.model, {.precision = precision, .runner = *session.runner}));
  session.transformer = std::make_unique<MeteredTransformer>(std::move(transformer));
  return session;
}

std::vector<inference::TokenId> RandomTokens(const inference::ModelConfig& config, size_t count) {
  Random random(1);
  std::vector<inference::TokenId> tokens(count);
  for (inference::TokenId& token : tokens) {
    token = static_cast<inference::TokenId>(
        random.Below(static_cast<uint64_t>(config.vocabulary) - kLastSpecial));
  }
  return tokens;
}

}  // namespace ruvd::bench
