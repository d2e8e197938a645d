// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/deep_memory.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/train/limits.h"
#include "node/learning/deep_limits.h"
#include "node/learning/text_lessons.h"
#include "node/log/log.h"
#include "ruvd/storage/v1/state.pb.h"
#include "storage/limits.h"
#include "storage/state/number_bytes.h"

namespace ruvd::learning {
namespace {

absl::Status NoMemory() {
  return Error(
      absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
      "the stored value is not the EWC++ memory of a deep round; the next round runs without it");
}

bool TakeResponses(google::protobuf::RepeatedPtrField<std::string>* stored,
                   std::vector<std::string>* responses) {
  if (static_cast<size_t>(stored->size()) > limits::kMaxMemoryResponses ||
      std::ranges::any_of(
          *stored, [](const std::string& id) { return id.size() > limits::kMaxResponseIdBytes; })) {
    return false;
  }
  responses->assign(std::make_move_iterator(stored->begin()),
                    std::make_move_iterator(stored->end()));
  return true;
}

bool ReadNumbers(const storage::v1::DeepMemory& stored, inference::train::EwcMemory* ewc) {
  if (stored.anchor().size() != stored.fisher().size() ||
      stored.anchor().size() / sizeof(float) > limits::kMaxTrainedParameters) {
    return false;
  }
  auto anchor = storage::NumbersOf<float>(stored.anchor());
  const auto fisher = storage::NumbersOf<float>(stored.fisher());
  if (!anchor || !fisher) {
    return false;
  }
  ewc->anchor = *std::move(anchor);
  ewc->fisher.assign(fisher->begin(), fisher->end());
  return std::ranges::all_of(*fisher,
                             [](float value) { return value >= 0 && !std::signbit(value); });
}

// A memory must hold nothing from a user who was erased, nor from a withdrawn text. A completion
// that newer ones displaced looks the same as an erased one, so it costs the memory, too.
bool SomeAreGone(const LearningServices& services, const std::vector<std::string>& lessons) {
  return std::ranges::any_of(
      lessons, [&](const std::string& lesson) { return IsGone(services, lesson).value_or(false); });
}

}  // namespace

bool DeepMemory::operator==(const DeepMemory& other) const {
  return version == other.version && adapter == other.adapter && responses == other.responses &&
         ewc.anchor == other.ewc.anchor && ewc.fisher == other.ewc.fisher;
}

storage::v1::DeepMemory ToStored(const DeepMemory& memory) {
  storage::v1::DeepMemory stored;
  stored.set_version(memory.version);
  stored.set_adapter(std::string(AsText(memory.adapter)));
  stored.mutable_responses()->Add(memory.responses.begin(), memory.responses.end());
  stored.set_anchor(storage::NumberBytes<float>(memory.ewc.anchor));
  const std::vector<float> fisher(memory.ewc.fisher.begin(), memory.ewc.fisher.end());
  stored.set_fisher(storage::NumberBytes<float>(fisher));
  return stored;
}

absl::StatusOr<DeepMemory> FromStored(storage::v1::DeepMemory stored) {
  DeepMemory memory{.version = stored.version()};
  if (!storage::CopyTo(stored.adapter(), &memory.adapter) ||
      !TakeResponses(stored.mutable_responses(), &memory.responses) ||
      !ReadNumbers(stored, &memory.ewc)) {
    return NoMemory();
  }
  return memory;
}

absl::Status DeepMemories::Store(const DeepMemory& memory) const {
  const storage::v1::DeepMemory stored = ToStored(memory);
  if (stored.ByteSizeLong() > limits::kMaxDeepMemoryBytes ||
      memory.responses.size() > limits::kMaxMemoryResponses) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "the memory of deep@{} has {} bytes of {} and {} responses of {}; choose "
                 "an experimental.deep_guard without ewc",
                 memory.version, stored.ByteSizeLong(), limits::kMaxDeepMemoryBytes,
                 memory.responses.size(), limits::kMaxMemoryResponses);
  }
  return state_.Put(storage::state::DeepMemory(memory.version), stored);
}

std::optional<DeepMemory> DeepMemories::Find(uint32_t version) const {
  auto stored = state_.Get(storage::state::DeepMemory(version));
  if (stored.ok() && !stored->has_value()) {
    return std::nullopt;
  }
  absl::StatusOr<DeepMemory> memory =
      stored.ok() ? FromStored(**std::move(stored)) : stored.status();
  if (memory.ok() && memory->version == version) {
    return *std::move(memory);
  }
  const absl::Status why = memory.ok() ? NoMemory() : memory.status();
  LogWarning("the EWC++ memory of deep@{} cannot be used, so the next round runs without it: {}",
             version, MessageOf(why));
  if (absl::IsDataLoss(why) || absl::IsInvalidArgument(why)) {  // it will not become readable
    Remove(version);
  }
  return std::nullopt;
}

void DeepMemories::Remove(uint32_t version) const {
  if (const absl::Status removed = state_.Delete(storage::state::DeepMemory(version));
      !removed.ok()) {
    LogWarning("the EWC++ memory of deep@{} cannot be deleted: {}", version, MessageOf(removed));
  }
}

void DeepMemories::Sweep(const std::function<bool(uint32_t version)>& wanted,
                         const LearningServices& services) const {
  const auto versions = state_.Numbers(storage::state::kDeepMemories);
  if (!versions.ok()) {
    LogWarning("the EWC++ memories cannot be listed, so outdated ones stay until the next try: {}",
               MessageOf(versions.status()));
    return;
  }
  for (const uint32_t version : *versions) {
    if (!wanted(version)) {
      Remove(version);
      continue;
    }
    const std::optional<DeepMemory> memory = Find(version);
    if (memory && SomeAreGone(services, memory->responses)) {
      LogInfo(
          "the EWC++ memory of deep@{} is removed, because some of its lessons were erased, "
          "withdrawn or displaced",
          version);
      Remove(version);
    }
  }
}

}  // namespace ruvd::learning
