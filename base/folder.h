// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "absl/status/status.h"

namespace ruvd {

// Makes the folder with mode 0700; one that exists stays as it is.
absl::Status MakeDataFolder(const std::string& path);

// The same folder whatever the working directory is later, as a configuration must name it.
std::string AbsolutePath(const std::string& path);

}  // namespace ruvd
