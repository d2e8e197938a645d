// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/extensions/pattern_relations.h"

#include <string>

namespace ruvd::serving {
namespace {

class RelatedRequest final : public RequestExtension {
 public:
  explicit RelatedRequest(const PatternGraph& graph) : graph_(graph) {}

  AdapterSource::PatternFactor BeforeChoice(const ServedRequest& request) override {
    return [this, &job = request.job()](const std::string& pattern_id) {
      return graph_.Factor({job.user_id, job.session_id}, pattern_id);
    };
  }

 private:
  const PatternGraph& graph_;
};

}  // namespace

std::unique_ptr<RequestExtension> PatternRelations::Extend(const GenerationJob& job) {
  if (!graph_.on() || job.session_id.empty()) {
    return nullptr;
  }
  return std::make_unique<RelatedRequest>(graph_);
}

}  // namespace ruvd::serving
