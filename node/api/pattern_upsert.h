// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>

#include "absl/status/status.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "inference/adapter/frame_set.h"
#include "inference/model/model.h"
#include "node/serving/pattern_payload.h"
#include "privacy/identity/node_key.h"
#include "ruvd/pattern/v1/pattern.pb.h"
#include "storage/patterns/pattern_store.h"

namespace ruvd::api {

// Stores a pattern that a client sends. Its adapter is decoded, checked against the model and named
// after pattern and content, so that two contents never share a name and version, by which the
// serving side caches adapters. An adapter that came from a client is never shared with peers, and
// one that the node learned no more once the client changes a field that would be shared with it:
// only what came from the node's own lessons and passed their gate may leave. A pattern that a
// client made private stays on this node under every tier. Thread-safe: a call does not overwrite
// changes that were made between its reading and writing.
class PatternUpsert {
 public:
  struct Options {
    const Clock* clock = nullptr;
    const inference::Model* model = nullptr;
    storage::PatternStore* patterns = nullptr;
    const inference::FrameSet* frame = nullptr;  // of adapters that are cores; null: none
    Digest package_id{};                         // of the embedding model
    privacy::NodeId self{};
  };
  // All borrowed objects must outlive this object.
  explicit PatternUpsert(const Options& options) : options_(options) {}

  // Runs the request; see UpsertPatternRequest. Every answer, even "unchanged", is durable only
  // after PatternStore::Sync, which the caller must call; several calls share one sync. Returns
  // INVALID_ARGUMENT, WRONG_DIMENSION, LIMIT_EXCEEDED, MODEL_MISMATCH, ADAPTER_INVALID,
  // ADAPTER_FOR_OTHER_MODEL, CHANGED if the pattern keeps changing, DISK_FULL, and the errors of
  // PatternStore::Update.
  // `adapter` is the encoded adapter; empty: the pattern has none.
  absl::Status Run(const pattern::v1::UpsertPatternRequest& request, std::string_view adapter,
                   pattern::v1::UpsertPatternResponse* response);

 private:
  // Reads, decides and writes, without the fsync. Returns ABORTED if the pattern changed meanwhile.
  absl::Status RunOnce(const storage::PatternId& id,
                       const pattern::v1::UpsertPatternRequest& request, std::string_view adapter,
                       pattern::v1::UpsertPatternResponse* response) const;
  // Returns the given pattern with the fields that the node fills in. `existing` is null for a new
  // pattern.
  absl::StatusOr<storage::Pattern> Read(const pattern::v1::Pattern& message,
                                        const storage::Pattern* existing) const;
  absl::Status ReadTimes(const pattern::v1::Pattern& message, const storage::Pattern* existing,
                         storage::Pattern* pattern) const;
  // Returns the id of the content of the adapter that is stored; nullopt if it has none that can be
  // read.
  std::optional<Digest> StoredContent(const storage::Pattern* existing,
                                      const serving::PatternPayload& held) const;
  absl::Status ReadAdapter(const pattern::v1::UpsertPatternRequest& request, std::string_view bytes,
                           const storage::Pattern* existing, const serving::PatternPayload& held,
                           storage::Pattern* pattern) const;

  const Options options_;
};

}  // namespace ruvd::api
