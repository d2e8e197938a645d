// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "node/actors/federation_actor.h"
#include "node/sharing/masked_sharing.h"
#include "node/sharing/own_patterns.h"

namespace ruvd::actors {

// Returns what the federation actor's masked rounds need. `own` must outlive the result.
sharing::MaskedSharingOptions MaskedOptionsOf(const FederationActorOptions& options,
                                              const sharing::OwnPatterns& own);

}  // namespace ruvd::actors
