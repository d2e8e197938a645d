// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <vector>

#include "node/local/verbs.h"
#include "node/terminal/command.h"

namespace ruvd::node {

// Runs `ruvd` with all its verbs: those that ask a node, those that work on this machine's data
// folder, and those that work on model files. `arguments` are without the program's name. The
// result is the exit code of the process.
int RunProgram(const std::vector<std::string>& arguments, cli::CommandContext& context,
               const cli::StartNode& start_node = &Node::Start);

}  // namespace ruvd::node
