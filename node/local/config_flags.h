// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "node/config/config.h"
#include "node/terminal/command.h"

namespace ruvd::cli {

// --config F and one --section.name VALUE for every configuration key.
class ConfigFlags {
 public:
  // The verb refers to this object until it is parsed.
  void AddTo(CLI::App& verb);
  // Whether the command line has any of them: a verb that asks a running node has no use for them.
  bool given() const;
  // Flag > environment > file > default; see LoadConfig. `origins` may be null.
  absl::StatusOr<config::NodeConfig> Load(const CommandContext& context,
                                          config::ConfigOrigins* origins) const;

 private:
  std::string file_;
  std::vector<std::string> values_;          // by key
  std::vector<const CLI::Option*> options_;  // by key
};

}  // namespace ruvd::cli
