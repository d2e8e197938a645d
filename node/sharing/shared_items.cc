// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/shared_items.h"

#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/daf/core_delta.h"
#include "federation/limits.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/core_grid.h"
#include "node/log/log.h"
#include "node/serving/pattern_payload.h"

namespace ruvd::sharing {

absl::StatusOr<federation::SharedPattern> ShareablePattern(const storage::Pattern& pattern,
                                                           const inference::FrameSet* frame) {
  ASSIGN_OR_RETURN(const serving::PatternPayload payload,
                   serving::DecodePatternPayload(pattern.payload));
  if (payload.withheld) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kInvalidArgument,
                 "pattern {} is private; store it as public to share it", ToHex(pattern.id));
  }
  if (!payload.shareable) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kInvalidArgument,
                 "the adapter of pattern {} holds what may not leave this node; it can be shared "
                 "once feedback of users who agreed to sharing trains it again",
                 ToHex(pattern.id));
  }
  if (frame == nullptr || !payload.cores || payload.cores->frame_id != frame->id) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFrameMismatch,
                 "pattern {} has no cores in this cluster's frame; it can be shared once feedback "
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
  for (const auto& [target, core] : payload.cores->cores) {
    shared.cores.push_back({.target = target,
                            .bank = pattern.bank,
                            .rank = static_cast<uint32_t>(core.rank),
                            .values = inference::ToGrid(core.values)});
  }
  federation::SortCores(shared.cores);
  return shared;
}

absl::StatusOr<storage::Pattern> PatternFromShared(const federation::SharedPattern& shared,
                                                   const privacy::NodeId& origin,
                                                   const inference::FrameSet* frame,
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
  if (frame == nullptr) {
    return pattern;
  }
  inference::CoreSet cores{.frame_id = frame->id, .model_hash = frame->model_hash, .cores = {}};
  for (const federation::CoreDelta& core : shared.cores) {
    if (core.bank == shared.bank && frame->modules.contains(core.target)) {
      cores.cores[core.target] = {.rank = static_cast<int>(core.rank),
                                  .values = FromGrid(core.values)};
    }
  }
  if (cores.cores.empty()) {
    return pattern;
  }
  ASSIGN_OR_RETURN(const std::shared_ptr<const inference::Adapter> adapter,
                   inference::AdapterFromCores(*frame, cores, "", version, 1.0F));
  pattern.adapter_name = serving::PatternAdapterName(shared.id, inference::AdapterId(*adapter));
  pattern.adapter_version = version;
  pattern.payload = serving::EncodePatternPayload({.cores = std::move(cores)});
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
