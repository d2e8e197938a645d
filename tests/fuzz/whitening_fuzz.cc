// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "inference/gguf/reader.h"
#include "inference/retrieval/whitening.h"

namespace {

constexpr int kWidth = 3;
const ruvd::Digest kModel{7};

std::string IntactFile() {
  const std::vector<float> rows = {1, 0, 2, 0, 1, 5, 3, 3, 1, 2, -1, 0};
  return ruvd::inference::Whitening::Estimate(kModel, rows, kWidth, 0.5F)
      .value()
      .Serialize()
      .value();
}

}  // namespace

// Damage to an intact file of statistics, every three bytes an offset and a value, is refused or
// gives finite embeddings.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string intact = IntactFile();
  std::string file = intact;
  for (size_t i = 0; i + 3 <= size; i += 3) {
    const size_t at = data[i] | (static_cast<size_t>(data[i + 1]) << 8);
    file[at % file.size()] = static_cast<char>(data[i + 2]);
  }
  const auto reader = ruvd::inference::GgufReader::Parse(ruvd::AsBytes(file));
  if (!reader.ok()) {
    return 0;
  }
  const auto whitening = ruvd::inference::Whitening::Read(**reader, "fuzz", kModel);
  if (whitening.ok() && whitening->width() == kWidth) {
    const std::vector<float> embedding = {0.6F, 0.0F, 0.8F};
    for (const float value : whitening->Apply(embedding)) {
      RUVD_CHECK(std::isfinite(value));
    }
  }
  return 0;
}
