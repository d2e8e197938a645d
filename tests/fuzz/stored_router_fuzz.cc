// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"
#include "node/serving/extensions/request_router.h"
#include "node/serving/router_files.h"

// Bytes followed by the router's checksum are refused, or are equal to what is written again; a
// node takes the router or refuses it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr size_t kHead = 18;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (size > kHead) {
    const ruvd::Digest digest = ruvd::Sha256(bytes.substr(kHead));
    bytes += ruvd::AsText(digest);
  }
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  if (const auto state = ruvd::serving::DecodeTrainingState(all); state.ok()) {
    RUVD_CHECK(ruvd::serving::EncodeTrainingState(*state) == all);
  }
  const auto stored = ruvd::serving::DecodeStoredRouter(bytes, {});
  if (!stored.ok()) {
    return 0;
  }
  RUVD_CHECK(
      ruvd::serving::DecodeStoredRouter(ruvd::serving::EncodeStoredRouter(*stored), {}).ok());
  ruvd::serving::RequestRouter router({.exploration = 0});
  if (router.Serve(stored->router).ok()) {
    const ruvd::inference::RouteSet open(0b1111);
    RUVD_CHECK(router.Choose({}, open).decision.route < ruvd::serving::kNodeRoutes);
  }
  return 0;
}
