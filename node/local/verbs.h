// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "node/process/node.h"

namespace ruvd::cli {

class VerbTable;

// Starts a node, as Node::Start does. Tests replace it, so that the command line can be tested
// without a node.
using StartNode =
    std::function<absl::StatusOr<std::unique_ptr<node::Node>>(const config::NodeConfig&)>;

// Add the verbs that work on this machine: they start nodes, or read and write a node's data
// folder.
void AddServeVerbs(VerbTable& verbs, const StartNode& start_node);  // version, serve
void AddIdentityVerbs(VerbTable& verbs);                            // init, cert issue
void AddKeyVerbs(VerbTable& verbs);                                 // key create, ls, revoke
void AddConfigVerbs(VerbTable& verbs);                              // config show, config check
void AddDemoVerb(VerbTable& verbs);                                 // demo
void AddTourVerb(VerbTable& verbs);                                 // tour
void AddStoreVerbs(VerbTable& verbs);       // store status, verify, compact, backup, restore, ...
void AddAdmissionVerbs(VerbTable& verbs);   // token create, join, cert renew, revoke, ...
void AddPrivacyVerbs(VerbTable& verbs);     // privacy status, export, verify, ...
void AddPrivacyPlanVerb(VerbTable& verbs);  // privacy plan

}  // namespace ruvd::cli
