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

// A router as a training left it.
struct StoredRouter {
  int64_t trained_ms = 0;
  uint32_t outcomes = 0;  // that it was trained on
  std::shared_ptr<const inference::Router> router;
};

// As bytes, little endian: "RVNR", u16 format 1, i64 trained_ms, u32 outcomes, Router::Serialize.
std::string EncodeStoredRouter(const StoredRouter& stored);
// INVALID_ARGUMENT for other bytes; the errors of Router::Parse.
absl::StatusOr<StoredRouter> DecodeStoredRouter(std::string_view bytes,
                                                const inference::RouterOptions& options);

// What the trainings of a router leave beside its versions.
struct RouterTrainingState {
  inference::ScorerKind kind = inference::ScorerKind::kLogistic;
  int64_t trained_ms = 0;    // of the last training, whatever came of it; 0: there was none
  uint64_t outcomes = 0;     // that counted then
  int64_t counted_from = 0;  // outcomes created before it do not count: what they taught was undone
  bool operator==(const RouterTrainingState&) const = default;
};

// As bytes, little endian: "RVNS", u16 format 1, u8 kind, i64 trained_ms, u64 outcomes,
// i64 counted_from.
std::string EncodeTrainingState(const RouterTrainingState& state);
// INVALID_ARGUMENT for other bytes.
absl::StatusOr<RouterTrainingState> DecodeTrainingState(std::string_view bytes);

// The versions of a node's router, files FOLDER/router-VERSION, and FOLDER/router-state, sealed.
// Not thread-safe.
class RouterFiles {
 public:
  // `options`: of the routers that are read.
  RouterFiles(std::string folder, privacy::SealKey key, const inference::RouterOptions& options)
      : folder_(std::move(folder)), key_(std::move(key)), options_(options) {}

  std::string PathOf(uint32_t version) const;
  // Of the files that are there, lowest first.
  std::vector<uint32_t> Versions() const;
  // SEAL_BROKEN and INVALID_ARGUMENT where the file is damaged or of another store; the errors of
  // reading.
  absl::StatusOr<StoredRouter> Read(uint32_t version) const;
  // Whole or not at all. Versions before the newest kKept go then. FILE_UNWRITABLE, DISK_FULL.
  absl::Status Write(uint32_t version, const StoredRouter& stored);
  // That of no training where there is no file. SEAL_BROKEN and INVALID_ARGUMENT where it is
  // damaged or of another store; the errors of reading.
  absl::StatusOr<RouterTrainingState> ReadState() const;
  // Whole or not at all. FILE_UNWRITABLE, DISK_FULL.
  absl::Status WriteState(const RouterTrainingState& state);
  std::string StatePath() const;
  // NOT_FOUND where there is no such version.
  absl::Status Remove(uint32_t version);

  // So far back an undo goes.
  static constexpr size_t kKept = 8;

 private:
  const std::string folder_;
  const privacy::SealKey key_;
  const inference::RouterOptions options_;
};

}  // namespace ruvd::serving
