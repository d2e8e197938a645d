// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_file.h"
#include "tests/inference/text_model.h"

namespace {

// The fuzzer cannot guess a SHA-256, so it writes everything but the checksum.
void TryBytes(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  const ruvd::Digest checksum = ruvd::Sha256(bytes);
  bytes += ruvd::AsText(checksum);
  const auto adapter = ruvd::inference::DecodeAdapter(ruvd::AsBytes(bytes));
  if (adapter.ok()) {
    RUVD_CHECK(ruvd::inference::EncodeAdapter(**adapter) == bytes);
  }
}

}  // namespace

// Any bytes are either refused or give an adapter: as a storage payload (one that encodes to the
// same bytes again) and as a GGUF file (one that fits the model).
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ruvd::test::TextModel model;
  TryBytes(data, size);
  const auto file = ruvd::inference::ParseAdapterFile({data, size}, model, "fuzz");
  if (file.ok()) {
    RUVD_CHECK(ruvd::inference::CheckAdapter(**file, model).ok());
  }
  return 0;
}
