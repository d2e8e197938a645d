// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/program/program.h"

#include "node/cli/verbs.h"
#include "node/tools/verbs.h"

namespace ruvd::node {
namespace {

// The order is that of `ruvd --help`.
void AddAllVerbs(cli::VerbTable& verbs, const cli::StartNode& start_node) {
  cli::AddDemoVerb(verbs);
  cli::AddServeVerbs(verbs, start_node);
  cli::AddIdentityVerbs(verbs);
  cli::AddAdmissionVerbs(verbs);
  cli::AddKeyVerbs(verbs);
  cli::AddTourVerb(verbs);
  cli::AddRunVerb(verbs);
  cli::AddRateVerb(verbs);
  cli::AddLearningVerbs(verbs);
  cli::AddLessonAddVerb(verbs);
  cli::AddLessonVerbs(verbs);
  cli::AddConvertVerb(verbs);
  cli::AddTextVerbs(verbs);
  cli::AddPatternVerbs(verbs);
  cli::AddAdapterVerbs(verbs);
  cli::AddAdapterMergeVerb(verbs);
  cli::AddWitnessVerbs(verbs);
  cli::AddConsentVerbs(verbs);
  cli::AddPrivacyVerbs(verbs);
  cli::AddPrivacyPlanVerb(verbs);
  cli::AddPreviewVerb(verbs);
  cli::AddStoreVerbs(verbs);
  cli::AddClusterVerbs(verbs);
  cli::AddRoundVerb(verbs);
  cli::AddModelVerbs(verbs);
  cli::AddQuantizeVerb(verbs);
  cli::AddEvaluateVerb(verbs);
  cli::AddWhitenVerb(verbs);
  cli::AddFrameVerb(verbs);
  cli::AddMemoryVerb(verbs);
  cli::AddBackendsVerb(verbs);
  cli::AddConfigVerbs(verbs);
}

}  // namespace

int RunProgram(const std::vector<std::string>& arguments, cli::CommandContext& context,
               const cli::StartNode& start_node) {
  return cli::RunCommandLine(arguments, context,
                             [&](cli::VerbTable& verbs) { AddAllVerbs(verbs, start_node); });
}

}  // namespace ruvd::node
