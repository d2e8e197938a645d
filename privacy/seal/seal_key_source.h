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

// A node's seal key, and the one that a rotation was about to put in its place when it was
// interrupted. Which of the two a store was sealed with, only the store can say.
struct SealKeys {
  SealKey current;
  std::optional<SealKey> next;
};

// Where a node's seal key comes from, and how another takes its place without a moment at which a
// crash would leave the store without its key:
//   StartRotation   the next key is on disk beside the current one, fsynced
//   (the store wraps its data keys with it in one synced batch)
//   FinishRotation  the next key replaces the current one, atomically
// A start that finds a next key asks the store which one opens it and finishes or cancels. Not
// thread-safe.
class SealKeySource {
 public:
  enum class Kind : uint8_t {
    kFile,        // 32 random bytes in a file of mode 0600, created where missing
    kPassphrase,  // Argon2id; the file holds its parameters, created where missing
    kCredential,  // a systemd credential: 32 bytes that the service manager hands over, never made
  };
  struct Options {
    Kind kind = Kind::kFile;
    // The key, the parameters or the credential. The next one is beside it, with ".next".
    std::string path;
    std::string passphrase;  // kPassphrase only; wiped with the source
  };

  explicit SealKeySource(Options options) : options_(std::move(options)) {}
  ~SealKeySource();
  SealKeySource(const SealKeySource&) = delete;
  SealKeySource& operator=(const SealKeySource&) = delete;

  // KEY_FILE_MODE, KEY_INVALID (also for a passphrase outside the limits), FILE_NOT_FOUND for a
  // credential that is not there, and the errors of base/file.h.
  absl::StatusOr<SealKeys> Load();
  // The same, but nothing is created: nullopt where there is no key yet.
  absl::StatusOr<std::optional<SealKeys>> LoadExisting() const;
  // kPassphrase: the key of the source's passphrase under the parameters that a SealKey's
  // `derivation` names, for example those of a backup. KEY_INVALID for others and for other kinds.
  absl::StatusOr<SealKey> DeriveWith(std::string_view derivation) const;
  // kPassphrase: makes these parameters the source's own, where it has none yet.
  absl::Status Adopt(std::string_view derivation);
  const std::string& path() const { return options_.path; }
  // Of the next key, between StartRotation and FinishRotation.
  std::string next_path() const { return options_.path + ".next"; }
  Kind kind() const { return options_.kind; }

  // Makes the next key. `new_passphrase` for kPassphrase (the same one gives another key, too).
  // INVALID_ARGUMENT for a credential: whoever provides it adds the next one beside it.
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
