// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "base/bytes.h"
#include "node/transport/api_keys.h"
#include "privacy/identity/admission.h"

namespace ruvd::test {

// Returns the line of a key file for a key with this secret.
inline std::string KeyLine(const std::string& name, uint32_t roles, const std::string& secret,
                           const transport::KeyLimits& limits = {}) {
  return transport::FormatKeyLine(
             {.name = name, .roles = roles, .limits = limits, .hash = Sha256(secret)}) +
         "\n";
}

}  // namespace ruvd::test
