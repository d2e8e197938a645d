// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/terminal/command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "base/closest.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/client/local_server.h"
#include "node/socket_file.h"
#include "node/terminal/exit_code.h"
#include "node/transport/api_keys.h"

namespace ruvd::cli {
namespace {

// Returns the deepest verb that was recognised, e.g. `pattern ls`.
const CLI::App& DeepestParsed(const CLI::App& root) {
  const CLI::App* app = &root;
  while (!app->get_subcommands().empty()) {
    app = app->get_subcommands().front();
  }
  return *app;
}

std::string FullName(const CLI::App& app) {
  return app.get_parent() == nullptr ? "ruvd" : FullName(*app.get_parent()) + " " + app.get_name();
}

// Returns the flags that may follow a verb: its own flags and those of all its parents.
std::vector<std::string> FlagsOf(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::App* at = &app; at != nullptr; at = at->get_parent()) {
    for (const CLI::Option* option : at->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        flags.push_back("--" + name);
      }
    }
  }
  return flags;
}

std::vector<std::string> VerbsOf(const CLI::App& app) {
  const auto subcommands = app.get_subcommands([](const CLI::App*) { return true; });
  std::vector<std::string> verbs;
  verbs.reserve(subcommands.size());
  for (const CLI::App* verb : subcommands) {
    verbs.push_back(verb->get_name());
  }
  return verbs;
}

bool LooksLikeFlag(const std::string& argument) {
  return argument.size() > 1 && argument.front() == '-';
}

// Returns one error for the arguments that were not understood. An unknown flag is named first,
// because its value would otherwise look like an argument of its own.
absl::Status ExplainRemaining(const CLI::App& root, const std::vector<std::string>& remaining) {
  const CLI::App& verb = DeepestParsed(root);
  const std::string name = FullName(verb);
  const auto flag = std::ranges::find_if(remaining, LooksLikeFlag);
  if (flag != remaining.end()) {
    const std::string bare = flag->substr(0, flag->find('='));
    return Error(absl::StatusCode::kInvalidArgument, reasons::kUnknownFlag,
                 "`{}` has no flag {}{}; see `{} --help`", name, bare,
                 Suggestion(bare, FlagsOf(verb)), name);
  }
  const std::string& word = remaining.front();
  const std::vector<std::string> verbs = VerbsOf(verb);
  if (!verbs.empty()) {
    return UsageError(fmt::format("`{}` has no verb \"{}\"{}; see `{} --help`", name, word,
                                  Suggestion(word, verbs), name));
  }
  return UsageError(fmt::format("`{}` does not take \"{}\"; see `{} --help`", name, word, name));
}

absl::Status ExplainParseError(const CLI::App& root, const CLI::ParseError& error) {
  const std::vector<std::string> remaining = root.remaining(true);
  const CLI::App& verb = DeepestParsed(root);
  const std::vector<std::string> verbs = VerbsOf(verb);
  const bool is_extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr || !verbs.empty();
  if (std::ranges::any_of(remaining, LooksLikeFlag) || (!remaining.empty() && is_extra)) {
    return ExplainRemaining(root, remaining);
  }
  const std::string name = FullName(verb);
  return verbs.empty() ? UsageError(fmt::format("{}; see `{} --help`", error.what(), name))
                       : UsageError(fmt::format("`{}` needs one of: {}; see `{} --help`", name,
                                                fmt::join(verbs, ", "), name));
}

// The flags for files that say how to reach a node. Environment variables replace missing flags.
class CredentialFlags {
 public:
  void AddTo(CLI::App& root, const CommandContext& context) {
    roots_ = context.Variable("RUVD_TLS_CA");
    key_file_ = context.Variable("RUVD_KEY_FILE");
    root.add_option("--tls-ca", roots_,
                    "Use TLS; PEM file of trusted certificates, or `system` (or set RUVD_TLS_CA)");
    root.add_option(
        "--key-file", key_file_,
        "File with the client's key, which is sent over TLS only (or set RUVD_KEY_FILE)");
  }
  client::ClientCredentials Load() const {
    absl::StatusOr<client::ClientCredentials> credentials = ReadFiles();
    return credentials.ok() ? *std::move(credentials)
                            : client::ClientCredentials{.problem = credentials.status()};
  }

 private:
  absl::StatusOr<client::ClientCredentials> ReadFiles() const {
    client::ClientCredentials credentials;
    // A key is never sent over a plain connection.
    credentials.tls = !roots_.empty() || !key_file_.empty();
    if (!roots_.empty() && roots_ != "system") {
      ASSIGN_OR_RETURN(credentials.roots, ReadFile(roots_, limits::kMaxConfigBytes));
    }
    if (!key_file_.empty()) {
      ASSIGN_OR_RETURN(credentials.key, transport::ReadClientKey(key_file_));
    }
    return credentials;
  }

