// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/transport/api_tokens.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/reasons.h"
#include "base/status.h"
#include "node/limits.h"
#include "privacy/identity/admission.h"
#include "privacy/seal/secret_file.h"

namespace ruvd::transport {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr char kWhat[] = "token file";

struct RoleName {
  std::string_view name;
  uint32_t role;
};
constexpr std::array kRoleNames = {RoleName{"observer", privacy::roles::kObserver},
                                   RoleName{"contributor", privacy::roles::kContributor},
                                   RoleName{"admin", privacy::roles::kAdmin}};

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Calls `visit` with every line that is not empty or a comment, and its number from 1 on, until an
// error.
template <typename Visit>
absl::Status ForEachLine(std::string_view text, const Visit& visit) {
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.front() != '#') {
      RETURN_IF_ERROR(visit(line, number));
    }
  }
  return absl::OkStatus();
}

// Returns 0 if the list has an unknown name.
uint32_t RolesNamed(std::string_view list) {
  uint32_t roles = 0;
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    const auto found = std::ranges::find(kRoleNames, list.substr(0, comma), &RoleName::name);
    if (found == kRoleNames.end()) {
      return 0;
    }
    roles |= found->role;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return roles;
}

bool TokenIsGood(std::string_view token) {
  return token.size() >= limits::kMinApiTokenChars && token.size() <= limits::kMaxApiTokenChars &&
         std::ranges::all_of(token, [](char c) { return c > ' ' && c < 127; });
}

void Wipe(std::string& secret) {
  OPENSSL_cleanse(secret.data(), secret.size());
}

}  // namespace

absl::StatusOr<ApiTokens::Entry> ApiTokens::ParseLine(std::string_view line, size_t number) const {
  const size_t blank = std::min(line.find_first_of(kBlanks), line.size());
  const uint32_t roles = RolesNamed(line.substr(0, blank));
  const std::string_view token = Trimmed(line.substr(blank));
  if (roles == 0 || !TokenIsGood(token)) {
    // The line may hold a secret, so the message does not.
    return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid,
                 "{}:{} is not ROLE[,ROLE] TOKEN with roles observer, contributor or admin and a "
                 "token of {} to {} printable characters; `openssl rand -hex 32` makes one",
                 path_, number, limits::kMinApiTokenChars, limits::kMaxApiTokenChars);
  }
  return Entry{.hash = Sha256(token), .roles = roles};
}

absl::Status ApiTokens::Reload() {
  ASSIGN_OR_RETURN(std::string text, privacy::ReadSecretFile(path_, kWhat));
  std::vector<Entry> entries;
  const absl::Status parsed =
      ForEachLine(text, [&](std::string_view line, size_t number) -> absl::Status {
        ASSIGN_OR_RETURN(const Entry entry, ParseLine(line, number));
        const bool twice = std::ranges::find(entries, entry.hash, &Entry::hash) != entries.end();
        if (twice || entries.size() >= limits::kMaxApiTokens) {
          return Error(
              absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid, "{}:{} {}", path_,
              number,
              twice
                  ? "repeats a token of a line above; give each client its own token"
                  : "is one token too many; remove the tokens of clients that are no longer used");
        }
        entries.push_back(entry);
        return absl::OkStatus();
      });
  Wipe(text);
  RETURN_IF_ERROR(parsed);
  if (entries.empty()) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid,
        "{} holds no token, so no client could call this node; write a line \"admin TOKEN\"",
        path_);
  }
  const MutexLock lock(mutex_);
  entries_ = std::move(entries);
  return absl::OkStatus();
}

uint32_t ApiTokens::RolesOf(std::string_view token) const {
  const Digest hash = Sha256(token);
  uint32_t roles = 0;
  const MutexLock lock(mutex_);
  for (const Entry& entry : entries_) {
    const bool same = CRYPTO_memcmp(hash.data(), entry.hash.data(), hash.size()) == 0;
    roles |= same ? entry.roles : 0;
  }
  return roles;
}

absl::StatusOr<std::string> ReadClientToken(const std::string& path) {
  ASSIGN_OR_RETURN(std::string text, privacy::ReadSecretFile(path, kWhat));
  std::string token;
  const absl::Status read = ForEachLine(text, [&token](std::string_view line, size_t) {
    if (token.empty()) {
      token = line.substr(line.find_last_of(kBlanks) + 1);
    }
    return absl::OkStatus();
  });
  Wipe(text);
  RETURN_IF_ERROR(read);
  if (!TokenIsGood(token)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid,
                 "{} holds no token of {} to {} printable characters; ask the node's operator for "
                 "yours",
                 path, limits::kMinApiTokenChars, limits::kMaxApiTokenChars);
  }
  return token;
}

}  // namespace ruvd::transport
