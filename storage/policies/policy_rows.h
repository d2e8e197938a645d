// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "storage/policies/policy.h"

// Keys and plaintexts of the policy rows, which docs/store-format.md describes.
namespace ruvd::storage::policies {

inline constexpr char kPolicyPrefix[] = "p/";
inline constexpr char kFisherPrefix[] = "f/";
inline constexpr char kAccessPrefix[] = "t/";

std::string PolicyKey(const PolicyId& id);
std::string FisherKey(const PolicyId& id);
std::string AccessKey(const PolicyId& id);
// Returns the id in a key of any of the three kinds, or nullopt for another length.
std::optional<PolicyId> IdOfKey(std::string_view key);

// Returns INVALID_ARGUMENT or LIMIT_EXCEEDED for a policy that must not be stored. The store checks
// the embedding.
absl::Status CheckPolicy(const Policy& policy);

// Encodes everything except the id and the Fisher diagonal.
std::string EncodePolicy(const Policy& policy);
// Returns STORE_CORRUPT for bytes that the encoder does not make; the decoders below do so too.
absl::StatusOr<Policy> DecodePolicy(std::string_view bytes, const PolicyId& id);

std::string EncodeFisher(std::span<const float> diagonal);
absl::StatusOr<std::vector<float>> DecodeFisher(std::string_view bytes);

std::string EncodeAccess(int64_t accessed_ms);
absl::StatusOr<int64_t> DecodeAccess(std::string_view bytes);

}  // namespace ruvd::storage::policies
