// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace ruvd::cli {

class VerbTable;

// Add the verbs that work on files of models and adapters, without a node.
void AddAdapterMergeVerb(VerbTable& verbs);  // adapter merge
void AddModelVerbs(VerbTable& verbs);        // model import, inspect
void AddEvaluateVerb(VerbTable& verbs);      // model evaluate
void AddWhitenVerb(VerbTable& verbs);        // model whiten
void AddFrameVerb(VerbTable& verbs);         // model frame
void AddMemoryVerb(VerbTable& verbs);        // model memory
void AddQuantizeVerb(VerbTable& verbs);      // model quantize
void AddBackendsVerb(VerbTable& verbs);      // model backends
void AddConvertVerb(VerbTable& verbs);       // learn convert

}  // namespace ruvd::cli
