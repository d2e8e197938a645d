// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <utility>

#include "privacy/identity/node_key.h"
#include "privacy/identity/signing_key.h"

namespace ruvd::test {

// Returns the key of a node that replaced the key of the first seed with that of the second.
inline privacy::NodeKey RotatedKey(const privacy::KeySeed& first, const privacy::KeySeed& second) {
  const privacy::NodeKey former = privacy::NodeKey::FromSeed(first);
  privacy::NodeKeys keys = former.keys();
  privacy::SigningKey next = privacy::SigningKey::FromSeed(second);
  keys.Rotate(former.RotateTo(next, /*now_ms=*/1000)).IgnoreError();  // Create would notice
  return privacy::NodeKey::Create(std::move(next), std::move(keys)).value();
}

}  // namespace ruvd::test
