// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/router/router.h"
#include "privacy/seal/seal.h"

namespace ruvd::serving {

// A router and the facts about its training.
struct StoredRouter {
  int64_t trained_ms = 0;
  uint32_t outcomes = 0;  // number of outcomes that it was trained on
  std::shared_ptr<const inference::Router> router;
};

// Encodes a router, little endian: "RVNR", u16 format 1, i64 trained_ms, u32 outcomes,
// Router::Serialize.
std::string EncodeStoredRouter(const StoredRouter& stored);
// Returns INVALID_ARGUMENT for malformed bytes, and the errors of Router::Parse.
absl::StatusOr<StoredRouter> DecodeStoredRouter(std::string_view bytes,
                                                const inference::RouterOptions& options);

// The state of router training, kept beside the router's versions.
struct RouterTrainingState {
  inference::ScorerKind kind = inference::ScorerKind::kLogistic;
  int64_t trained_ms = 0;    // time of the last training, successful or not; 0: never
  uint64_t outcomes = 0;     // number of outcomes that counted then
  int64_t counted_from = 0;  // older outcomes do not count, because their training was undone
  bool operator==(const RouterTrainingState&) const = default;
};

// Encodes the state, little endian: "RVNS", u16 format 1, u8 kind, i64 trained_ms, u64 outcomes,
// i64 counted_from.
std::string EncodeTrainingState(const RouterTrainingState& state);
// Returns INVALID_ARGUMENT for malformed bytes.
absl::StatusOr<RouterTrainingState> DecodeTrainingState(std::string_view bytes);

// The sealed files of a node's router: FOLDER/router-VERSION for each version, and
// FOLDER/router-state. Not thread-safe.
class RouterFiles {
 public:
  // `options` apply to the routers that are read.
  RouterFiles(std::string folder, privacy::SealKey key, const inference::RouterOptions& options)
      : folder_(std::move(folder)), key_(std::move(key)), options_(options) {}

  std::string PathOf(uint32_t version) const;
  // Returns the versions that have a file, lowest first.
  std::vector<uint32_t> Versions() const;
  // Returns SEAL_BROKEN or INVALID_ARGUMENT if the file is damaged or was sealed by another store,
  // and the errors of reading.
  absl::StatusOr<StoredRouter> Read(uint32_t version) const;
  // Writes a version atomically, then deletes versions older than the newest kKept. Returns
  // FILE_UNWRITABLE or DISK_FULL on failure.
  absl::Status Write(uint32_t version, const StoredRouter& stored);
  // Returns the state, or an empty one if there is no file. Returns SEAL_BROKEN or INVALID_ARGUMENT
  // if the file is damaged or was sealed by another store, and the errors of reading.
  absl::StatusOr<RouterTrainingState> ReadState() const;
  // Writes the state atomically. Returns FILE_UNWRITABLE or DISK_FULL on failure.
  absl::Status WriteState(const RouterTrainingState& state);
  std::string StatePath() const;
  // Returns NOT_FOUND if there is no such version.
  absl::Status Remove(uint32_t version);

  // Number of versions kept, which is how far an undo can go back.
  static constexpr size_t kKept = 8;

 private:
  const std::string folder_;
  const privacy::SealKey key_;
  const inference::RouterOptions options_;
};

}  // namespace ruvd::serving
