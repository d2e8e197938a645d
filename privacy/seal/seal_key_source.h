// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/seal/seal.h"

namespace ruvd::privacy {

// A node's seal key, and the next key if a rotation was interrupted. Only the store can tell with
// which of the two it is sealed.
struct SealKeys {
  SealKey current;
  std::optional<SealKey> next;
};

// Loads a node's seal key and replaces it by another one. A crash at any moment of a rotation
// leaves the store with its key:
//   StartRotation   the next key is on disk beside the current one, fsynced
//   (the store wraps its data keys with it in one synced batch)
//   FinishRotation  the next key replaces the current one, atomically
// A start that finds a next key must ask the store which of the keys opens it, and then finish or
// cancel the rotation. Not thread-safe.
class SealKeySource {
 public:
  enum class Kind : uint8_t {
    kFile,        // 32 random bytes in a file of mode 0600, which is created if missing
    kPassphrase,  // Argon2id; the file holds its parameters and is created if missing
    kCredential,  // a systemd credential: 32 bytes from the service manager, never created here
  };
  struct Options {
    Kind kind = Kind::kFile;
    // The file of the key, the parameters or the credential. The next one has the suffix ".next".
    std::string path;
    std::string passphrase;  // kPassphrase only; wiped on destruction
  };

  explicit SealKeySource(Options options) : options_(std::move(options)) {}
  ~SealKeySource();
  SealKeySource(const SealKeySource&) = delete;
  SealKeySource& operator=(const SealKeySource&) = delete;

  // Reads the keys, and creates the current one if it is missing. Fails with KEY_FILE_MODE,
  // KEY_INVALID (also for a passphrase outside the limits), FILE_NOT_FOUND for a missing
  // credential, and the errors of base/file.h.
  absl::StatusOr<SealKeys> Load();
  // Reads the keys as Load does, but creates nothing: returns nullopt if there is no key yet.
  absl::StatusOr<std::optional<SealKeys>> LoadExisting() const;
  // Derives the key from the source's passphrase with the parameters of a SealKey's `derivation`,
  // for example those of a backup. Only kPassphrase allows this. Fails with KEY_INVALID for
  // malformed parameters and for other kinds.
  absl::StatusOr<SealKey> DeriveWith(std::string_view derivation) const;
  // Stores these parameters as the source's own if it has no parameters yet. Only kPassphrase
  // allows this.
  absl::Status Adopt(std::string_view derivation);
  const std::string& path() const { return options_.path; }
  // Returns the path of the next key between StartRotation and FinishRotation.
  std::string next_path() const { return options_.path + ".next"; }
  Kind kind() const { return options_.kind; }

  // Makes the next key. `new_passphrase` is for kPassphrase; an unchanged passphrase gives another
  // key, too. For kCredential it reads the file at next_path(), which the service manager must
  // provide, and fails with INVALID_ARGUMENT if there is no such file.
  absl::StatusOr<SealKey> StartRotation(std::string_view new_passphrase);
  absl::Status FinishRotation();
  absl::Status CancelRotation();

 private:
  absl::StatusOr<SealKey> LoadFrom(const std::string& path, std::string_view passphrase) const;
  absl::StatusOr<SealKey> LoadCurrent() const;
  absl::Status CreateIfMissing() const;

  Options options_;
  std::string next_passphrase_;
};

}  // namespace ruvd::privacy
