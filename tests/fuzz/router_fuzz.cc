// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "inference/router/router.h"

// Bytes followed by their checksum are refused, or make a router that decides and whose own bytes
// can be read again.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  const ruvd::Digest digest = ruvd::Sha256(bytes);
  bytes += ruvd::AsText(digest);
  const auto router = ruvd::inference::Router::Parse(bytes, {});
  if (!router.ok()) {
    return 0;
  }
  std::array<double, ruvd::inference::kRouterFeatures> x{};
  x.fill(0.5);
  ruvd::Random random(1);
  RUVD_CHECK(router->Choose(x, random).route < router->entries().size());
  RUVD_CHECK(ruvd::inference::Router::Parse(router->Serialize(), {}).ok());
  return 0;
}
