// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace ruvd {

class VerbTable;

// Every verb of `ruvd`; one function per file of this folder.
void AddAllVerbs(VerbTable& verbs);

void AddServeVerbs(VerbTable& verbs);     // version, serve
void AddIdentityVerbs(VerbTable& verbs);  // init, cert issue
void AddConfigVerbs(VerbTable& verbs);    // config show, config check
void AddRunVerb(VerbTable& verbs);        // run
void AddRateVerb(VerbTable& verbs);       // rate
void AddLearningVerbs(VerbTable& verbs);  // undo, learn status, pause, resume, run-background, ...
void AddTextVerbs(VerbTable& verbs);      // embed, tokenize, score
void AddClusterVerbs(VerbTable& verbs);   // status, members, health
void AddPatternVerbs(VerbTable& verbs);   // pattern ls, show, search, rm
void AddAdapterVerbs(VerbTable& verbs);  // adapter ls, show, diff, load, unload, pin, rollback, ...
void AddAdapterMergeVerb(VerbTable& verbs);  // adapter merge
void AddWitnessVerbs(VerbTable& verbs);      // witness ls, show, stats
void AddConsentVerbs(VerbTable& verbs);      // consent grant, revoke, status, allow, withdraw, list
void AddPreviewVerb(VerbTable& verbs);       // privacy preview
void AddModelVerbs(VerbTable& verbs);        // model import, inspect
void AddEvaluateVerb(VerbTable& verbs);      // model evaluate
void AddWhitenVerb(VerbTable& verbs);        // model whiten
void AddFrameVerb(VerbTable& verbs);         // model frame
void AddQuantizeVerb(VerbTable& verbs);      // model quantize
void AddBackendsVerb(VerbTable& verbs);      // model backends
void AddDemoVerb(VerbTable& verbs);          // demo
void AddTourVerb(VerbTable& verbs);          // tour
void AddStoreVerbs(VerbTable& verbs);        // store status, verify, compact, backup, restore, ...

}  // namespace ruvd
