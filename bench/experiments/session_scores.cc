// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/experiments/session_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <span>

#include "base/status.h"

namespace ruvd::bench {
namespace {

void Score(const RequestOutputs& outputs, std::span<const float> logits, double* nats,
           ArmResult* result) {
  const size_t vocabulary = logits.size() / outputs.predictions.size();
  for (size_t i = 0; i < outputs.predictions.size(); ++i) {
    const Prediction& prediction = outputs.predictions[i];
    if (!prediction.scored) {
      continue;
    }
    const double loss =
        CrossEntropyOf(logits.subspan(i * vocabulary, vocabulary), prediction.target);
    *nats += prediction.weight * loss;
    const auto bin = static_cast<size_t>(std::ceil(prediction.t * kTimestepBins)) - 1;
    result->by_t[std::min(bin, kTimestepBins - 1)] += loss;
    result->counts[std::min(bin, kTimestepBins - 1)] += 1;
  }
}

// `place` is that of the session among all sessions.
absl::Status RunSession(inference::Transformer& transformer, const Session& session, size_t place,
                        const SessionRuns& runs, const std::vector<ArmSettings>& arms,
                        std::vector<ArmResult>* results) {
  const int requests = runs.shape.requests;
  std::vector<double> nats(arms.size());
  std::vector<double> late(arms.size());
  for (int seed = 0; seed < runs.seeds; ++seed) {
    std::vector<std::unique_ptr<InstantArm>> fresh;
    for (const ArmSettings& arm : arms) {
      fresh.push_back(arm.make());
    }
    for (int request = 0; request < requests; ++request) {
      ASSIGN_OR_RETURN(const RequestOutputs outputs,
                       PredictRequest(transformer, session, runs.shape, request, runs.masked,
                                      MaskSeed(static_cast<uint64_t>(seed), place)));
      for (size_t i = 0; i < arms.size(); ++i) {
        std::vector<float> logits = outputs.logits;
        fresh[i]->Adjust(outputs, logits);
        double own = 0;
        Score(outputs, logits, &own, &(*results)[i]);
        nats[i] += own / (requests * runs.seeds);
        if (request >= requests / 2) {
          late[i] += own / ((requests - requests / 2) * runs.seeds);
        }
        fresh[i]->Learn(outputs, logits);
      }
    }
  }
  for (size_t i = 0; i < arms.size(); ++i) {
    (*results)[i].nats.push_back(nats[i]);
    (*results)[i].late.push_back(late[i]);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<ArmResult>> RunSessions(inference::Transformer& transformer,
                                                   const std::vector<Session>& sessions,
                                                   const SessionRuns& runs,
                                                   const std::vector<ArmSettings>& arms) {
  std::vector<ArmResult> results(arms.size());
  for (size_t place = 0; place < sessions.size(); ++place) {
    RETURN_IF_ERROR(RunSession(transformer, sessions[place], place, runs, arms, &results));
    fmt::print(stderr, "\r{} sessions of {}", results[0].nats.size(), sessions.size());
  }
  fmt::print(stderr, "\n");
  return results;
}

}  // namespace ruvd::bench
