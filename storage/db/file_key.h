// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "privacy/seal/data_key.h"
#include "privacy/seal/seal.h"
#include "storage/db/database.h"

namespace ruvd::storage {

// Returns the 32 random bytes in this row of the family `default`, made and fsynced on the first
// call. The row is sealed like every value, by a data key that the node's key wraps, so the secret
// stays the same after either key was replaced. `what` names in errors what the secret is for.
// Returns STORE_CORRUPT or an error of Database.
absl::StatusOr<privacy::DataKey> StoredSecret(Database& database, std::string_view row,
                                              std::string_view what);
// Returns the same secret and changes nothing: kNotFound where StoredSecret never made it.
absl::StatusOr<privacy::DataKey> ReadStoredSecret(const Database& database, std::string_view row,
                                                  std::string_view what);

// Returns a stored secret as a key that seals files beside the store.
absl::StatusOr<privacy::SealKey> FileKey(Database& database, std::string_view row,
                                         std::string_view files);

}  // namespace ruvd::storage
