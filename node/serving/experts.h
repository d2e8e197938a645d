// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"

// The names of experts: adapters that peers learned from their own lessons, each with the words of
// these lessons.
namespace ruvd::serving {

// Returns the name under which this node serves the expert of a peer: "expert-" and the first
// twelve hexadecimal digits of the peer's id.
std::string NameOfExpert(const Digest& peer);
// Returns whether a name has that form. No other adapter may.
bool IsExpertName(std::string_view name);

}  // namespace ruvd::serving
