// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api_limits.h"

#include "inference/adapter/bank.h"
#include "privacy/limits.h"
#include "storage/limits.h"

namespace ruvd::limits {

static_assert(kPatternBanks == inference::kTimestepBanks);
static_assert(kMaxEmbeddingDimension == kMaxDimension);
static_assert(kMaxPatternTaskBytes == kMaxTaskBytes);
static_assert(kMaxPatternAdapterBytes == kMaxPatternPayloadBytes);
static_assert(kMinMaskedNodes == kMinCliqueMembers);
static_assert(kMaxMaskedNodes == kMaxCliqueMembers);

}  // namespace ruvd::limits
