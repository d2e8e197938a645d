// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/local/stopped_store.h"

#include <filesystem>
#include <string>

#include "base/clock.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/process/node_files.h"

namespace ruvd::cli {

absl::StatusOr<StoppedStore> OpenStoppedStore(const CommandContext& context,
                                              const ConfigFlags& flags, bool with_reserve) {
  StoppedStore store;
  ASSIGN_OR_RETURN(store.config, flags.Load(context, nullptr));
  if (!with_reserve) {
    store.config.storage.reserve_bytes = 0;
  }
  ASSIGN_OR_RETURN(const std::string path, node::StorePathOf(store.config));
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return Error(absl::StatusCode::kNotFound, reasons::kFileNotFound,
                 "no store was found in {}{}; check node.data_dir", path,
                 error ? ", which cannot be read: " + error.message() : "");
  }
  ASSIGN_OR_RETURN(store.source, node::MakeSealKeySource(store.config));
  ASSIGN_OR_RETURN(store.database, node::OpenNodeStore(store.config, *store.source, SystemClock()));
  return store;
}

}  // namespace ruvd::cli
