// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

namespace ruvd {

// The version of this source; a test checks that it equals the version in CMakeLists.txt.
inline constexpr char kVersion[] = "0.2.0";

}  // namespace ruvd
