// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/consent/consent.h"
#include "storage/db/database.h"

namespace ruvd {

// The operator's consent. Stateless over the database, thread-safe.
class ConsentStore {
 public:
  // `database` outlives the store.
  explicit ConsentStore(Database& database) : database_(database) {}

  // The stored record, nullopt where none was ever given. The caller verifies its signature.
  absl::StatusOr<std::optional<ConsentRecord>> Get() const;

  // Fsynced before it returns: a consent that was withdrawn stays withdrawn.
  absl::Status Set(const ConsentRecord& record);

 private:
  Database& database_;
};

// The plaintext of the consent row. STORE_CORRUPT for bytes that EncodeConsent does not make.
std::string EncodeConsent(const ConsentRecord& record);
absl::StatusOr<ConsentRecord> DecodeConsent(std::string_view bytes);

}  // namespace ruvd
