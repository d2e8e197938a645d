// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/learning/deep_checkpoint.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "node/limits.h"
#include "ruvd/storage/v1/state.pb.h"
#include "storage/limits.h"

namespace ruvd::learning {
namespace {

// Moves response ids; returns false if there are too many or one is too long.
bool TakeIds(google::protobuf::RepeatedPtrField<std::string>* stored,
             std::vector<std::string>* ids) {
  if (static_cast<size_t>(stored->size()) > limits::kMaxDeepLessons ||
      std::ranges::any_of(
          *stored, [](const std::string& id) { return id.size() > limits::kMaxResponseIdBytes; })) {
    return false;
  }
  ids->assign(std::make_move_iterator(stored->begin()), std::make_move_iterator(stored->end()));
  return true;
}

}  // namespace

storage::v1::DeepCheckpoint ToStored(const DeepCheckpoint& checkpoint) {
  storage::v1::DeepCheckpoint stored;
  stored.set_seed(checkpoint.seed);
  stored.set_version(checkpoint.version);
  stored.set_base(checkpoint.base);
  stored.mutable_taught()->Add(checkpoint.taught.begin(), checkpoint.taught.end());
  stored.mutable_held_back()->Add(checkpoint.held_back.begin(), checkpoint.held_back.end());
  stored.set_run(checkpoint.run);
  return stored;
}

absl::StatusOr<DeepCheckpoint> FromStored(storage::v1::DeepCheckpoint stored) {
  DeepCheckpoint checkpoint{.seed = stored.seed(),
                            .version = stored.version(),
                            .base = stored.base(),
                            .taught = {},
                            .held_back = {},
                            .run = std::move(*stored.mutable_run())};
  if (!TakeIds(stored.mutable_taught(), &checkpoint.taught) ||
      !TakeIds(stored.mutable_held_back(), &checkpoint.held_back)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the stored checkpoint names more or longer lessons than a deep round has; the "
                 "next round starts afresh");
  }
  return checkpoint;
}

absl::Status WriteDeepCheckpoint(storage::StateStore& state, const DeepCheckpoint& checkpoint) {
  return state.Put(storage::state::DeepCheckpoint(), ToStored(checkpoint));
}

absl::StatusOr<std::optional<DeepCheckpoint>> ReadDeepCheckpoint(const storage::StateStore& state) {
  ASSIGN_OR_RETURN(auto stored, state.Get(storage::state::DeepCheckpoint()));
  if (!stored) {
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(DeepCheckpoint checkpoint, FromStored(*std::move(stored)));
  return checkpoint;
}

absl::Status RemoveDeepCheckpoint(storage::StateStore& state) {
  return state.Delete(storage::state::DeepCheckpoint());
}

}  // namespace ruvd::learning