  std::string roots_;  // "system" means the root certificates of the system
  std::string key_file_;
};

// The data folder of the documents.
constexpr char kDataFolder[] = "/var/lib/ruvd";

// Sets the node to talk to; `named` is what the user says, or empty. TLS and keys are for ports.
void ChooseServer(const std::string& named, CommandContext* context) {
  client::ClientCredentials& credentials = context->credentials;
  if (named.starts_with(client::kUnixServer) && credentials.tls) {
    credentials.problem = UsageError(fmt::format(
        "{} takes neither TLS nor a key, because the node knows the user who calls; leave out "
        "--tls-ca and --key-file (RUVD_TLS_CA, RUVD_KEY_FILE), or name HOST:PORT",
        named));
  }
  const std::array<std::string, 2> folders = {context->Variable("RUVD_NODE__DATA_DIR"),
                                              kDataFolder};
  if (!named.empty()) {
    context->server = named;
  } else if (const auto local = client::LocalServer(folders); local && !credentials.tls) {
    context->server = *local;
  }
}

absl::Status ParseAndRun(const std::vector<std::string>& arguments, CommandContext& context,
                         const std::function<void(VerbTable&)>& add_verbs) {
  CLI::App root("A node of a federated edge cluster that serves and improves a language model.",
                "ruvd");
  root.fallthrough();
  std::string format = "table";
  std::string server = context.Variable("RUVD_SERVER");
  root.add_option("--server", server,
                  fmt::format("HOST:PORT or unix:PATH of the node to talk to (or set RUVD_SERVER). "
                              "By default it is the one of this user whose socket, {}, lies in "
                              "RUVD_NODE__DATA_DIR or {}, and otherwise {}",
                              node::kSocketFile, kDataFolder, context.server));
  CredentialFlags credentials;
  credentials.AddTo(root, context);
  root.add_option("--format", format, "Output format: table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  VerbTable verbs(root, context);
  add_verbs(verbs);
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
    root.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    context.out << root.help();  // that of the verb, with the words before it in its usage line
    return absl::OkStatus();
  } catch (const CLI::ParseError& error) {
    return ExplainParseError(root, error);
  }
  context.json = format == "json";
  context.credentials = credentials.Load();
  ChooseServer(server, &context);
  return verbs.Run();
}

}  // namespace

std::string CommandContext::Variable(std::string_view name) const {
  const auto found =
      std::ranges::find(environment, name, &std::pair<std::string, std::string>::first);
  return found == environment.end() ? "" : found->second;
}

Verb VerbTable::Add(std::string_view path, std::string_view group, std::string help,
                    Action action) {
  CLI::App* parent = &root_;
  if (const size_t blank = path.find(' '); blank != std::string_view::npos) {
    const std::string noun(path.substr(0, blank));
    const auto same = root_.get_subcommands([&](CLI::App* app) { return app->get_name() == noun; });
    CLI::App* found = same.empty() ? nullptr : same.front();
    path.remove_prefix(blank + 1);
    if (found == nullptr) {
      found = root_.add_subcommand(noun, std::string(path));
      found->group(std::string(group))->fallthrough();
      found->require_subcommand(1);
    } else {
      found->description(fmt::format("{}, {}", found->get_description(), path));
    }
    parent = found;
  }
  CLI::App* verb = parent->add_subcommand(std::string(path), std::move(help));
  verb->fallthrough();
  if (parent == &root_) {
    verb->group(std::string(group));
  }
  verb->callback([this, action = std::move(action)] { chosen_ = action; });
  return Verb(*verb);
}

absl::Status VerbTable::Run() {
  if (chosen_ == nullptr) {
    return UsageError("no verb was given; see `ruvd --help`");
  }
  return chosen_(context_);
}

int RunCommandLine(const std::vector<std::string>& arguments, CommandContext& context,
                   const std::function<void(VerbTable&)>& add_verbs) {
  const absl::Status status = ParseAndRun(arguments, context, add_verbs);
  if (!status.ok()) {
    context.err << ErrorLine(status) << "\n" << std::flush;
  }
  return static_cast<int>(ExitCodeOf(status));
}

absl::Status UsageError(std::string_view message) {
  return MakeError(absl::StatusCode::kInvalidArgument, reasons::kUsage, message);
}

}  // namespace ruvd::cli
