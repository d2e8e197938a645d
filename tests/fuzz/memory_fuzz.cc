// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "inference/memory/memory_parameters.h"

namespace {

constexpr int kWidth = 3;
const ruvd::Digest kModel{7};

std::string IntactFile() {
  ruvd::inference::MemoryParameters parameters{.model_hash = kModel, .width = kWidth};
  parameters.dimension = 32;
  parameters.mean = {0.5F, -1, 2};
  for (int i = 0; i < kWidth * parameters.dimension; ++i) {
    parameters.projection.push_back(static_cast<float>(i % 7) - 3);
  }
  parameters.public_log_frequency = {-1, -2, -3, -4};
  return parameters.Serialize().value();
}

}  // namespace

// Damage to an intact file of parameters, every three bytes an offset and a value, is refused or
// gives keys of length one and a finite bound of scores.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string intact = IntactFile();
  std::string file = intact;
  for (size_t i = 0; i + 3 <= size; i += 3) {
    const size_t at = data[i] | (static_cast<size_t>(data[i + 1]) << 8);
    file[at % file.size()] = static_cast<char>(data[i + 2]);
  }
  const auto parameters = ruvd::inference::MemoryParameters::Parse(file, "fuzz", kModel);
  if (!parameters.ok()) {
    return 0;
  }
  RUVD_CHECK(std::isfinite(parameters->ScoreBound()));
  const std::vector<float> hidden(static_cast<size_t>(parameters->width), 0.75F);
  std::vector<float> key(static_cast<size_t>(parameters->dimension));
  parameters->ComputeKeys(hidden, key);
  double squares = 0;
  for (const float value : key) {
    squares += static_cast<double>(value) * static_cast<double>(value);
  }
  RUVD_CHECK(std::isnan(squares) || std::abs(squares - 1) < 1e-3);
  return 0;
}
