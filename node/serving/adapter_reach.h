// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "privacy/seal/seal.h"

namespace ruvd::serving {

// Which prompts an adapter was learned for: those whose embedding is near one of these centroids.
struct AdapterReach {
  Digest embedded_by{};                       // the package whose embeddings they are of
  std::vector<std::vector<float>> centroids;  // of one length, each of norm 1; none: no prompt
  bool operator==(const AdapterReach&) const = default;
};

// The fewest that a single pass finds: every embedding joins the centroid that it is within
// `similarity` (cosine) of, or begins a new one, up to limits::kMaxReachCentroids. Embeddings are
// of one length; zero vectors are left out. Nullopt where nothing is left.
std::optional<AdapterReach> ReachOf(const Digest& embedded_by,
                                    std::span<const std::vector<float>> embeddings,
                                    float similarity);

// Whether the embedding is within `similarity` of a centroid. False for another length.
bool Covers(const AdapterReach& reach, std::span<const float> embedding, float similarity);

// One with centroids as bytes, little endian: "RVAR", u32 format 1, the digest, u32 length, u32
// count, float32 values.
std::string EncodeAdapterReach(const AdapterReach& reach);
// Sizes are checked before anything is allocated; INVALID_ARGUMENT for other bytes and for values
// that are not finite.
absl::StatusOr<AdapterReach> DecodeAdapterReach(std::span<const uint8_t> bytes);

// Centroids say what users wrote about, so the file is sealed. FILE_UNWRITABLE, DISK_FULL.
absl::Status WriteAdapterReach(const std::string& path, const privacy::SealKey& key,
                               const AdapterReach& reach);
// Nullopt where there is no file. SEAL_BROKEN and INVALID_ARGUMENT where it is damaged or of
// another store; the errors of reading.
absl::StatusOr<std::optional<AdapterReach>> ReadAdapterReach(const std::string& path,
                                                             const privacy::SealKey& key);

}  // namespace ruvd::serving
