// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/mutex.h"

namespace ruvd::transport {

// The bearer tokens of the client API with their roles. Only hashes of the tokens are kept.
// Thread-safe.
class ApiTokens {
 public:
  // Makes an empty set; call Reload.
  explicit ApiTokens(std::string path) : path_(std::move(path)) {}

  // Reads the file (mode 0600) with a line "ROLE[,ROLE] TOKEN" for each token; # begins a comment.
  // Roles are observer, contributor and admin. CONFIG_INVALID if a line is invalid, if a token does
  // not have kMinApiTokenChars to kMaxApiTokenChars printable characters or occurs twice, or if
  // there is no token or more than kMaxApiTokens. Returns the errors of ReadSecretFile too. After
  // an error the former tokens stay.
  absl::Status Reload();

  // Returns the roles of a token as bits of privacy/identity/admission.h; 0 if the token is
  // unknown. The time that this takes does not depend on the token.
  uint32_t RolesOf(std::string_view token) const;

 private:
  struct Entry {
    Digest hash{};
    uint32_t roles = 0;
  };

  absl::StatusOr<Entry> ParseLine(std::string_view line, size_t number) const;

  const std::string path_;
  mutable Mutex mutex_;
  std::vector<Entry> entries_ ABSL_GUARDED_BY(mutex_);
};

// Returns the token in a client's file: the last word of the first line that is neither empty nor a
// comment, so that a line of the node's token file works too. CONFIG_INVALID if there is no token.
// Returns the errors of ReadSecretFile too.
absl::StatusOr<std::string> ReadClientToken(const std::string& path);

}  // namespace ruvd::transport
