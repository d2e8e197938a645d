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

// The bearer tokens of the client API and the roles of each. Only their hashes are kept.
// Thread-safe.
class ApiTokens {
 public:
  // Empty until Reload.
  explicit ApiTokens(std::string path) : path_(std::move(path)) {}

  // Reads the file, of mode 0600: a line "ROLE[,ROLE] TOKEN" for each token, # begins a comment.
  // Roles are observer, contributor and admin. CONFIG_INVALID for anything else, a token outside
  // kMinApiTokenChars to kMaxApiTokenChars printable characters, one that is there twice, none at
  // all or more than kMaxApiTokens; errors of ReadSecretFile. On an error the former ones stay.
  absl::Status Reload();

  // Bits of privacy/identity/admission.h; 0 for an unknown token. Takes as long whatever the token.
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

// The token in a client's file: the last word of the first line that is neither empty nor a
// comment, so that a line of the node's own file will do. CONFIG_INVALID if there is none, errors
// of ReadSecretFile.
absl::StatusOr<std::string> ReadClientToken(const std::string& path);

}  // namespace ruvd::transport
