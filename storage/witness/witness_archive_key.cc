// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/witness/witness_archive_key.h"

#include "storage/db/file_key.h"

namespace ruvd::storage {

absl::StatusOr<privacy::SealKey> WitnessArchiveKey(Database& database) {
  return FileKey(database, "witness/archive-key", "the archives of witness entries");
}

}  // namespace ruvd::storage
