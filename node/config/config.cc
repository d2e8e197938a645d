// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/config/config.h"

#include <fmt/format.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "base/closest.h"
#include "base/file.h"
#include "base/host_port.h"
#include "base/limits.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/config/keys.h"
#include "node/config/toml.h"

namespace ruvd::config {
namespace {

// A variable of a configuration key has "__" after its section; other variables, such as
// RUVD_SERVER, have no "__". A variable that would be a key with "__" instead of "_" is a typing
// error.
constexpr std::string_view kVariablePrefix = "RUVD_";
constexpr std::string_view kVariableSeparator = "__";

// `meant` is the key that was probably meant; it may be empty.
absl::Status UnknownKey(std::string_view source, std::string_view name, std::string_view meant) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kUnknownConfigKey,
               "{}: unknown configuration key {}{}; `ruvd config show` lists all", source, name,
               meant.empty() ? "" : fmt::format("; did you mean {}?", meant));
}

absl::Status ApplyFile(const std::string& file, NodeConfig* config, ConfigOrigins* origins) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(file, limits::kMaxConfigBytes));
  ASSIGN_OR_RETURN(const auto entries, ParseTomlEntries(text, file));
  for (const TomlEntry& entry : entries) {
    const std::string source = fmt::format("file {}:{}", file, entry.line);
    const std::string dotted =
        entry.section.empty() ? entry.name : fmt::format("{}.{}", entry.section, entry.name);
    const ConfigKey* key = FindConfigKey(dotted);
    if (key == nullptr) {
      return UnknownKey(source, dotted, ClosestOf(dotted, ConfigKeyNames()));
    }
    RETURN_IF_ERROR(SetConfigValue(*key, entry.value, source, config));
    (*origins)[dotted] = fmt::format("file {}", file);
  }
  return absl::OkStatus();
}

const ConfigKey* KeyOfVariable(std::string_view variable) {
  const auto keys = ConfigKeys();
  const auto found = std::ranges::find(keys, variable, &ConfigKey::variable);
  return found == keys.end() ? nullptr : &*found;
}

// Returns the variable of a key that differs from `variable` only by "__" instead of "_"; empty if
// there is no such key.
std::string WithSeparator(std::string_view variable) {
  for (const ConfigKey& key : ConfigKeys()) {
    if (variable == absl::StrReplaceAll(key.variable(), {{"__", "_"}})) {
      return key.variable();
    }
  }
  return "";
}

// Returns the variable of the key that the unknown `variable` most probably means; empty if none is
// similar enough.
std::string ClosestVariable(const std::string& variable) {
  const std::string name = absl::AsciiStrToLower(variable.substr(kVariablePrefix.size()));
  const std::string dotted = absl::StrReplaceAll(name, {{"__", "."}});
  const ConfigKey* key = FindConfigKey(ClosestOf(dotted, ConfigKeyNames()));
  return key == nullptr ? "" : key->variable();
}

absl::Status ApplyEnvironment(const std::vector<std::pair<std::string, std::string>>& environment,
                              NodeConfig* config, ConfigOrigins* origins) {
  for (const auto& [variable, text] : environment) {
    if (!variable.starts_with(kVariablePrefix)) {
      continue;
    }
    if (variable.find(kVariableSeparator) == std::string::npos) {
      if (const std::string meant = WithSeparator(variable); !meant.empty()) {
        return UnknownKey("environment", variable, meant);
      }
      continue;
    }
    const ConfigKey* key = KeyOfVariable(variable);
    if (key == nullptr) {
      return UnknownKey("environment", variable, ClosestVariable(variable));
    }
    RETURN_IF_ERROR(SetConfigText(*key, text, fmt::format("environment {}", variable), config));
    (*origins)[key->dotted()] = fmt::format("env {}", variable);
  }
  return absl::OkStatus();
}

absl::Status ApplyFlags(const std::vector<std::pair<std::string, std::string>>& flags,
                        NodeConfig* config, ConfigOrigins* origins) {
  for (const auto& [name, text] : flags) {
    const ConfigKey* key = FindConfigKey(name);
    if (key == nullptr) {
      return UnknownKey("flag", name, ClosestOf(name, ConfigKeyNames()));
    }
    RETURN_IF_ERROR(SetConfigText(*key, text, fmt::format("flag --{}", name), config));
    (*origins)[name] = "flag";
  }
  return absl::OkStatus();
}

absl::Status Missing(std::string_view key, std::string_view remedy) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid,
               "{} is not set; {} (--{}, the configuration file or the environment)", key, remedy,
               key);
}

