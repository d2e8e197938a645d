// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

// This target feeds the parser of the client API's key file. What it accepts keeps its meaning when
// it is written again.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "node/transport/api_keys.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using ruvd::transport::ApiKey;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto keys = ruvd::transport::ParseKeyFile(text, "keys");
  if (!keys.ok()) {
    return 0;
  }
  std::string written;
  for (const ApiKey& key : *keys) {
    written += FormatKeyLine(key) + "\n";
  }
  const auto again = ruvd::transport::ParseKeyFile(written, "keys");
  RUVD_CHECK(again.ok() && again->size() == keys->size());
  for (size_t i = 0; i < keys->size(); ++i) {
    RUVD_CHECK((*again)[i].name == (*keys)[i].name && (*again)[i].roles == (*keys)[i].roles &&
               (*again)[i].hash == (*keys)[i].hash && (*again)[i].limits == (*keys)[i].limits);
  }
  return 0;
}
