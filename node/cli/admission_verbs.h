// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace ruvd {

class VerbTable;

// token create, join, revoke, cert tls.
void AddAdmissionVerbs(VerbTable& verbs);

}  // namespace ruvd
