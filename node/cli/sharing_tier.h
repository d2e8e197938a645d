// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "ruvd/pattern/v1/pattern.pb.h"

namespace ruvd {

// "private", "masked", "dp", "public"; "unspecified" for any other number.
std::string TierLabel(pattern::v1::SharingTier tier);

}  // namespace ruvd
