// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "node/local/verbs.h"
#include "node/terminal/command.h"

namespace ruvd::node {

// Runs `ruvd` with all its verbs: verbs that ask a node, verbs that work on this machine's data
// folder, and verbs that work on model files. `arguments` do not contain the program's name.
// Returns the exit code of the process.
int RunProgram(const std::vector<std::string>& arguments, cli::CommandContext& context,
               const cli::StartNode& start_node = &Node::Start);

}  // namespace ruvd::node
