// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "inference/transformer/transformer.h"

namespace ruvd::test {

// Passes everything on and notes the size of each call.
class CountingTransformer final : public inference::Transformer {
 public:
  explicit CountingTransformer(inference::Transformer& inner) : inner_(inner) {}
  const std::shared_ptr<const inference::Model>& shared_model() const override {
    return inner_.shared_model();
  }
  inference::Precision precision() const override { return inner_.precision(); }
  absl::Status Forward(std::span<const inference::ForwardInput> batch,
                       std::span<inference::ForwardOutput> outputs) override {
    sequences.push_back(batch.size());
    for (const inference::ForwardInput& input : batch) {
      wanted_rows += input.rows.has_value() ? input.rows->size() : input.tokens.size();
    }
    return inner_.Forward(batch, outputs);
  }
  void Logits(std::span<const inference::LogitsInput> batch, std::span<float> logits) override {
    const auto width = static_cast<size_t>(model().config().width);
    size_t rows = 0;
    for (const inference::LogitsInput& input : batch) {
      rows += input.hidden.size() / width;
    }
    logit_rows.push_back(rows);
    inner_.Logits(batch, logits);
  }
  ParallelRunner& runner() override { return inner_.runner(); }

  std::vector<size_t> sequences;  // by forward
  size_t wanted_rows = 0;
  std::vector<size_t> logit_rows;  // by call

 private:
  inference::Transformer& inner_;
};

}  // namespace ruvd::test
