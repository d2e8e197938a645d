// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/pattern_payload.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "ruvd/storage/v1/storage.pb.h"

namespace ruvd::serving {
namespace {

// Number of digits of the content's digest in an adapter's name. The id is whole, so that no peer
// can choose one that gives its pattern the name of another.
constexpr size_t kShortDigest = 16;

}  // namespace

std::string PatternAdapterName(const storage::PatternId& id, const Digest& content) {
  return fmt::format("pattern-{}-{}", ToHex(id), ToHex(content).substr(0, kShortDigest));
}

std::string EncodePatternPayload(const PatternPayload& payload) {
  storage::v1::PatternPayload message;
  message.set_adapter(payload.adapter);
  message.mutable_core()->Assign(payload.core.begin(), payload.core.end());
  message.mutable_core_boundaries()->Assign(payload.core_boundaries.begin(),
                                            payload.core_boundaries.end());
  message.set_withheld(payload.withheld);
  message.set_deep_version(payload.deep_version);
  message.set_frame_id(payload.frame_id.data(), payload.frame_id.size());
  message.set_holds_others(payload.holds_others);
  for (const privacy::Contributor& contributor : payload.contributors) {
    auto* const row = message.add_contributors();
    row->set_user(contributor.user);
    row->set_session(contributor.session);
  }
  return message.SerializeAsString();
}

absl::StatusOr<PatternPayload> DecodePatternPayload(std::string_view bytes) {
  storage::v1::PatternPayload message;
  PatternPayload payload;
  if (bytes.empty()) {
    return payload;
  }
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      message.frame_id().size() != payload.frame_id.size()) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "a pattern's payload of {} bytes cannot be read; delete the pattern",
                 bytes.size());
  }
  payload.adapter = message.adapter();
  payload.withheld = message.withheld();
  payload.holds_others = message.holds_others();
  payload.deep_version = message.deep_version();
  payload.core.assign(message.core().begin(), message.core().end());
  payload.core_boundaries.assign(message.core_boundaries().begin(),
                                 message.core_boundaries().end());
  std::ranges::copy(message.frame_id(), payload.frame_id.begin());
  for (const auto& row : message.contributors()) {
    payload.contributors.push_back({.user = row.user(), .session = row.session()});
  }
  return payload;
}

}  // namespace ruvd::serving
