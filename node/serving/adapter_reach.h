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

// The prompts that an adapter was learned for: those whose embedding is near one of the centroids.
struct AdapterReach {
  Digest embedded_by{};  // the package that the embeddings come from
  std::vector<std::vector<float>>
      centroids;  // all of one length and norm 1; none: no prompt is covered
  bool operator==(const AdapterReach&) const = default;
};

// Returns the reach of these embeddings, found in a single pass: each embedding joins the nearest
// centroid if its cosine is at least `similarity`, else it begins a new one. After
// limits::kMaxReachCentroids it always joins the nearest. All embeddings have one length; zero
// vectors are left out. Returns nullopt if nothing remains.
std::optional<AdapterReach> ReachOf(const Digest& embedded_by,
                                    std::span<const std::vector<float>> embeddings,
                                    float similarity);

// Returns whether the cosine of the embedding and some centroid is at least `similarity`. An
// embedding of another length is never covered.
bool Covers(const AdapterReach& reach, std::span<const float> embedding, float similarity);

// Encodes a reach that has centroids, little endian: "RVAR", u32 format 1, the digest, u32 length,
// u32 count, float32 values.
std::string EncodeAdapterReach(const AdapterReach& reach);
// Decodes a reach; sizes are checked before anything is allocated. Returns INVALID_ARGUMENT for
// malformed bytes and for values that are not finite.
absl::StatusOr<AdapterReach> DecodeAdapterReach(std::span<const uint8_t> bytes);

// Writes the file sealed, because centroids tell what users wrote about. Returns FILE_UNWRITABLE or
// DISK_FULL on failure.
absl::Status WriteAdapterReach(const std::string& path, const privacy::SealKey& key,
                               const AdapterReach& reach);
// Returns nullopt if there is no file, SEAL_BROKEN or INVALID_ARGUMENT if it is damaged or was
// sealed by another store, and the errors of reading.
absl::StatusOr<std::optional<AdapterReach>> ReadAdapterReach(const std::string& path,
                                                             const privacy::SealKey& key);

}  // namespace ruvd::serving
