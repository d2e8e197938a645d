// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/local/config_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "node/config/keys.h"

namespace ruvd::cli {

void ConfigFlags::AddTo(Verb verb) {
  verb.Option("--config", file_, "Configuration file (TOML); `ruvd config show` lists its keys");
  const auto keys = config::ConfigKeys();
  values_.resize(keys.size());
  flags_.reserve(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) {
    flags_.push_back(
        verb.Option("--" + keys[i].dotted(), values_[i],
                    fmt::format("{} ({})", keys[i].doc, config::DescribeConfigType(keys[i])))
            .Heading("Configuration"));
  }
}

bool ConfigFlags::given() const {
  return !file_.empty() ||
         std::ranges::any_of(flags_, [](const Flag& flag) { return flag.given(); });
}

absl::StatusOr<config::NodeConfig> ConfigFlags::Load(const CommandContext& context,
                                                     config::ConfigOrigins* origins) const {
  std::vector<std::pair<std::string, std::string>> flags;
  for (size_t i = 0; i < flags_.size(); ++i) {
    if (flags_[i].given()) {
      flags.emplace_back(config::ConfigKeys()[i].dotted(), values_[i]);
    }
  }
  return config::LoadConfig(file_, context.environment, flags, origins);
}

}  // namespace ruvd::cli
