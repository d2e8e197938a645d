// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <span>
#include <string_view>

namespace ruvd {

// Plain prose on everyday things, written for this purpose: the kind of text no adapter should make
// worse. GeneralText is mixed into what deep rounds learn; GateText only measures, so that nobody
// is judged by what was taught.
std::span<const std::string_view> GeneralText();
std::string_view GateText();

}  // namespace ruvd
