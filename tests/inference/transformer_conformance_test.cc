// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// Compares with the golden logits that llama.cpp and a float64 program computed
// (../shared/fixtures/README.md).
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/parallel.h"
#include "base/status.h"
#include "inference/adapter/adapter_file.h"
#include "inference/transformer/cpu_transformer.h"
#include "tests/inference/tiny_model.h"
#include "tests/paths.h"

namespace ruvd::inference {
namespace {

const std::string& Fixtures() {
  static const std::string folder = test::SourceDir() + "/../shared/fixtures/";
  return folder;
}

std::vector<float> ReadFloats(const std::string& path) {
  const std::string bytes = ReadFile(path, 1 << 24).value();
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
  return values;
}

// The adapters of a case, with their scales as weights.
AdapterMix ReadMix(const nlohmann::json& lora, const Model& model) {
  AdapterMix mix;
  for (const auto& entry : lora) {
    const std::string path = Fixtures() + entry["file"].get<std::string>();
    mix.parts.push_back({LoadAdapterFile(path, model).value(), entry["scale"].get<float>()});
  }
  return mix;
}

double ErrorOf(const nlohmann::json& test) {
  const auto model = Model::Load(Fixtures() + test["model"].get<std::string>()).value();
  ThreadParallelRunner runner(2);
  CpuTransformer transformer(model, runner);
  const auto tokens = test["tokens"].get<std::vector<TokenId>>();
  const AdapterMix mix = ReadMix(test["lora"], *model);
  ForwardOutput output;
  const Attention attention{.kind = test["causal"].get<bool>() ? Attention::Kind::kCausal
                                                               : Attention::Kind::kBidirectional};
  RUVD_CHECK(
      transformer.Forward({.tokens = tokens, .attention = attention, .adapters = &mix}, &output)
          .ok());
  std::vector<float> logits(tokens.size() * static_cast<size_t>(model->config().vocabulary));
  transformer.Logits(output.hidden, &mix, logits);
  return test::RelativeRms(logits,
                           ReadFloats(Fixtures() + test["golden_exact"].get<std::string>()));
}

TEST(TransformerConformanceTest, EveryLogitsCaseIsWithinItsLimit) {
  if (!std::filesystem::exists(Fixtures() + "manifest.json")) {
    GTEST_SKIP() << "no fixtures beside the repository";
  }
  std::ifstream file(Fixtures() + "manifest.json");
  const auto manifest = nlohmann::json::parse(file);
  int cases = 0;
  for (const auto& test : manifest["logits"]) {
    const double limit = test.value("limit_exact", 1e-5);
    EXPECT_LE(ErrorOf(test), limit) << test["id"];
    ++cases;
  }
  EXPECT_GE(cases, 19);
}

}  // namespace
}  // namespace ruvd::inference
