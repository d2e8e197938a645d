// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/openai/models.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ruvd::openai {
namespace {

using nlohmann::json;

json JsonOf(const ModelEntry& model) {
  json entry = {{"id", model.id},
                {"object", "model"},
                {"created", model.created},
                {"owned_by", "ruvdllm"},
                {"context_length", model.context}};
  if (!model.adapter.empty()) {
    entry["adapter"] = {{"name", model.adapter}, {"version", model.version}};
  }
  return entry;
}

std::string TextOf(const json& value) {
  return value.dump(-1, ' ', /*ensure_ascii=*/false, json::error_handler_t::replace);
}

}  // namespace

std::string ModelsAnswer(std::span<const ModelEntry> models) {
  json data = json::array();
  for (const ModelEntry& model : models) {
    data.push_back(JsonOf(model));
  }
  return TextOf({{"object", "list"}, {"data", std::move(data)}});
}

std::optional<std::string> ModelAnswer(std::span<const ModelEntry> models, std::string_view id) {
  const auto found = std::ranges::find(models, id, &ModelEntry::id);
  return found == models.end() ? std::nullopt : std::optional(TextOf(JsonOf(*found)));
}

}  // namespace ruvd::openai
