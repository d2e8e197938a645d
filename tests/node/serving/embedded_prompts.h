// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "node/serving/request_extension.h"

namespace ruvd::test {

// An extension that asks for the embedding of every prompt.
class EmbeddedPrompts final : public serving::RequestExtensionFactory {
 public:
  std::unique_ptr<serving::RequestExtension> Extend(
      const serving::GenerationJob& /*job*/) override {
    return std::make_unique<Request>();
  }

 private:
  class Request final : public serving::RequestExtension {
   public:
    bool WantsEmbedding() const override { return true; }
  };
};

}  // namespace ruvd::test
