// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/router_files.h"

#include <string>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/router/limits.h"
#include "ruvd/storage/v1/state.pb.h"

namespace ruvd::serving {
namespace {

// The kinds of scorers that a node's router may have.
bool IsScorerKind(uint32_t number) {
  return number == static_cast<uint32_t>(inference::ScorerKind::kLogistic) ||
         number == static_cast<uint32_t>(inference::ScorerKind::kFastGrnn) ||
         number == static_cast<uint32_t>(inference::ScorerKind::kCascade);
}

absl::Status NoSuchVersion(uint32_t version) {
  return Error(absl::StatusCode::kNotFound, reasons::kNotFound,
               "version {} of the router no longer exists", version);
}

}  // namespace

storage::v1::StoredRouter ToStored(const StoredRouter& router) {
  storage::v1::StoredRouter stored;
  stored.set_trained_ms(router.trained_ms);
  stored.set_outcomes(router.outcomes);
  stored.set_router(router.router->Serialize());
  return stored;
}

absl::StatusOr<StoredRouter> FromStored(const storage::v1::StoredRouter& stored,
                                        const inference::RouterOptions& options) {
  if (stored.trained_ms() < 0 || stored.router().size() > limits::kMaxRouterBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the stored value is not a router, because it was trained at {} ms and has {} "
                 "bytes; train the router again",
                 stored.trained_ms(), stored.router().size());
  }
  ASSIGN_OR_RETURN(inference::Router router, inference::Router::Parse(stored.router(), options));
  return StoredRouter{.trained_ms = stored.trained_ms(),
                      .outcomes = stored.outcomes(),
                      .router = std::make_shared<const inference::Router>(std::move(router))};
}

storage::v1::RouterTrainingState ToStored(const RouterTrainingState& state) {
  storage::v1::RouterTrainingState stored;
  stored.set_scorer_kind(static_cast<uint32_t>(state.kind));
  stored.set_trained_ms(state.trained_ms);
  stored.set_outcomes(state.outcomes);
  stored.set_counted_from_ms(state.counted_from);
  return stored;
}

absl::StatusOr<RouterTrainingState> FromStored(const storage::v1::RouterTrainingState& stored) {
  if (!IsScorerKind(stored.scorer_kind()) || stored.trained_ms() < 0 ||
      stored.counted_from_ms() < 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "the stored value is not the training state of a router, because it names scorers "
                 "of kind {} and the times {} and {} ms",
                 stored.scorer_kind(), stored.trained_ms(), stored.counted_from_ms());
  }
  return RouterTrainingState{.kind = static_cast<inference::ScorerKind>(stored.scorer_kind()),
                             .trained_ms = stored.trained_ms(),
                             .outcomes = stored.outcomes(),
                             .counted_from = stored.counted_from_ms()};
}

absl::StatusOr<std::vector<uint32_t>> RouterFiles::Versions() const {
  return state_.Numbers(storage::state::kRouters);
}

absl::StatusOr<StoredRouter> RouterFiles::Read(uint32_t version) const {
  ASSIGN_OR_RETURN(const auto stored, state_.Get(storage::state::StoredRouter(version)));
  return stored ? FromStored(*stored, options_) : NoSuchVersion(version);
}

absl::StatusOr<RouterTrainingState> RouterFiles::ReadState() const {
  ASSIGN_OR_RETURN(const auto stored, state_.Get(storage::state::RouterTrainingState()));
  return stored ? FromStored(*stored) : RouterTrainingState{};
}

absl::Status RouterFiles::WriteState(const RouterTrainingState& state) {
  return state_.Put(storage::state::RouterTrainingState(), ToStored(state));
}

absl::Status RouterFiles::Write(uint32_t version, const StoredRouter& stored) {
  RETURN_IF_ERROR(state_.Put(storage::state::StoredRouter(version), ToStored(stored)));
  const std::vector<uint32_t> versions = Versions().value_or(std::vector<uint32_t>());
  for (size_t i = 0; i + kKept < versions.size(); ++i) {
    Remove(versions[i]).IgnoreError();  // the next write tries again
  }
  return absl::OkStatus();
}

absl::Status RouterFiles::Remove(uint32_t version) {
  ASSIGN_OR_RETURN(const bool there, state_.Contains(storage::state::StoredRouter(version)));
  return there ? state_.Delete(storage::state::StoredRouter(version)) : NoSuchVersion(version);
}

}  // namespace ruvd::serving
