// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "node/config/config.h"
#include "node/local/config_flags.h"
#include "node/terminal/command.h"
#include "privacy/seal/seal_key_source.h"
#include "storage/db/database.h"

namespace ruvd::cli {

// The open store of a node that does not run, and the source of its key.
struct StoppedStore {
  config::NodeConfig config;
  std::unique_ptr<privacy::SealKeySource> source;
  std::unique_ptr<storage::Database> database;
};

// Opens the store that the flags name. The disk reserve is not enforced unless `with_reserve` is
// set, because deleting data, which frees space, also needs an open store. Returns FILE_NOT_FOUND
// if there is no store (it is not created), STORE_LOCKED if a node is running, and the errors of
// ConfigFlags::Load and OpenNodeStore.
absl::StatusOr<StoppedStore> OpenStoppedStore(const CommandContext& context,
                                              const ConfigFlags& flags, bool with_reserve = false);

}  // namespace ruvd::cli
