// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/adapter/adapter.h"
#include "inference/evaluate/paired.h"
#include "inference/transformer/transformer.h"
#include "node/serving/adapter_catalog.h"

namespace ruvd::learning {

// Keeps an adapter that serves all requests from harming general text: it may raise the NELBO of
// the gate's passages by at most half a percent. Use one instance per transformer. Not thread-safe.
class GeneralTextGate {
 public:
  // Measures on the built-in passage.
  GeneralTextGate() = default;
  // Measures on these passages, each with the same weight. Each has at least two tokens and fits
  // the context. An empty list means the built-in passage.
  explicit GeneralTextGate(std::vector<std::vector<inference::TokenId>> passages)
      : passages_(std::move(passages)) {}

  struct Verdict {
    bool pass = false;
    double before = 0;  // nats per token, mean over passages
    double after = 0;
  };

  // Scores the passages with `adapter` and, if not yet known, without it, under the same masks.
  // `cancelled` is polled before every forward, of which there are about two dozen; returns
  // CANCELLED when it is true.
  absl::StatusOr<Verdict> Check(inference::Transformer& transformer,
                                std::shared_ptr<const inference::Adapter> adapter,
                                const std::function<bool()>& cancelled = nullptr);
  // Returns whether requests with such a prompt get the adapter.
  using Applies = std::function<absl::StatusOr<bool>(std::span<const inference::TokenId> tokens)>;
  // Checks an adapter with its weight and evidence, which acts as in completions, on top of
  // `beneath`, which act so, too. It acts on the passages for which `applies` is true; null: on
  // all.
  absl::StatusOr<Verdict> Check(inference::Transformer& transformer, serving::RangedPart adapter,
                                const std::function<bool()>& cancelled = nullptr,
                                const std::vector<serving::RangedPart>& beneath = {},
                                const Applies& applies = nullptr);

 private:
  // Returns nats per token for each passage, and 0 for passages that are not scored.
  absl::StatusOr<std::vector<double>> Score(inference::Transformer& transformer,
                                            const inference::AdaptersOfStep& adapters,
                                            const std::vector<bool>& scored,
                                            const std::function<bool()>& cancelled);

  std::vector<std::vector<inference::TokenId>> passages_;
  std::vector<double> base_;                  // one for each passage; empty: not yet known
  std::vector<serving::RangedPart> beneath_;  // the adapters that base_ was measured with
};

}  // namespace ruvd::learning
