// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <memory>

#include "base/status.h"
#include "node/config/keys.h"
#include "node/local/config_flags.h"
#include "node/local/verbs.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/terminal.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

constexpr char kGroup[] = "Run a node";

absl::Status Show(CommandContext& context, const ConfigFlags& flags, bool with_origin) {
  config::ConfigOrigins origins;
  ASSIGN_OR_RETURN(const config::NodeConfig config, flags.Load(context, &origins));
  if (!with_origin && !context.json) {
    context.out << config::ConfigToToml(config);
    return absl::OkStatus();
  }
  std::vector<std::vector<std::string>> rows;
  rows.reserve(config::ConfigKeys().size());
  report::v1::ConfigReport report;
  for (const config::ConfigKey& key : config::ConfigKeys()) {
    const std::string value = config::ConfigValueToToml(key, config);
    rows.push_back({key.dotted(), value, origins[key.dotted()]});
    report::v1::ConfigReport::Key& entry = *report.add_keys();
    entry.set_key(key.dotted());
    entry.set_value(value);
    entry.set_origin(origins[key.dotted()]);
  }
  context.out << (context.json ? ToJsonLine(report)
                               : FormatTable({"KEY", "VALUE", "ORIGIN"}, rows));
  return absl::OkStatus();
}

absl::Status Check(CommandContext& context, const ConfigFlags& flags) {
  ASSIGN_OR_RETURN(const config::NodeConfig config, flags.Load(context, nullptr));
  RETURN_IF_ERROR(config::CheckConfig(config));
  if (context.json) {
    report::v1::ConfigCheckReport report;
    report.set_complete(true);
    context.out << ToJsonLine(report);
    return absl::OkStatus();
  }
  context.out
      << "the configuration is complete; the files that it names are read when the node starts\n";
  return absl::OkStatus();
}

}  // namespace

void AddConfigVerbs(VerbTable& verbs) {
  struct ShowFlags {
    ConfigFlags config;
    bool origin = false;
  };
  auto show = std::make_shared<ShowFlags>();
  Verb show_verb = verbs.Add(
      "config show", kGroup, "Print the configuration in effect, as TOML",
      [show](CommandContext& context) { return Show(context, show->config, show->origin); });
  show->config.AddTo(show_verb);
  show_verb.Switch("--origin", show->origin, "Show where each value came from");

  auto check = std::make_shared<ConfigFlags>();
  Verb check_verb =
      verbs.Add("config check", kGroup,
                "Check that all required keys are set and that no keys contradict each other",
                [check](CommandContext& context) { return Check(context, *check); });
  check->AddTo(check_verb);
}

}  // namespace ruvd::cli
