// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "node/client/client_credentials.h"
#include "node/terminal/limits.h"
#include "node/terminal/verb.h"

namespace ruvd::cli {

// The environment of a verb: output streams, variables, terminal and common flags. Tests make their
// own.
struct CommandContext {
  std::ostream& out;
  std::ostream& err;
  std::vector<std::pair<std::string, std::string>> environment;
  // Longest time from the stop signal to the end of the process, even if it still waits for
  // something.
  Duration stop_limit = limits::kStopSeconds - std::chrono::seconds(2);
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  int columns = 80;  // of the terminal
  int rows = 24;

  // The common flags of all verbs set these.
  std::string server = "127.0.0.1:7420";  // or unix:PATH
  client::ClientCredentials credentials;
  bool json = false;

  // Returns an environment variable, or "" if it is not set.
  std::string Variable(std::string_view name) const;
};

// The verbs of `ruvd`. Each verb has a path ("pattern ls"), a line of help, flags and an action.
class VerbTable {
 public:
  using Action = std::function<absl::Status(CommandContext&)>;

  VerbTable(CLI::App& root, CommandContext& context) : root_(root), context_(context) {}

  // Adds a verb, and the noun before it if that is missing. The caller adds flags to the result and
  // binds them to variables that `action` shares. `group` is a heading of `ruvd --help`.
  Verb Add(std::string_view path, std::string_view group, std::string help, Action action);
  // Runs the verb that was parsed. USAGE if no verb was parsed.
  absl::Status Run();

 private:
  CLI::App& root_;
  CommandContext& context_;
  Action chosen_;
};

// Parses `arguments` (without the program's name) with the verbs that `add_verbs` adds, runs the
// verb and prints its error. Returns the exit code of the process.
int RunCommandLine(const std::vector<std::string>& arguments, CommandContext& context,
                   const std::function<void(VerbTable&)>& add_verbs);

// Returns a USAGE error; the message must say what to write instead.
absl::Status UsageError(std::string_view message);

}  // namespace ruvd::cli
