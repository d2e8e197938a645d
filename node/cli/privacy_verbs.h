// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace ruvd {

class VerbTable;

// privacy verify, export, status.
void AddPrivacyVerbs(VerbTable& verbs);

}  // namespace ruvd
