// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <span>
#include <utility>

#include "inference/adapter/adapter.h"
#include "inference/transformer/transformer.h"

namespace ruvd::bench {

// Another transformer, which is borrowed, with a mix of adapters in all its forwards: code that
// reads texts with the bare model reads them as adapted.
class AdaptedTransformer final : public inference::Transformer {
 public:
  explicit AdaptedTransformer(inference::Transformer& inner) : inner_(inner) {}

  // Uses the mix from the next forward on.
  void SetMix(inference::AdapterMix mix) { mix_ = std::move(mix); }

  const std::shared_ptr<const inference::Model>& shared_model() const override {
    return inner_.shared_model();
  }
  inference::Precision precision() const override { return inner_.precision(); }
  using inference::Transformer::Forward;
  using inference::Transformer::Logits;
  absl::Status Forward(std::span<const inference::ForwardInput> batch,
                       std::span<inference::ForwardOutput> outputs) override;
  void Logits(std::span<const inference::LogitsInput> batch, std::span<float> logits) override;
  ParallelRunner& runner() override { return inner_.runner(); }

 private:
  inference::Transformer& inner_;
  inference::AdapterMix mix_;
};

}  // namespace ruvd::bench
