// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "inference/adapter/talora_file.h"
#include "tests/inference/talora_fixture.h"

namespace {

std::string Damaged(std::string file, const uint8_t* data, size_t size) {
  for (size_t i = 0; i + 3 <= size; i += 3) {
    const size_t at = data[i] | (static_cast<size_t>(data[i + 1]) << 8);
    file[at % file.size()] = static_cast<char>(data[i + 2]);
  }
  return file;
}

}  // namespace

// A TALoRA file is refused, or it gives an adapter that fits the model, mixes at every t and can be
// written again. The first byte says whether the rest is a whole file or damage to an intact one.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ruvd::test::TextModel model;
  static const std::string intact =
      ruvd::inference::SerializeTaloraFile(
          ruvd::test::RandomTalora(model, ruvd::inference::BankStrategy::kAttention), model)
          .value();
  if (size == 0) {
    RUVD_CHECK(ruvd::inference::ParseTaloraFile(ruvd::AsBytes(intact), model, "intact").ok());
    return 0;
  }
  const std::string file = data[0] % 2 == 0
                               ? std::string(reinterpret_cast<const char*>(data + 1), size - 1)
                               : Damaged(intact, data + 1, size - 1);
  const auto talora = ruvd::inference::ParseTaloraFile(ruvd::AsBytes(file), model, "fuzz");
  if (talora.ok()) {
    RUVD_CHECK(ruvd::inference::CheckTalora(**talora).ok() &&
               ruvd::inference::CheckTalora(**talora, model).ok());
    for (const float t : {0.0F, 0.3F, 1.0F}) {
      ruvd::inference::AdapterMix mix;
      ruvd::inference::AppendMix(**talora, t, {}, 1, &mix);
    }
    RUVD_CHECK(ruvd::inference::SerializeTaloraFile(**talora, model).ok());
  }
  return 0;
}
