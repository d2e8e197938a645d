// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/program/program.h"

#include "node/cli/verbs.h"
#include "node/tools/verbs.h"

namespace ruvd {
namespace {

// The order is that of `ruvd --help`.
void AddAllVerbs(VerbTable& verbs, const StartNode& start_node) {
  AddDemoVerb(verbs);
  AddServeVerbs(verbs, start_node);
  AddIdentityVerbs(verbs);
  AddAdmissionVerbs(verbs);
  AddTourVerb(verbs);
  AddRunVerb(verbs);
  AddRateVerb(verbs);
  AddLearningVerbs(verbs);
  AddConvertVerb(verbs);
  AddTextVerbs(verbs);
  AddPatternVerbs(verbs);
  AddAdapterVerbs(verbs);
  AddWitnessVerbs(verbs);
  AddConsentVerbs(verbs);
  AddPrivacyVerbs(verbs);
  AddPreviewVerb(verbs);
  AddStoreVerbs(verbs);
  AddClusterVerbs(verbs);
  AddModelVerbs(verbs);
  AddQuantizeVerb(verbs);
  AddEvaluateVerb(verbs);
  AddWhitenVerb(verbs);
  AddFrameVerb(verbs);
  AddBackendsVerb(verbs);
  AddConfigVerbs(verbs);
}

}  // namespace

int RunProgram(const std::vector<std::string>& arguments, CommandContext& context,
               const StartNode& start_node) {
  return RunCommandLine(arguments, context,
                        [&](VerbTable& verbs) { AddAllVerbs(verbs, start_node); });
}

}  // namespace ruvd
