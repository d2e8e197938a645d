// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/model/model.h"
#include "inference/transformer/transformer.h"
#include "tests/conformance/report.h"

namespace ruvd::conformance {

// A folder of fixtures with its manifest (its README.md says what the entries mean). Reading a
// member that is missing throws nlohmann::json::exception, which main() reports.
struct Suite {
  std::filesystem::path folder;
  nlohmann::json manifest;
  // Models are run with each of these.
  std::vector<inference::Precision> precisions;
  Report* report = nullptr;
  // Names of the files that cases asked for.
  std::set<std::string>* used = nullptr;

  // Returns the path of a file named by the manifest, and notes the file as used.
  std::string Path(const nlohmann::json& name) const {
    used->insert(name.get<std::string>());
    return (folder / name.get<std::string>()).string();
  }
};

// Each runs the cases of one or more sections of the manifest.
void RunBlocks(const Suite& suite);      // "blocks", "dequant"
void RunTokenizers(const Suite& suite);  // "tokenizers", "tokenize"
void RunBroken(const Suite& suite);      // "broken", "broken_controls"
void RunLogits(const Suite& suite);      // "logits", with LoRA
void RunGreedy(const Suite& suite);      // "greedy"
void RunDiffusion(const Suite& suite);   // "diffusion"
// "files": each is as the manifest describes it and was used by one of the other sections. Must run
// last.
void RunFiles(const Suite& suite);

// No fixture is larger.
inline constexpr uint64_t kMaxFixtureBytes = 64 << 20;

// Reads a file of raw little-endian float32.
absl::StatusOr<std::vector<float>> ReadFloats(const std::string& path);

// True if `actual` has the bits of `expected`, signs of zero and NaN included; otherwise reports
// the first difference.
bool CheckBits(const Suite& suite, std::string_view id, std::span<const float> actual,
               std::span<const float> expected);

// Returns "exact" or "fast".
std::string_view PrecisionName(inference::Precision precision);

// Makes a transformer that runs `model` on the calling thread.
absl::StatusOr<std::unique_ptr<inference::Transformer>> MakeTransformer(
    std::shared_ptr<const inference::Model> model, inference::Precision precision);

// Loads the model named by an entry; returns null after reporting a failure.
std::shared_ptr<const inference::Model> LoadModel(const Suite& suite, std::string_view id,
                                                  const nlohmann::json& name);

}  // namespace ruvd::conformance
