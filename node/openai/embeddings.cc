// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/openai/embeddings.h"

#include <fmt/format.h>
#include <sodium.h>

#include <bit>
#include <cstddef>
#include <nlohmann/json.hpp>

#include "base/status.h"
#include "node/openai/completion_request.h"
#include "node/openai/field_reader.h"
#include "node/openai/json_reader.h"
#include "node/openai/limits.h"

namespace ruvd::openai {
namespace {

using nlohmann::json;

std::string Base64Of(const std::vector<float>& vector) {
  static_assert(std::endian::native == std::endian::little);
  const auto* const bytes = reinterpret_cast<const unsigned char*>(vector.data());
  const size_t size = vector.size() * sizeof(float);
  std::string text(sodium_base64_encoded_len(size, sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(text.data(), text.size(), bytes, size, sodium_base64_VARIANT_ORIGINAL);
  text.pop_back();  // the zero behind it
  return text;
}

}  // namespace

absl::StatusOr<EmbeddingsRequest> ReadEmbeddingsRequest(std::string_view body,
                                                        std::string_view model,
                                                        uint32_t dimension) {
  ASSIGN_OR_RETURN(const json request, ReadJson(body));
  EmbeddingsRequest out;
  FieldReader fields(request);
  if (auto texts = fields.Texts("input")) {
    out.texts = *std::move(texts);
  }
  if (out.texts.empty() || out.texts.size() > limits::kMaxEmbeddingInputs) {
    fields.Refuse("input", fmt::format("has {} texts; send 1 to {}", out.texts.size(),
                                       limits::kMaxEmbeddingInputs));
  }
  fields.Note(ReadModelName(fields.Text("model").value_or(""), model, /*adapters=*/nullptr));
  const std::string format = fields.Text("encoding_format").value_or("float");
  out.as_base64 = format == "base64";
  if (!out.as_base64 && format != "float") {
    fields.Refuse("encoding_format", "is unknown; send \"float\" or \"base64\"");
  }
  fields.Only("dimensions", dimension);
  RETURN_IF_ERROR(fields.Finish());
  return out;
}

std::string EmbeddingsAnswer(const EmbeddingsRequest& request, std::string_view model,
                             std::span<const std::vector<float>> vectors, uint64_t tokens) {
  json data = json::array();
  for (size_t i = 0; i < vectors.size(); ++i) {
    json entry = {{"object", "embedding"}, {"index", i}};
    entry["embedding"] = request.as_base64 ? json(Base64Of(vectors[i])) : json(vectors[i]);
    data.push_back(std::move(entry));
  }
  const json answer = {{"object", "list"},
                       {"data", std::move(data)},
                       {"model", model},
                       {"usage", {{"prompt_tokens", tokens}, {"total_tokens", tokens}}}};
  return answer.dump();
}

}  // namespace ruvd::openai
