// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <filesystem>
#include <string>

#include "node/config/config.h"

namespace ruvd::node {

// DATA_DIR/privacy-counter: what the privacy ledger was ever charged, beside the store, so that an
// older store in its place forgets nothing.
inline std::string PrivacyCounterFileOf(const config::NodeConfig& config) {
  return (std::filesystem::path(config.node.data_dir) / "privacy-counter").string();
}

}  // namespace ruvd::node
