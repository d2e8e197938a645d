// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/transport/api_keys.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "privacy/identity/admission.h"
#include "privacy/seal/secret_file.h"
#include "privacy/sodium.h"

namespace ruvd::transport {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kHashPrefix = "sha256:";
constexpr char kWhat[] = "key file";

struct RoleName {
  std::string_view name;
  uint32_t role;
};
constexpr std::array kRoleNames = {RoleName{"observer", privacy::roles::kObserver},
                                   RoleName{"contributor", privacy::roles::kContributor},
                                   RoleName{"admin", privacy::roles::kAdmin}};

struct LimitName {
  std::string_view name;
  uint32_t KeyLimits::* limit;
};
constexpr std::array kLimitNames = {LimitName{"requests", &KeyLimits::requests_per_minute},
                                    LimitName{"tokens", &KeyLimits::tokens_per_minute},
                                    LimitName{"running", &KeyLimits::running}};

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// Removes the first word from `text` and returns it.
std::string_view TakeWord(std::string_view* text) {
  const std::string_view word = text->substr(0, text->find_first_of(kBlanks));
  *text = Trimmed(text->substr(word.size()));
  return word;
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

// Returns false for text that is no hash.
bool ReadHash(std::string_view text, Digest* hash) {
  if (!text.starts_with(kHashPrefix)) {
    return false;
  }
  const auto bytes = FromHex(text.substr(kHashPrefix.size()));
  if (!bytes || bytes->size() != hash->size()) {
    return false;
  }
  std::ranges::copy(*bytes, hash->begin());
  return true;
}

// Reads "requests=60" and the like. Returns false for another name and for a number that is not
// from 1 to kMaxKeyLimit.
bool ReadLimit(std::string_view text, KeyLimits* limits) {
  const size_t equals = std::min(text.find('='), text.size());
  const auto* const found =
      std::ranges::find(kLimitNames, text.substr(0, equals), &LimitName::name);
  if (found == kLimitNames.end() || limits->*found->limit != 0) {
    return false;
  }
  const std::string_view number = text.substr(std::min(equals + 1, text.size()));
  uint32_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size() || value == 0 ||
      value > limits::kMaxKeyLimit) {
    return false;
  }
  limits->*found->limit = value;
  return true;
}

std::optional<ApiKey> ReadLine(std::string_view line) {
  ApiKey key{.name = std::string(TakeWord(&line))};
  const absl::StatusOr<uint32_t> roles = ParseRoles(TakeWord(&line));
  if (!CheckKeyName(key.name).ok() || !roles.ok() || !ReadHash(TakeWord(&line), &key.hash)) {
    return std::nullopt;
  }
  key.roles = *roles;
  while (!line.empty()) {
    if (!ReadLimit(TakeWord(&line), &key.limits)) {
      return std::nullopt;
    }
  }
  return key;
}

bool IsSecret(std::string_view text) {
  return text.size() >= limits::kMinApiKeyChars && text.size() <= limits::kMaxApiKeyChars &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 127; });
}

void Wipe(std::string& secret) {
  OPENSSL_cleanse(secret.data(), secret.size());
}

template <typename... Args>
absl::Status Invalid(fmt::format_string<Args...> format, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid, format,
               std::forward<Args>(args)...);
}

}  // namespace

absl::Status CheckKeyName(std::string_view name) {
  const bool is_good = !name.empty() && name.size() <= limits::kMaxKeyNameChars &&
                       std::ranges::all_of(name, [](char c) {
                         return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
                       });
  return is_good ? absl::OkStatus()
                 : Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                         "'{}' is no name of a key; use 1 to {} letters, digits, '-', '_' and '.'",
                         SanitizeForDisplay(name.substr(0, 2 * limits::kMaxKeyNameChars)),
                         limits::kMaxKeyNameChars);
}

absl::StatusOr<uint32_t> ParseRoles(std::string_view list) {
  uint32_t roles = 0;
  for (std::string_view rest = list; !rest.empty();) {
    const size_t comma = std::min(rest.find(','), rest.size());
    const auto* const found = std::ranges::find(kRoleNames, rest.substr(0, comma), &RoleName::name);
    if (found == kRoleNames.end()) {
      roles = 0;
      break;
    }
    roles |= found->role;
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  if (roles == 0) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "'{}' is no list of roles; name observer, contributor or admin, or several of "
                 "them with commas between",
                 SanitizeForDisplay(list.substr(0, 100)));
  }
  return roles;
}

