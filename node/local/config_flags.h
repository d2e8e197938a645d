// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "node/config/config.h"
#include "node/terminal/command.h"

namespace ruvd::cli {

// The flags --config FILE and --section.name VALUE, the latter for every configuration key.
class ConfigFlags {
 public:
  // This object must live until `verb` was parsed.
  void AddTo(Verb verb);
  // Returns whether the command line has any of these flags, which a verb that asks a running node
  // does not use.
  bool given() const;
  // Returns the configuration: a flag beats the environment, which beats the file, which beats the
  // default; see LoadConfig. `origins` may be null.
  absl::StatusOr<config::NodeConfig> Load(const CommandContext& context,
                                          config::ConfigOrigins* origins) const;

 private:
  std::string file_;
  std::vector<std::string> values_;  // by key
  std::vector<Flag> flags_;          // by key
};

}  // namespace ruvd::cli
