// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/shared_items.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/daf/core_delta.h"
#include "federation/limits.h"
#include "inference/adapter/adapter_bytes.h"
#include "node/log/log.h"
#include "node/serving/pattern_payload.h"

namespace ruvd::sharing {
namespace {

constexpr float kCoreScale = 1.0F;

// Scales a core down to the largest norm that peers accept, which a long training run on one lesson
// can exceed. The direction, which holds what was learned, stays.
void ClipToBound(std::vector<float>& core) {
  // Rounding the scaled values to float must not exceed the bound again.
  constexpr double kMargin = 1e-6;
  const double bound = federation::UpdateRules().max_norm * (1 - kMargin);
  double squares = 0;
  for (const float value : core) {
    squares += static_cast<double>(value) * value;
  }
  if (const double norm = std::sqrt(squares); norm > bound) {
    for (float& value : core) {
      value = static_cast<float>(value * (bound / norm));
    }
  }
}

federation::CoreDelta CoreOf(const inference::ProjectionFrame& frame, uint32_t bank,
                             std::vector<float> values) {
  ClipToBound(values);
  return {.target = frame.target,
          .bank = bank,
          .rank = static_cast<uint32_t>(frame.rank),
          .values = std::move(values)};
}

// Returns the core of a pattern for all t, which is the mean over t of the cores of its banks;
// nullopt if it has no core in this frame, or a core of another size.
std::optional<std::vector<float>> CoreForAllT(const serving::PatternPayload& payload,
                                              const inference::ProjectionFrame& frame) {
  const size_t values = static_cast<size_t>(frame.rank) * static_cast<size_t>(frame.rank);
  const size_t banks = payload.core_boundaries.size() + 1;
  if (payload.core.empty() || payload.frame_id != frame.id ||
      payload.core.size() != banks * values) {
    return std::nullopt;
  }
  std::vector<float> mean(values);
  float low = 0;
  for (size_t bank = 0; bank < banks; ++bank) {
    const float high = bank + 1 < banks ? payload.core_boundaries[bank] : 1.0F;
    for (size_t i = 0; i < values; ++i) {
      mean[i] += (high - low) * payload.core[bank * values + i];
    }
    low = high;
  }
  return mean;
}

}  // namespace

absl::StatusOr<federation::SharedPattern> ShareablePattern(
    const storage::Pattern& pattern, const inference::ProjectionFrame& frame) {
  ASSIGN_OR_RETURN(const serving::PatternPayload payload,
                   serving::DecodePatternPayload(pattern.payload));
  if (payload.withheld) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kInvalidArgument,
                 "pattern {} is private; store it as public to share it", ToHex(pattern.id));
  }
  std::optional<std::vector<float>> core = CoreForAllT(payload, frame);
  if (!core) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFrameMismatch,
                 "pattern {} has no core in this cluster's frame; it can be shared once feedback "
                 "trains it again",
                 ToHex(pattern.id));
  }
  federation::SharedPattern shared;
  shared.id = pattern.id;
  shared.bank = pattern.bank;
  shared.task = pattern.task;
  shared.quality = pattern.quality;
  shared.examples = pattern.examples;
  shared.created_ms = pattern.updated_ms;  // a retrained pattern replaces its older version
  shared.centroid = pattern.embedding;
  shared.cores.push_back(CoreOf(frame, pattern.bank, *std::move(core)));
  return shared;
}

absl::StatusOr<storage::Pattern> PatternFromShared(const federation::SharedPattern& shared,
                                                   const privacy::NodeId& origin,
                                                   const inference::ProjectionFrame& frame,
                                                   uint32_t version) {
  storage::Pattern pattern;
  pattern.id = shared.id;
  pattern.embedding = shared.centroid;
  pattern.bank = shared.bank;
  pattern.task = shared.task;
  pattern.quality = shared.quality;
  pattern.tier = storage::SharingTier::kPublic;
  pattern.examples = shared.examples;
  pattern.origin = origin;
  pattern.created_ms = shared.created_ms;
  pattern.updated_ms = shared.created_ms;
  const auto core = std::ranges::find_if(shared.cores, [&](const federation::CoreDelta& candidate) {
    return candidate.target == frame.target && candidate.bank == shared.bank;
  });
  if (core != shared.cores.end()) {
    serving::PatternPayload payload;
    payload.core = core->values;
    payload.frame_id = frame.id;
    ASSIGN_OR_RETURN(const std::shared_ptr<const inference::Adapter> unnamed,
                     inference::AdapterFromCore(frame, payload.core, "", version, kCoreScale));
    inference::Adapter adapter = *unnamed;
    adapter.name = serving::PatternAdapterName(shared.id, inference::AdapterId(adapter));
    pattern.adapter_name = adapter.name;
    pattern.adapter_version = version;
    payload.adapter = inference::EncodeAdapter(adapter);
    pattern.payload = serving::EncodePatternPayload(payload);
  }
  return pattern;
}

absl::Status CheckMayContribute(const privacy::AdmissionCert& certificate) {
  if ((certificate.roles & privacy::roles::kContributor) != 0) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kPermissionDenied, reasons::kRoleMissing,
               "this node's certificate does not include the role to contribute; ask the cluster's "
               "operator for one that does");
}

storage::FederatedItem ToStored(const federation::Item& item, int64_t received_ms) {
  storage::FederatedItem stored;
  stored.header = item.envelope->header;
  stored.body = item.envelope->body;
  stored.signature = item.envelope->signature;
  stored.payload = *item.payload;
  stored.received_ms = received_ms;
  return stored;
}

absl::StatusOr<federation::Item> FromStored(const storage::FederatedItem& stored) {
  privacy::Envelope envelope;
  envelope.header = stored.header;
  envelope.body = stored.body;
  envelope.signature = stored.signature;
  return federation::MakeItem(std::move(envelope), stored.payload);
}

absl::StatusOr<std::vector<federation::Item>> LoadItems(storage::ItemStore& store) {
  std::vector<federation::Item> items;
  std::vector<std::string> damaged;
  RETURN_IF_ERROR(store.ForEach(
      [&](const Digest& id, const storage::FederatedItem& stored) {
        absl::StatusOr<federation::Item> item = FromStored(stored);
        if (item.ok()) {
          items.push_back(*std::move(item));
        } else {
          LogWarning("stored item {} is left out: {}", ToHex(id), MessageOf(item.status()));
        }
        return true;
      },
      [&](std::string_view key) {
        LogWarning("stored item {} is damaged; it is fetched from peers again",
                   ToHex(AsBytes(key)));
        damaged.emplace_back(key);
      }));
  if (const absl::Status deleted = store.DeleteDamaged(damaged); !deleted.ok()) {
    LogError("damaged items could not be deleted: {} [{}]", MessageOf(deleted), ReasonOf(deleted));
  }
  return items;
}

}  // namespace ruvd::sharing
