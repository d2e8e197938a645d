// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/mutex.h"

namespace ruvd::limits {

// A client's key has this length. The minimum is 128 bits in hexadecimal, which cannot be guessed;
// a longer text than the maximum comes from another kind of file.
inline constexpr size_t kMinApiKeyChars = 32;
inline constexpr size_t kMaxApiKeyChars = 256;
// Length of a key's name. It stands before the ids of the holder's users and sessions.
inline constexpr size_t kMaxKeyNameChars = 32;
// Keys of a node; their lines fit into kMaxKeyFileBytes.
inline constexpr size_t kMaxApiKeys = 256;
// The largest limit of a key. It is far above what a node serves.
inline constexpr uint32_t kMaxKeyLimit = 1'000'000'000;

}  // namespace ruvd::limits

namespace ruvd::transport {

// What the holder of a key may use; 0: as much as the node gives.
struct KeyLimits {
  uint32_t requests_per_minute = 0;
  uint32_t tokens_per_minute = 0;  // of prompts and completions
  uint32_t running = 0;            // requests at a time
  bool operator==(const KeyLimits&) const = default;
};

// A key of the client API as its file lists it, without its secret.
struct ApiKey {
  std::string name;
  uint32_t roles = 0;  // bits of privacy/identity/admission.h
  KeyLimits limits = {};
  Digest hash{};  // SHA-256 of the secret
};

// Checks the name of a key: 1 to kMaxKeyNameChars letters, digits, '-', '_' and '.'.
absl::Status CheckKeyName(std::string_view name);
// Returns the roles that a list "ROLE[,ROLE]" names (observer, contributor, admin), or an error
// that says which there are.
absl::StatusOr<uint32_t> ParseRoles(std::string_view list);
std::string FormatRoles(uint32_t roles);

// Returns the line "NAME ROLE[,ROLE] sha256:HEX [requests=N] [tokens=N] [running=N]" of a key.
std::string FormatKeyLine(const ApiKey& key);
// Reads the text of a key file, in which # begins a comment. `path` names the file in messages,
// which quote no line because a secret may stand there by mistake. CONFIG_INVALID if a line is no
// key, if a name or a hash occurs twice, or if there are more than kMaxApiKeys.
absl::StatusOr<std::vector<ApiKey>> ParseKeyFile(std::string_view text, const std::string& path);

// The keys of the client API. Thread-safe.
class ApiKeys {
 public:
  // Makes an empty set; call Reload.
  explicit ApiKeys(std::string path) : path_(std::move(path)) {}

  // Reads the file (mode 0600) again. CONFIG_INVALID if it holds no key; returns the errors of
  // ReadSecretFile and ParseKeyFile too. After an error the former keys stay.
  absl::Status Reload();

  // Returns the key with this secret, or nullopt. The time that this takes depends neither on the
  // secret nor on the keys that are there.
  std::optional<ApiKey> Find(std::string_view secret) const;

 private:
  const std::string path_;
  mutable Mutex mutex_;
  std::vector<ApiKey> keys_ ABSL_GUARDED_BY(mutex_);
};

// Makes a secret of 256 random bits, as text of printable characters.
std::string MakeKeySecret();

// Returns the secret in a client's file: the first line that is neither empty nor a comment.
// CONFIG_INVALID if there is no such line. Returns the errors of ReadSecretFile too.
absl::StatusOr<std::string> ReadClientKey(const std::string& path);

}  // namespace ruvd::transport
