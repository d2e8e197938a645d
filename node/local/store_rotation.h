// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "node/local/stopped_store.h"
#include "node/terminal/command.h"
#include "storage/db/database.h"

namespace ruvd::cli {

// The flags of `ruvd store rotate`.
struct RotationFlags {
  bool data_keys = false;  // replace these too, which seals all data again
  // An empty name comes from an unset variable of a script and is refused.
  std::optional<std::string> new_passphrase_file;
  std::optional<std::string> keep_old_key;
};

// Replaces the seal key of a stopped node and prints what the operator has to do now. Returns
// a USAGE error for a flag that has no effect with this kind of key. If only the data keys could
// not be replaced, the node has its new seal key nevertheless.
absl::Status RotateSealKey(CommandContext& context, const RotationFlags& flags,
                           const StoppedStore& store);

// Seals all values that were sealed under former data keys again, under the present ones.
absl::Status ResealAll(storage::Database& database);

}  // namespace ruvd::cli
