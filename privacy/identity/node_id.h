// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "base/bytes.h"
#include "privacy/identity/signing_key.h"

namespace ruvd::privacy {

// The permanent name of a node: SHA-256("RUVDLLM-NODE-v1\0" || its first public key).
using NodeId = Digest;

NodeId NodeIdOf(const PublicKey& first_key);

}  // namespace ruvd::privacy
