// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/router/router.h"
#include "storage/state/state_store.h"

namespace ruvd::serving {

// A router and the facts about its training.
struct StoredRouter {
  int64_t trained_ms = 0;
  uint32_t outcomes = 0;  // number of outcomes that it was trained on
  std::shared_ptr<const inference::Router> router;
};

// The stored form. FromStored returns INVALID_ARGUMENT for a negative time, and the errors of
// Router::Parse.
storage::v1::StoredRouter ToStored(const StoredRouter& router);
absl::StatusOr<StoredRouter> FromStored(const storage::v1::StoredRouter& stored,
                                        const inference::RouterOptions& options);

// The state of router training, kept beside the router's versions.
struct RouterTrainingState {
  inference::ScorerKind kind = inference::ScorerKind::kLogistic;
  int64_t trained_ms = 0;    // time of the last training, successful or not; 0: never
  uint64_t outcomes = 0;     // number of outcomes that counted then
  int64_t counted_from = 0;  // older outcomes do not count, because their training was undone
  bool operator==(const RouterTrainingState&) const = default;
};

// The stored form. FromStored returns INVALID_ARGUMENT for an unknown kind and negative times.
storage::v1::RouterTrainingState ToStored(const RouterTrainingState& state);
absl::StatusOr<RouterTrainingState> FromStored(const storage::v1::RouterTrainingState& stored);

// The versions of a node's router and the state of its training, in the node's state. Calls return
// the errors of StateStore. Not thread-safe.
class RouterFiles {
 public:
  // `state` must outlive this object. `options` apply to the routers that are read.
  RouterFiles(storage::StateStore& state, const inference::RouterOptions& options)
      : state_(state), options_(options) {}

  // Returns the stored versions, lowest first.
  absl::StatusOr<std::vector<uint32_t>> Versions() const;
  // Returns NOT_FOUND if there is no such version, and the errors of FromStored.
  absl::StatusOr<StoredRouter> Read(uint32_t version) const;
  // Stores a version, then deletes versions older than the newest kKept.
  absl::Status Write(uint32_t version, const StoredRouter& stored);
  // Returns the state, or an empty one if there is no state, and the errors of FromStored.
  absl::StatusOr<RouterTrainingState> ReadState() const;
  absl::Status WriteState(const RouterTrainingState& state);
  // Returns NOT_FOUND if there is no such version.
  absl::Status Remove(uint32_t version);

  // Number of versions kept, which is how far an undo can go back.
  static constexpr size_t kKept = 8;

 private:
  storage::StateStore& state_;
  const inference::RouterOptions options_;
};

}  // namespace ruvd::serving
