// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/conformance/suite.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "base/file.h"
#include "base/parallel.h"
#include "base/status.h"
#include "inference/backend/backend.h"

namespace ruvd::conformance {

absl::StatusOr<std::vector<float>> ReadFloats(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, kMaxFixtureBytes));
  std::vector<float> out(bytes.size() / sizeof(float));
  std::memcpy(out.data(), bytes.data(), out.size() * sizeof(float));
  return out;
}

bool CheckBits(const Suite& suite, std::string_view id, std::span<const float> actual,
               std::span<const float> expected) {
  if (actual.size() != expected.size()) {
    suite.report->Fail(id, fmt::format("{} values instead of {}", actual.size(), expected.size()));
    return false;
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::bit_cast<uint32_t>(actual[i]) != std::bit_cast<uint32_t>(expected[i])) {
      suite.report->Fail(id, fmt::format("value {} is {} ({:a}) instead of {} ({:a})", i, actual[i],
                                         actual[i], expected[i], expected[i]));
      return false;
    }
  }
  return true;
}

std::string_view PrecisionName(inference::Precision precision) {
  return precision == inference::Precision::kExact ? "exact" : "fast";
}

absl::StatusOr<std::unique_ptr<inference::Transformer>> MakeTransformer(
    std::shared_ptr<const inference::Model> model, inference::Precision precision) {
  return inference::DefaultBackend().Load(std::move(model),
                                          {.precision = precision, .runner = SerialRunner()});
}

std::shared_ptr<const inference::Model> LoadModel(const Suite& suite, std::string_view id,
                                                  const nlohmann::json& name) {
  auto model = inference::Model::Load(suite.Path(name));
  if (model.ok()) {
    return *std::move(model);
  }
  suite.report->Fail(id, MessageOf(model.status()));
  return nullptr;
}

}  // namespace ruvd::conformance
