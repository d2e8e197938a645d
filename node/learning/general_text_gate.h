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
#include "inference/adapter/talora.h"
#include "inference/evaluate/paired.h"
#include "inference/transformer/transformer.h"

namespace ruvd::learning {

// Keeps an adapter that serves every request from harming general text: an adapter may raise the
// NELBO of its passages by at most half a percent (DESIGN section 6, the deep loop's gate). One
// instance per transformer.
class GeneralTextGate {
 public:
  // Of the built-in passage.
  GeneralTextGate() = default;
  // Of these, each counting alike; of at least two tokens that fit the context. None: built-in.
  explicit GeneralTextGate(std::vector<std::vector<inference::TokenId>> passages)
      : passages_(std::move(passages)) {}

  struct Verdict {
    bool pass = false;
    double before = 0;  // nats per token, mean over passages
    double after = 0;
  };

  // Scores the passages with `adapter` and, where that is not known yet, without. The same masks in
  // both cases.
  // `cancelled` is asked before every forward, of which there are some two dozens; CANCELLED then.
  absl::StatusOr<Verdict> Check(inference::Transformer& transformer,
                                std::shared_ptr<const inference::Adapter> adapter,
                                const std::function<bool()>& cancelled = nullptr);
  // Whether requests with such a prompt get the adapter.
  using Applies = std::function<absl::StatusOr<bool>(std::span<const inference::TokenId> tokens)>;
  // The same of one with timestep banks, which act as they do in completions, on top of others, and
  // on the passages it applies to; null: on all.
  absl::StatusOr<Verdict> Check(inference::Transformer& transformer,
                                const inference::Talora& adapter,
                                const std::function<bool()>& cancelled = nullptr,
                                const inference::AdapterMix& beneath = {},
                                const Applies& applies = nullptr);

 private:
  // Nats per token of each passage; of those that are left out 0.
  absl::StatusOr<std::vector<double>> Score(inference::Transformer& transformer,
                                            const inference::AdaptersOfT& adapters,
                                            const std::vector<bool>& scored,
                                            const std::function<bool()>& cancelled);

  std::vector<std::vector<inference::TokenId>> passages_;
  std::vector<double> base_;       // of each passage; empty: not known yet
  inference::AdapterMix beneath_;  // what base_ is of
};

}  // namespace ruvd::learning