// Checks one address of the API: outside this machine, the API needs TLS and keys.
absl::Status CheckApiAddress(const NodeConfig& config, std::string_view key,
                             const std::string& listen) {
  const auto& api = config.api;
  const std::optional<HostPort> address = ParseHostPort(listen);
  if (api.allow_remote || !api.key_file.empty() || listen.empty() ||
      (address && IsLoopback(address->host))) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid,
               "{} = {} is not a loopback address: any client that reaches it could change "
               "consent, erase users and read patterns without a password; listen on 127.0.0.1, "
               "set api.tls_cert, api.tls_key and api.key_file, or set api.allow_remote = true "
               "if a firewall or a tunnel protects it",
               key, listen);
}

absl::Status CheckApi(const NodeConfig& config) {
  const auto& api = config.api;
  if (api.tls_cert.empty() != api.tls_key.empty()) {
    return Missing(api.tls_cert.empty() ? "api.tls_cert" : "api.tls_key",
                   "TLS needs a certificate and its key");
  }
  if (!api.key_file.empty() && api.tls_cert.empty()) {
    return Missing(
        "api.tls_cert",
        "keys of clients are never accepted in the clear; name a certificate and its key, or "
        "leave api.key_file out");
  }
  RETURN_IF_ERROR(CheckApiAddress(config, "api.listen", api.listen));
  return CheckApiAddress(config, "api.http_listen", api.http_listen);
}

// The unit's own budget would be the limit of the node, too, so only one of them can be meant.
absl::Status CheckNodeLimit(const NodeConfig& config) {
  const auto& privacy = config.privacy;
  return privacy.unit != "node" || privacy.node_epsilon == 0
             ? absl::OkStatus()
             : Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid,
                     "privacy.node_epsilon is {} beside privacy.unit = \"node\", under which "
                     "privacy.epsilon ({}) is the budget of the whole node; set "
                     "privacy.node_epsilon = 0, and privacy.epsilon to what the node may spend",
                     privacy.node_epsilon, privacy.epsilon);
}

}  // namespace

absl::StatusOr<NodeConfig> LoadConfig(
    const std::string& file, const std::vector<std::pair<std::string, std::string>>& environment,
    const std::vector<std::pair<std::string, std::string>>& flags, ConfigOrigins* origins) {
  NodeConfig config;
  ConfigOrigins found;
  for (const std::string& name : ConfigKeyNames()) {
    found[name] = "default";
  }
  if (!file.empty()) {
    RETURN_IF_ERROR(ApplyFile(file, &config, &found));
  }
  RETURN_IF_ERROR(ApplyEnvironment(environment, &config, &found));
  RETURN_IF_ERROR(ApplyFlags(flags, &config, &found));
  if (origins != nullptr) {
    *origins = std::move(found);
  }
  return config;
}

absl::Status CheckConfig(const NodeConfig& config) {
  if (config.node.data_dir.empty()) {
    return Missing("node.data_dir", "name a folder for keys and store");
  }
  if (config.model.path.empty()) {
    return Missing("model.path", "name a GGUF file");
  }
  RETURN_IF_ERROR(CheckApi(config));
  RETURN_IF_ERROR(CheckNodeLimit(config));
  if (config.federation.enabled && config.federation.authority.empty()) {
    return Missing("federation.authority",
                   "federation needs the cluster authority's public key, which `ruvd init "
                   "--authority` and `ruvd join` write to the configuration");
  }
  const std::string& guard = config.experimental.deep_guard;
  // A round would read the few built-in passages hundreds of times and memorise them, which harms
  // general text more than the lessons can (bench/RESULTS.md).
  if ((guard == "replay" || guard == "replay_ewc") && config.learning.general_text.empty()) {
    return Missing(
        "learning.general_text",
        fmt::format(
            "experimental.deep_guard = {} trains on it beside the lessons; name a large file "
            "of general text, or choose replay_kl, for which the built-in text is enough",
            guard));
  }
  return absl::OkStatus();
}

std::string ConfigToToml(const NodeConfig& config) {
  std::string out;
  std::string_view section;
  for (const ConfigKey& key : ConfigKeys()) {
    if (key.section != section) {
      out += fmt::format("{}[{}]\n", section.empty() ? "" : "\n", key.section);
      section = key.section;
    }
    out += fmt::format("# {}\n{} = {}\n", key.doc, key.name, ConfigValueToToml(key, config));
  }
  return out;
}

}  // namespace ruvd::config
