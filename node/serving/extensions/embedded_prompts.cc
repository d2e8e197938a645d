// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/extensions/embedded_prompts.h"

namespace ruvd::serving {
namespace {

class EmbeddedRequest final : public RequestExtension {
 public:
  bool WantsEmbedding() const override { return true; }
};

}  // namespace

std::unique_ptr<RequestExtension> EmbeddedPrompts::Extend(const GenerationJob& /*job*/) {
  return std::make_unique<EmbeddedRequest>();
}

}  // namespace ruvd::serving