std::string FormatRoles(uint32_t roles) {
  std::string list;
  for (const RoleName& row : kRoleNames) {
    if ((roles & row.role) != 0) {
      list += fmt::format("{}{}", list.empty() ? "" : ",", row.name);
    }
  }
  return list;
}

std::string FormatKeyLine(const ApiKey& key) {
  std::string line =
      fmt::format("{} {} {}{}", key.name, FormatRoles(key.roles), kHashPrefix, ToHex(key.hash));
  for (const LimitName& row : kLimitNames) {
    if (const uint32_t limit = key.limits.*row.limit; limit != 0) {
      line += fmt::format(" {}={}", row.name, limit);
    }
  }
  return line;
}

absl::StatusOr<std::vector<ApiKey>> ParseKeyFile(std::string_view text, const std::string& path) {
  std::vector<ApiKey> keys;
  RETURN_IF_ERROR(ForEachLine(text, [&](std::string_view line, size_t number) -> absl::Status {
    const std::optional<ApiKey> key = ReadLine(line);
    if (!key) {
      return Invalid(
          "{}:{} is not NAME ROLE[,ROLE] sha256:HEX [requests=N] [tokens=N] [running=N] with the "
          "roles observer, contributor and admin; `ruvd key create` writes such a line",
          path, number);
    }
    for (const ApiKey& other : keys) {
      if (other.name == key->name || other.hash == key->hash) {
        return Invalid("{}:{} repeats the {} of a line above; give each client its own key", path,
                       number, other.name == key->name ? "name" : "hash");
      }
    }
    if (keys.size() >= limits::kMaxApiKeys) {
      return Invalid(
          "{}:{} is more than the {} keys that a node takes; remove the keys of clients "
          "that are gone",
          path, number, limits::kMaxApiKeys);
    }
    keys.push_back(*key);
    return absl::OkStatus();
  }));
  return keys;
}

absl::Status ApiKeys::Reload() {
  ASSIGN_OR_RETURN(std::string text, privacy::ReadSecretFile(path_, kWhat));
  absl::StatusOr<std::vector<ApiKey>> keys = ParseKeyFile(text, path_);
  Wipe(text);
  RETURN_IF_ERROR(keys.status());
  if (keys->empty()) {
    return Invalid(
        "{} holds no key, so no client could call this node; make one with `ruvd key "
        "create NAME --role admin --key-file {}`",
        path_, path_);
  }
  const MutexLock lock(mutex_);
  keys_ = *std::move(keys);
  return absl::OkStatus();
}

std::optional<ApiKey> ApiKeys::Find(std::string_view secret) const {
  const Digest hash = Sha256(secret);
  std::optional<size_t> found;
  const MutexLock lock(mutex_);
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (CRYPTO_memcmp(hash.data(), keys_[i].hash.data(), hash.size()) == 0) {
      found = i;
    }
  }
  return found ? std::optional(keys_[*found]) : std::nullopt;
}

std::string MakeKeySecret() {
  constexpr size_t kSecretBytes = 32;
  std::array<uint8_t, kSecretBytes> bytes{};
  privacy::InitSodium();
  privacy::SecureRandomBytes(bytes);
  // The prefix lets tools that search for leaked secrets find it.
  std::string secret = "ruvd-key-" + ToHex(bytes);
  OPENSSL_cleanse(bytes.data(), bytes.size());
  return secret;
}

absl::StatusOr<std::string> ReadClientKey(const std::string& path) {
  ASSIGN_OR_RETURN(std::string text, privacy::ReadSecretFile(path, kWhat));
  std::string secret;
  const absl::Status read = ForEachLine(text, [&secret](std::string_view line, size_t) {
    if (secret.empty()) {
      secret = line;
    }
    return absl::OkStatus();
  });
  Wipe(text);
  RETURN_IF_ERROR(read);
  if (!IsSecret(secret)) {
    return Invalid(
        "{} holds no key of {} to {} printable characters; ask the node's operator for "
        "yours, which `ruvd key create` shows",
        path, limits::kMinApiKeyChars, limits::kMaxApiKeyChars);
  }
  return secret;
}

}  // namespace ruvd::transport
