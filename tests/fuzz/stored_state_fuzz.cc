// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0
//
// Stored messages of the node's loops: what a conversion accepts must be stored as the same message
// again. The first byte chooses the message. A router is also served.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"
#include "node/learning/deep_checkpoint.h"
#include "node/learning/deep_memory.h"
#include "node/serving/extensions/request_router.h"
#include "node/serving/router_files.h"
#include "node/sharing/trust_records.h"
#include "ruvd/storage/v1/state.pb.h"

namespace {

namespace v1 = ruvd::storage::v1;

template <typename Message>
Message Parse(std::string_view bytes) {
  Message message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    message.Clear();
  }
  return message;
}

// Converts bytes and checks that the conversion is stable.
template <typename Message>
void Convert(std::string_view bytes, const auto& from, const auto& to) {
  const auto value = from(Parse<Message>(bytes));
  if (!value.ok()) {
    return;
  }
  const Message stored = to(*value);
  const auto again = from(stored);
  RUVD_CHECK(again.ok());
  RUVD_CHECK(to(*again).SerializeAsString() == stored.SerializeAsString());
}

void ConvertRouter(std::string_view bytes) {
  v1::StoredRouter stored = Parse<v1::StoredRouter>(bytes);
  // The checksum of a router would keep the fuzzer from everything behind it.
  const ruvd::Digest digest = ruvd::Sha256(stored.router());
  stored.mutable_router()->append(ruvd::AsText(digest));
  const auto router = ruvd::serving::FromStored(stored, {});
  if (!router.ok()) {
    return;
  }
  RUVD_CHECK(ruvd::serving::FromStored(ruvd::serving::ToStored(*router), {}).ok());
  ruvd::serving::RequestRouter served({.exploration = 0});
  if (served.Serve(router->router).ok()) {
    const ruvd::inference::RouteSet open(0b1111);
    RUVD_CHECK(served.Choose({}, open).decision.route < ruvd::serving::kNodeRoutes);
  }
}

void ConvertOne(uint8_t which, std::string_view bytes) {
  const auto learning_from = [](auto stored) { return ruvd::learning::FromStored(stored); };
  const auto learning_to = [](const auto& value) { return ruvd::learning::ToStored(value); };
  const auto serving_from = [](const auto& stored) { return ruvd::serving::FromStored(stored); };
  const auto serving_to = [](const auto& value) { return ruvd::serving::ToStored(value); };
  switch (which) {
    case 0:
      return Convert<v1::DeepCheckpoint>(bytes, learning_from, learning_to);
    case 1:
      return Convert<v1::DeepMemory>(bytes, learning_from, learning_to);
    case 2:
      return Convert<v1::RouterTrainingState>(bytes, serving_from, serving_to);
    case 3:
      return ConvertRouter(bytes);
    case 4:
      return Convert<v1::PeerScores>(
          bytes, [](const auto& stored) { return ruvd::sharing::FromStored(stored); },
          [](const auto& value) { return ruvd::sharing::ToStored(value); });
    default:
      ruvd::sharing::FromStored(Parse<v1::EquivocationProofs>(bytes)).IgnoreError();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint8_t kMessages = 6;
  if (size > 0) {
    ConvertOne(data[0] % kMessages, ruvd::AsText({data + 1, size - 1}));
  }
  return 0;
}
