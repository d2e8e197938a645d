// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/file.h"
#include "base/status.h"
#include "inference/gguf/quantize.h"
#include "inference/gguf/reader.h"
#include "tests/conformance/suite.h"

namespace ruvd::conformance {
namespace {

std::optional<inference::TensorType> TypeByName(std::string_view name) {
  for (uint32_t number = 0; number < 64; ++number) {
    const auto type = inference::TensorTypeFromNumber(number);
    if (type && inference::TensorTypeName(*type) == name) {
      return type;
    }
  }
  return std::nullopt;
}

absl::Status RunBlockCase(const Suite& suite, const std::string& id, const nlohmann::json& entry) {
  const auto type = TypeByName(entry.at("weights").get<std::string>());
  if (!type) {
    suite.report->Fail(id, "block format not supported");
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const std::string blocks,
                   ReadFile(suite.Path(entry.at("blocks")), kMaxFixtureBytes));
  ASSIGN_OR_RETURN(const std::vector<float> expected, ReadFloats(suite.Path(entry.at("values"))));
  std::vector<float> actual(expected.size());
  RETURN_IF_ERROR(inference::Dequantize(*type, AsBytes(blocks), actual));
  if (CheckBits(suite, id, actual, expected)) {
    suite.report->Pass();
  }
  return absl::OkStatus();
}

absl::Status RunDequantCase(const Suite& suite, const std::string& id,
                            const nlohmann::json& entry) {
  ASSIGN_OR_RETURN(const auto gguf, inference::GgufReader::Open(suite.Path(entry.at("model"))));
  const inference::TensorInfo* tensor = gguf->Find(entry.at("tensor").get<std::string>());
  ASSIGN_OR_RETURN(const std::vector<float> expected, ReadFloats(suite.Path(entry.at("values"))));
  if (tensor == nullptr || expected.size() > tensor->values()) {
    suite.report->Fail(id, "the tensor is missing or too small");
    return absl::OkStatus();
  }
  std::vector<float> actual(tensor->values());
  RETURN_IF_ERROR(inference::Dequantize(tensor->type, gguf->Data(*tensor), actual));
  actual.resize(expected.size());
  if (CheckBits(suite, id, actual, expected)) {
    suite.report->Pass();
  }
  return absl::OkStatus();
}

}  // namespace

void RunBlocks(const Suite& suite) {
  for (const auto& entry : suite.manifest.at("blocks")) {
    const std::string id = "blocks " + entry.at("weights").get<std::string>();
    if (absl::Status status = RunBlockCase(suite, id, entry); !status.ok()) {
      suite.report->Fail(id, MessageOf(status));
    }
  }
  for (const auto& entry : suite.manifest.at("dequant")) {
    const std::string id = "dequant " + entry.at("model").get<std::string>();
    if (absl::Status status = RunDequantCase(suite, id, entry); !status.ok()) {
      suite.report->Fail(id, MessageOf(status));
    }
  }
}

}  // namespace ruvd::conformance
