// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <span>
#include <string>

namespace ruvd::client {

// The beginning of the address of a node's unix socket: "unix:PATH".
inline constexpr char kUnixServer[] = "unix:";

// Returns "unix:PATH" for the first of these data folders in which a node of this user (for root:
// of any user) listens on its unix socket; nullopt if there is no such folder. An empty name is
// passed over.
std::optional<std::string> LocalServer(std::span<const std::string> data_folders);

}  // namespace ruvd::client
