// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/admission/authority_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/file.h"
#include "base/folder.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/identity/signing_key.h"

namespace ruvd::admission {
namespace {

using privacy::KeyUse;
using privacy::SigningKey;

constexpr int64_t kMillisPerDay = 24LL * 3600 * 1000;

std::string PathIn(const std::string& folder, const char* file) {
  return std::filesystem::path(folder) / file;
}

// A path that cannot be examined exists; it is reported when it is read.
bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) || error;
}

absl::StatusOr<privacy::IssuerCert> ReadIssuer(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, privacy::IssuerCert::kBytes));
  const auto issuer = privacy::IssuerCert::Parse(AsBytes(bytes));
  return issuer.ok() ? issuer : Annotate(issuer.status(), path);
}

// The statement begins a day ago, because the clock of the machine with the root's key may be ahead
// of the node's.
absl::StatusOr<privacy::IssuerCert> SignFor(const SigningKey& key, const SigningKey& root,
                                            uint32_t number, uint32_t least, int days,
                                            const Clock& clock) {
  const int64_t now_ms = clock.WallMillis();
  return privacy::IssuerCert::Sign({.key = key.public_key(),
                                    .number = number,
                                    .least = least,
                                    .not_before_ms = std::max<int64_t>(now_ms - kMillisPerDay, 0),
                                    .not_after_ms = now_ms + days * kMillisPerDay},
                                   root);
}

}  // namespace

absl::StatusOr<std::optional<privacy::PublicKey>> RootIn(const std::string& folder) {
  if (const std::string issuer = PathIn(folder, kIssuerFile); Exists(issuer)) {
    ASSIGN_OR_RETURN(const privacy::IssuerCert read, ReadIssuer(issuer));
    return read.root;
  }
  if (const std::string root = PathIn(folder, kRootKeyFile); Exists(root)) {
    ASSIGN_OR_RETURN(const SigningKey key, SigningKey::Load(root, KeyUse::kRoot));
    return key.public_key();
  }
  if (const std::string key = PathIn(folder, kAuthorityKeyFile); Exists(key)) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kKeyInvalid,
                 "{} lacks the root's statement about it; put {} beside it", key, kIssuerFile);
  }
  return std::nullopt;
}

absl::StatusOr<privacy::ClusterAuthority> FoundAuthority(const std::string& folder, int days,
                                                         const Clock& clock) {
  const std::string path = PathIn(folder, kAuthorityKeyFile);
  const std::string issuer = PathIn(folder, kIssuerFile);
  if (!Exists(issuer)) {
    ASSIGN_OR_RETURN(const SigningKey root,
                     SigningKey::LoadOrCreate(PathIn(folder, kRootKeyFile), KeyUse::kRoot));
    ASSIGN_OR_RETURN(const SigningKey key, SigningKey::LoadOrCreate(path, KeyUse::kIssuer));
    ASSIGN_OR_RETURN(const privacy::IssuerCert first,
                     SignFor(key, root, /*number=*/0, /*least=*/0, days, clock));
    RETURN_IF_ERROR(WriteFileAtomically(issuer, first.Encode()));
  }
  return privacy::ClusterAuthority::Load(path);
}

absl::StatusOr<privacy::IssuerCert> MakeNextIssuer(const NextIssuer& next, const Clock& clock) {
  ASSIGN_OR_RETURN(const SigningKey root, SigningKey::Load(next.root_key, KeyUse::kRoot));
  ASSIGN_OR_RETURN(const privacy::IssuerCert former, ReadIssuer(next.former));
  RETURN_IF_ERROR(former.Verify(root.public_key()));
  RETURN_IF_ERROR(MakeDataFolder(next.folder));
  const std::string path = PathIn(next.folder, kAuthorityKeyFile);
  const std::string statement = PathIn(next.folder, kIssuerFile);
  for (const std::string& file : {path, statement}) {
    if (Exists(file)) {
      return Error(absl::StatusCode::kAlreadyExists, reasons::kFileUnwritable,
                   "{} exists and is not replaced; name an empty folder with --out", file);
    }
  }
  // The last issuer is remembered beside the root's key, because a wrong `former` would give one
  // number to two issuers.
  const std::string last_path = next.root_key + ".last";
  uint32_t last = former.number;
  if (Exists(last_path)) {
    ASSIGN_OR_RETURN(const privacy::IssuerCert remembered, ReadIssuer(last_path));
    RETURN_IF_ERROR(remembered.Verify(root.public_key()));
    last = std::max(last, remembered.number);
  }
  ASSIGN_OR_RETURN(const SigningKey key, SigningKey::LoadOrCreate(path, KeyUse::kIssuer));
  const uint32_t least = next.ends_former ? last + 1 : last;
  ASSIGN_OR_RETURN(const privacy::IssuerCert issuer,
                   SignFor(key, root, last + 1, least, next.days, clock));
  RETURN_IF_ERROR(WriteFileAtomically(last_path, issuer.Encode(), 0600));
  RETURN_IF_ERROR(WriteFileAtomically(statement, issuer.Encode()));
  return issuer;
}

}  // namespace ruvd::admission
