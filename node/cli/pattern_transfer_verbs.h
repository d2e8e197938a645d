// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace ruvd::cli {

class VerbTable;

// Adds `pattern export` and `pattern import`; AddPatternVerbs calls it.
void AddPatternTransferVerbs(VerbTable& verbs);

}  // namespace ruvd::cli
