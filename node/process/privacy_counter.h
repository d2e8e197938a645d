// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <filesystem>
#include <string>

#include "node/config/config.h"

namespace ruvd::node {

// Returns DATA_DIR/privacy-counter. The file counts all charges of the privacy ledger. It lies
// outside the store because it must not go back when an older store is put in its place.
inline std::string PrivacyCounterFileOf(const config::NodeConfig& config) {
  return (std::filesystem::path(config.node.data_dir) / "privacy-counter").string();
}

}  // namespace ruvd::node
