// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// GET /v1/models and GET /v1/models/ID.

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "base/utf8.h"
#include "inference/model/model.h"
#include "node/api/http/http_call.h"
#include "node/openai/models.h"
#include "node/openai/reasons.h"
#include "node/serving/adapter_catalog.h"

namespace ruvd::api {
namespace {

// The model, and the model with each adapter: its served version by name, others by version.
std::vector<openai::ModelEntry> ModelsOf(const ServiceDependencies& node) {
  const inference::ModelConfig& config = node.model->config();
  const openai::ModelEntry base{.id = config.name,
                                .created = node.clock->WallMillis() / 1000,
                                .context = static_cast<uint32_t>(config.context)};
  std::vector<openai::ModelEntry> models = {base};
  if (node.adapters == nullptr) {
    return models;
  }
  for (const serving::CatalogEntry& entry : node.adapters->List()) {
    openai::ModelEntry model = base;
    model.adapter = entry.info.name;
    model.version = entry.info.version;
    model.id = entry.info.served
                   ? fmt::format("{}:{}", base.id, entry.info.name)
                   : fmt::format("{}:{}@{}", base.id, entry.info.name, entry.info.version);
    models.push_back(std::move(model));
  }
  return models;
}

}  // namespace

void ServeModels(const HttpCall& call) {
  call.Answer(openai::ModelsAnswer(ModelsOf(call.node)));
}

void ServeModel(const HttpCall& call) {
  const std::vector<openai::ModelEntry> models = ModelsOf(call.node);
  if (auto answer = openai::ModelAnswer(models, call.id)) {
    call.Answer(*std::move(answer));
    return;
  }
  constexpr size_t kMostShown = 100;
  call.Fail(Error(absl::StatusCode::kNotFound, reasons::kModelUnknown,
                  "this node does not serve the model '{}'; GET /v1/models lists what it serves",
                  SanitizeForDisplay(ValidUtf8(call.id.substr(0, kMostShown)))));
}

}  // namespace ruvd::api
