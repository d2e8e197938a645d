// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <vector>

#include "node/config/config.h"
#include "node/serving/adapter_source.h"
#include "node/serving/extensions/instant_loop.h"
#include "node/serving/extensions/lesson_memories.h"
#include "node/serving/extensions/pattern_graph.h"
#include "node/serving/extensions/request_router.h"
#include "node/serving/request_extension.h"

namespace ruvd::node {

// What the extensions of requests work with. Everything is borrowed.
struct ExtensionServices {
  serving::AdapterSource* adapters = nullptr;
  const inference::Whitening* whitening = nullptr;  // null: embeddings are not whitened
  serving::InstantLoop* instant = nullptr;
  const serving::PatternGraph* graph = nullptr;
  serving::RequestRouter* router = nullptr;           // null: the router is off
  const serving::LessonMemories* memories = nullptr;  // null: no lesson is remembered
};

// Returns whether the words of a completion, too, choose adapters.
bool WrittenWordsChoose(const config::NodeConfig& config);

// Returns the extensions that the configuration asks for, in the order in which they take part.
std::vector<std::unique_ptr<serving::RequestExtensionFactory>> MakeRequestExtensions(
    const config::NodeConfig& config, const ExtensionServices& services);

}  // namespace ruvd::node
