// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/process/request_extensions.h"

#include "inference/retrieval/denoising_guided.h"
#include "node/serving/extensions/guided_retrieval.h"
#include "node/serving/extensions/pattern_relations.h"
#include "node/serving/extensions/remembered_lessons.h"
#include "node/serving/extensions/route_choice.h"
#include "node/serving/extensions/session_memory.h"
#include "node/serving/extensions/word_guidance.h"

namespace ruvd::node {

bool WrittenWordsChoose(const config::NodeConfig& config) {
  return config.experimental.dgr == config::kDgrByWords;
}

std::vector<std::unique_ptr<serving::RequestExtensionFactory>> MakeRequestExtensions(
    const config::NodeConfig& config, const ExtensionServices& services) {
  std::vector<std::unique_ptr<serving::RequestExtensionFactory>> extensions;
  if (services.router != nullptr) {
    extensions.push_back(std::make_unique<serving::RouteChoice>(*services.router));
  }
  // A request may ask for its session's memory wherever the default is off.
  extensions.push_back(std::make_unique<serving::SessionMemory>(*services.instant));
  if (services.memories != nullptr) {
    extensions.push_back(std::make_unique<serving::RememberedLessons>(*services.memories));
  }
  if (config.experimental.graph) {
    extensions.push_back(std::make_unique<serving::PatternRelations>(*services.graph));
  }
  extensions.push_back(std::make_unique<serving::WordGuidance>(WrittenWordsChoose(config)));
  if (const auto strategy = inference::DgrStrategyByName(config.experimental.dgr)) {
    extensions.push_back(std::make_unique<serving::GuidedRetrieval>(
        inference::DgrOptions{.strategy = *strategy}, *services.adapters, services.whitening));
  }
  return extensions;
}

}  // namespace ruvd::node
