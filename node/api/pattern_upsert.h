// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "absl/status/status.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "inference/model/model.h"
#include "node/serving/pattern_payload.h"
#include "privacy/identity/node_key.h"
#include "ruvd/pattern/v1/pattern.pb.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::api {

// Stores what a client says a pattern is. Its adapter is decoded, checked against the model and
// named after pattern and content, so that no two contents ever share a name and a version: those
// who serve adapters keep them by both. The form of an adapter that is shared with peers is never
// taken from a client, and dropped where a client changes what would be shared with it: what leaves
// the node comes from its own lessons, which passed their gate. A pattern that a client made
// private stays here whatever the operator consents to. Thread-safe: calls undo nothing that came
// between their reading and writing.
class PatternUpsert {
 public:
  struct Options {
    const Clock* clock = nullptr;
    const inference::Model* model = nullptr;
    storage::PatternStore* patterns = nullptr;
    Digest package_id{};  // of the model that embeds
    privacy::NodeId self{};
  };
  // Everything borrowed outlives it.
  explicit PatternUpsert(const Options& options) : options_(options) {}

  // See UpsertPatternRequest. What it answers, that nothing changed included, is durable only after
  // PatternStore::Sync, which is the caller's: calls share it. INVALID_ARGUMENT, WRONG_DIMENSION,
  // LIMIT_EXCEEDED, MODEL_MISMATCH, ADAPTER_INVALID, ADAPTER_FOR_OTHER_MODEL, CHANGED where others
  // change the pattern all the time, DISK_FULL, the errors of PatternStore::Update.
  absl::Status Run(const pattern::v1::UpsertPatternRequest& request,
                   pattern::v1::UpsertPatternResponse* response);

 private:
  // Reads, decides and writes, without the fsync. ABORTED where the pattern changed meanwhile.
  absl::Status RunOnce(const storage::PatternId& id,
                       const pattern::v1::UpsertPatternRequest& request,
                       pattern::v1::UpsertPatternResponse* response) const;
  // A given pattern with what the node fills in. `existing` is null for a new one.
  absl::StatusOr<storage::Pattern> Read(const pattern::v1::Pattern& message,
                                        const storage::Pattern* existing) const;
  absl::Status ReadTimes(const pattern::v1::Pattern& message, const storage::Pattern* existing,
                         storage::Pattern* pattern) const;
  absl::Status ReadAdapter(const pattern::v1::UpsertPatternRequest& request,
                           const storage::Pattern* existing, const serving::PatternPayload& held,
                           storage::Pattern* pattern) const;

  const Options options_;
};

}  // namespace ruvd::api
