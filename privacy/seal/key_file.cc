// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/seal/key_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/seal/seal.h"
#include "privacy/seal/secret_file.h"
#include "privacy/sodium.h"

namespace ruvd::privacy {
namespace {

absl::Status Unwritable(const std::string& path) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnwritable,
               "cannot create the seal key file {}: {}; check the folder and its permissions", path,
               std::strerror(errno));
}

absl::Status CreateKeyFile(const std::string& path) {
  std::array<uint8_t, kSealKeyBytes> master;
  SecureRandomBytes(master);
  const absl::Status status = seal::CreateIfMissing(path, AsText(master));
  SecureWipe(master);
  return status;
}

}  // namespace

namespace seal {

absl::Status SyncFolderOf(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  const int fd = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return Unwritable(path);
  }
  const int result = ::fsync(fd);
  ::close(fd);
  return result == 0 ? absl::OkStatus() : Unwritable(path);
}

// The file is created with link(2), which refuses an existing target.
absl::Status CreateIfMissing(const std::string& path, std::string_view contents) {
  std::array<uint8_t, 8> suffix;  // two creators, also two threads, never share a candidate
  SecureRandomBytes(suffix);
  const std::string candidate = fmt::format("{}.new.{}", path, ToHex(suffix));
  RETURN_IF_ERROR(WriteFileAtomically(candidate, contents, kKeyFileMode));
  absl::Status status;
  if (::link(candidate.c_str(), path.c_str()) != 0 && errno != EEXIST) {
    status = Unwritable(path);
  }
  ::unlink(candidate.c_str());
  RETURN_IF_ERROR(status);
  return SyncFolderOf(path);
}

absl::StatusOr<SealKey> LoadKeyFile(const std::string& path) {
  ASSIGN_OR_RETURN(std::string contents, ReadSecretFile(path, "seal key file"));
  const absl::StatusOr<SealKey> key = SealKey::FromBytes(AsBytes(contents));
  SecureWipe({reinterpret_cast<uint8_t*>(contents.data()), contents.size()});
  if (!key.ok()) {
    return Annotate(key.status(), "seal key file " + path);
  }
  return key;
}

}  // namespace seal

absl::StatusOr<SealKey> SealKey::LoadOrCreate(const std::string& path) {
  absl::StatusOr<SealKey> key = seal::LoadKeyFile(path);
  if (!key.ok() && ReasonOf(key.status()) == reasons::kFileNotFound) {
    RETURN_IF_ERROR(CreateKeyFile(path));
    key = seal::LoadKeyFile(path);
  }
  return key;
}

}  // namespace ruvd::privacy
