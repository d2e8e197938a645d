// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/adapter_source.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "node/actors/pattern_payload.h"
#include "node/limits.h"

namespace ruvd {
namespace {

absl::StatusOr<PatternId> ParseId(const std::string& hex) {
  PatternId id{};
  const std::optional<std::string> bytes = FromHex(hex);
  if (!bytes || bytes->size() != id.size()) {
    return Error(absl::StatusCode::kInternal, reasons::kInternal, "'{}' is no pattern id", hex);
  }
  std::memcpy(id.data(), bytes->data(), id.size());
  return id;
}

}  // namespace

AdapterMix ChosenAdapters::At(float t) const {
  AdapterMix mix;
  for (const RangedPart& part : parts) {
    if (t > part.t_min && t <= part.t_max) {
      mix.parts.push_back(part.part);
    }
  }
  return mix;
}

bool ChosenAdapters::constant() const {
  return std::all_of(parts.begin(), parts.end(),
                     [](const RangedPart& part) { return part.t_min <= 0 && part.t_max >= 1; });
}

absl::StatusOr<ChosenAdapters> AdapterSource::Choose(std::span<const float> embedding,
                                                     std::span<const AdapterChoice> choices) {
  ChosenAdapters chosen;
  ASSIGN_OR_RETURN(chosen.parts, loaded_files_.Choose(choices));
  for (const auto& [part, t_min, t_max] : chosen.parts) {
    chosen.uses.push_back(
        {.name = part.adapter->name, .version = part.adapter->version, .weight = part.weight});
  }
  const size_t loaded = chosen.parts.size();
  RETURN_IF_ERROR(Retrieve(embedding, &chosen));
  if (chosen.parts.size() == loaded) {
    MutexLock lock(mutex_);
    if (federated_ != nullptr) {
      chosen.uses.push_back(
          {.name = federated_->name, .version = federated_->version, .weight = 1});
      chosen.parts.push_back({.part = {.adapter = federated_, .weight = 1}});
    }
  }
  return chosen;
}

absl::Status AdapterSource::Retrieve(std::span<const float> embedding, ChosenAdapters* chosen) {
  // The whole window is masked when a request begins: the bank of t = 1.
  ASSIGN_OR_RETURN(std::vector<RetrievedPattern> hits,
                   index_.Search(embedding, BankOf(1), options_.max_adapters));
  std::erase_if(hits,
                [&](const RetrievedPattern& hit) { return hit.similarity < options_.threshold; });
  Load(hits);
  const Selection selection = SelectAdapters(hits, registry_, options_);
  for (size_t i = 0; i < selection.mix.parts.size(); ++i) {
    const AdapterMix::Part& part = selection.mix.parts[i];
    chosen->uses.push_back({.name = part.adapter->name,
                            .version = part.adapter->version,
                            .weight = part.weight,
                            .pattern_id = selection.hits[i].pattern_id,
                            .similarity = selection.hits[i].similarity});
    chosen->parts.push_back({.part = part});
    ASSIGN_OR_RETURN(const PatternId id, ParseId(selection.hits[i].pattern_id));
    // A full disk or a pattern deleted meanwhile does not keep a request from its answer.
    patterns_.RecordUse(id).IgnoreError();
  }
  return absl::OkStatus();
}

void AdapterSource::SetFederated(std::shared_ptr<const Adapter> adapter) {
  MutexLock lock(mutex_);
  federated_ = std::move(adapter);
}

void AdapterSource::Load(std::span<const RetrievedPattern> hits) {
  for (const RetrievedPattern& hit : hits) {
    if (registry_.Get(hit.adapter, hit.version).ok()) {
      continue;
    }
    const absl::Status status = LoadOne(hit);
    if (status.ok() || absl::IsNotFound(status)) {  // deleted or replaced since the search
      continue;
    }
    const MutexLock lock(mutex_);
    if (reported_.size() < limits::kMaxCachedAdapters && reported_.insert(hit.pattern_id).second) {
      spdlog::warn("the adapter of pattern {} cannot be used: {} [{}]", hit.pattern_id,
                   MessageOf(status), ReasonOf(status));
    }
  }
}

absl::Status AdapterSource::LoadOne(const RetrievedPattern& hit) {
  ASSIGN_OR_RETURN(const PatternId id, ParseId(hit.pattern_id));
  ASSIGN_OR_RETURN(const Pattern pattern, patterns_.Get(id));
  ASSIGN_OR_RETURN(const PatternPayload payload, DecodePatternPayload(pattern.payload));
  if (payload.adapter.empty()) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(std::shared_ptr<const Adapter> adapter, DecodeAdapter(AsBytes(payload.adapter)));
  RETURN_IF_ERROR(CheckAdapter(*adapter, model_));
  const std::pair<std::string, uint32_t> version(adapter->name, adapter->version);
  MutexLock lock(mutex_);
  RETURN_IF_ERROR(registry_.Publish(std::move(adapter)));
  loaded_.push_back(version);
  if (loaded_.size() > limits::kMaxCachedAdapters) {
    registry_.Remove(loaded_.front().first, loaded_.front().second);
    loaded_.pop_front();
  }
  return absl::OkStatus();
}

}  // namespace ruvd
