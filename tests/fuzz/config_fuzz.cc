// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "node/config/config.h"
#include "node/config/keys.h"
#include "node/config/toml.h"

// Any bytes either give a configuration that can be written as TOML and read again, or one error.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  auto entries = ruvd::config::ParseTomlEntries(text, "fuzz.toml");
  if (!entries.ok()) {
    return 0;
  }
  ruvd::config::NodeConfig config;
  for (const ruvd::config::TomlEntry& entry : *entries) {
    const ruvd::config::ConfigKey* key =
        ruvd::config::FindConfigKey(entry.section + "." + entry.name);
    if (key != nullptr) {
      (void)ruvd::config::SetConfigValue(*key, entry.value, "fuzz", &config);
    }
  }
  RUVD_CHECK(ruvd::config::ParseTomlEntries(ruvd::config::ConfigToToml(config), "again.toml").ok());
  return 0;
}
