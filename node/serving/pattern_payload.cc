// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/pattern_payload.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/core_grid.h"
#include "ruvd/storage/v1/storage.pb.h"

namespace ruvd::serving {
namespace {

// Number of digits of the content's digest in an adapter's name. The id is whole, so that no peer
// can choose one that gives its pattern the name of another.
constexpr size_t kShortDigest = 16;

void WriteCores(const inference::CoreSet& cores, storage::v1::PatternCores* message) {
  message->set_frame_id(cores.frame_id.data(), cores.frame_id.size());
  message->set_model_hash(cores.model_hash.data(), cores.model_hash.size());
  for (const auto& [target, core] : cores.cores) {
    auto* const row = message->add_cores();
    row->set_target(target);
    row->set_rank(static_cast<uint32_t>(core.rank));
    const inference::GridValues grid = inference::ToGrid(core.values);
    row->set_exponent(grid.exponent);
    row->set_steps(grid.steps.data(), grid.steps.size());
  }
}

// Returns false for ids of another size and for values in no canonical grid. AdapterFromCores
// checks targets and ranks.
bool ReadCores(const storage::v1::PatternCores& message, inference::CoreSet* cores) {
  if (message.frame_id().size() != cores->frame_id.size() ||
      message.model_hash().size() != cores->model_hash.size()) {
    return false;
  }
  std::ranges::copy(message.frame_id(), cores->frame_id.begin());
  std::ranges::copy(message.model_hash(), cores->model_hash.begin());
  for (const auto& row : message.cores()) {
    const inference::GridValues grid{.exponent = static_cast<int8_t>(row.exponent()),
                                     .steps = {row.steps().begin(), row.steps().end()}};
    if (grid.exponent != row.exponent() || !IsCanonical(grid)) {
      return false;
    }
    cores->cores[row.target()] = {.rank = static_cast<int>(row.rank()), .values = FromGrid(grid)};
  }
  return true;
}

}  // namespace

std::string PatternAdapterName(const storage::PatternId& id, const Digest& content) {
  return fmt::format("pattern-{}-{}", ToHex(id), ToHex(content).substr(0, kShortDigest));
}

std::string EncodePatternPayload(const PatternPayload& payload) {
  storage::v1::PatternPayload message;
  message.set_adapter(payload.adapter);
  if (payload.cores) {
    WriteCores(*payload.cores, message.mutable_cores());
  }
  message.set_withheld(payload.withheld);
  message.set_deep_version(payload.deep_version);
  message.set_shareable(payload.shareable);
  message.set_stays_here(payload.stays_here);
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
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      (message.has_cores() && !ReadCores(message.cores(), &payload.cores.emplace()))) {
    return Error(absl::StatusCode::kDataLoss, reasons::kStoreCorrupt,
                 "a pattern's payload of {} bytes cannot be read; delete the pattern",
                 bytes.size());
  }
  payload.adapter = message.adapter();
  payload.withheld = message.withheld();
  payload.shareable = message.shareable();
  payload.stays_here = message.stays_here();
  payload.deep_version = message.deep_version();
  for (const auto& row : message.contributors()) {
    payload.contributors.push_back({.user = row.user(), .session = row.session()});
  }
  return payload;
}

absl::StatusOr<std::shared_ptr<const inference::Adapter>> AdapterOfPattern(
    const storage::Pattern& pattern, const PatternPayload& payload, const inference::Model& model,
    const inference::FrameSet* frame) {
  std::shared_ptr<const inference::Adapter> adapter;
  if (payload.cores) {
    if (frame == nullptr || frame->id != payload.cores->frame_id) {
      return Error(absl::StatusCode::kFailedPrecondition, reasons::kFrameMismatch,
                   "the adapter of pattern {} is in the adapter frame {}, which this node does not "
                   "have; put that frame beside the model, or delete the pattern",
                   ToHex(pattern.id), ToHex(std::span(payload.cores->frame_id).first(8)));
    }
    ASSIGN_OR_RETURN(adapter,
                     inference::AdapterFromCores(*frame, *payload.cores, pattern.adapter_name,
                                                 pattern.adapter_version, 1.0F));
  } else if (!payload.adapter.empty()) {
    ASSIGN_OR_RETURN(adapter, inference::DecodeAdapter(AsBytes(payload.adapter)));
  } else {
    return adapter;
  }
  RETURN_IF_ERROR(inference::CheckAdapter(*adapter, model));
  return adapter;
}

}  // namespace ruvd::serving
