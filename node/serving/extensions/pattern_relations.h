// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "node/serving/extensions/pattern_graph.h"
#include "node/serving/request_extension.h"

namespace ruvd::serving {

// Lets a session's stored relations to patterns move the similarity of these patterns. It takes
// part in requests that name a session, while the graph is on.
class PatternRelations final : public RequestExtensionFactory {
 public:
  // `graph` is borrowed.
  explicit PatternRelations(const PatternGraph& graph) : graph_(graph) {}

  std::unique_ptr<RequestExtension> Extend(const GenerationJob& job) override;

 private:
  const PatternGraph& graph_;
};

}  // namespace ruvd::serving
