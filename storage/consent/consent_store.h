// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/consent/consent.h"
#include "storage/db/database.h"

namespace ruvd::storage {

// What has left the node since its store was made.
struct LeftSoFar {
  bool plain = false;       // items without noise were offered to peers
  uint64_t bytes_sent = 0;  // of items, to all peers together
  bool operator==(const LeftSoFar&) const = default;
};

// The operator's consent, and what left the node under those that it ever had. Stateless over the
// database, thread-safe but for writes beside each other.
class ConsentStore {
 public:
  // `database` outlives the store.
  explicit ConsentStore(Database& database) : database_(database) {}

  // The stored record, nullopt where none was ever given. The caller verifies its signature.
  absl::StatusOr<std::optional<privacy::ConsentRecord>> Get() const;

  // Fsynced before it returns: a consent that was withdrawn stays withdrawn. What left stays noted;
  // where the row before does not decode, plain items may have.
  absl::Status Set(const privacy::ConsentRecord& record);

  // Nothing where no consent was ever given. The errors of Get.
  absl::StatusOr<LeftSoFar> Left() const;

  // Beside the stored record, fsynced; without one nothing is noted. The errors of Get and of
  // Database::Write.
  absl::Status NoteLeft(const LeftSoFar& left);

 private:
  absl::Status Write(const privacy::ConsentRecord& record, const LeftSoFar& left);

  Database& database_;
};

// The plaintext of the consent row. STORE_CORRUPT for bytes that EncodeConsent does not make.
std::string EncodeConsent(const privacy::ConsentRecord& record, const LeftSoFar& left = {});
absl::StatusOr<privacy::ConsentRecord> DecodeConsent(std::string_view bytes);

}  // namespace ruvd::storage
