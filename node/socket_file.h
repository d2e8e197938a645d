// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>

// The unix socket of a node's client API.
namespace ruvd::node {

// Its name in the data folder, unless api.socket says otherwise.
inline constexpr char kSocketFile[] = "ruvd.sock";
// The longest path that the kernel takes (unix(7)), without the zero byte at its end.
inline constexpr size_t kMaxSocketPath = 107;

}  // namespace ruvd::node
