// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "node/serving/request_extension.h"

namespace ruvd::serving {

// Denoising-guided retrieval by words: lets the words of a request that chooses no adapters decide
// which of those with evidence act (AdaptersByWords). The prompt decides before the first step.
// With `every_step`, the words that were written since decide, too: before every step where a step
// computes the whole window anyway, and every kWordsBetweenChoices words where it goes on from
// cached keys and values, which another choice makes it compute again.
class WordGuidance final : public RequestExtensionFactory {
 public:
  static constexpr int kWordsBetweenChoices = 16;

  explicit WordGuidance(bool every_step) : every_step_(every_step) {}

  std::unique_ptr<RequestExtension> Extend(const GenerationJob& job) override;

 private:
  class Guided;

  const bool every_step_;
};

}  // namespace ruvd::serving
