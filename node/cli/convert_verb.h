// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace ruvd {

class VerbTable;

// learn convert; AddLearningVerbs calls it.
void AddConvertVerb(VerbTable& verbs);

}  // namespace ruvd
