// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace ruvd::cli {

class VerbTable;

// Add the verbs that ask a running node; there is one function per file of this folder.
void AddRunVerb(VerbTable& verbs);        // run
void AddRateVerb(VerbTable& verbs);       // rate
void AddLearningVerbs(VerbTable& verbs);  // undo, learn status, pause, resume, run-background, ...
void AddLessonAddVerb(VerbTable& verbs);  // learn add
void AddLessonVerbs(VerbTable& verbs);    // learn sources, lessons, withdraw
void AddTextVerbs(VerbTable& verbs);      // embed, tokenize, score
void AddClusterVerbs(VerbTable& verbs);   // status, members, health
void AddPatternVerbs(VerbTable& verbs);   // pattern ls, show, search, rm
void AddAdapterVerbs(VerbTable& verbs);  // adapter ls, show, diff, load, unload, pin, rollback, ...
void AddWitnessVerbs(VerbTable& verbs);  // witness ls, show, stats
void AddConsentVerbs(VerbTable& verbs);  // consent grant, revoke, status, allow, withdraw, list
void AddRoundVerb(VerbTable& verbs);     // round
void AddPreviewVerb(VerbTable& verbs);   // privacy preview

}  // namespace ruvd::cli
