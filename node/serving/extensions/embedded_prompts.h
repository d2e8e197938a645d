// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "node/serving/request_extension.h"

namespace ruvd::serving {

// Asks for the embedding of every prompt, for nodes that release noised centroids: such a release
// counts the embeddings of all lessons, and it runs where none can be computed.
class EmbeddedPrompts final : public RequestExtensionFactory {
 public:
  std::unique_ptr<RequestExtension> Extend(const GenerationJob& job) override;
};

}  // namespace ruvd::serving
