// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>

#include "absl/status/status.h"

namespace ruvd {

// Creates the folder with mode 0700, and its missing parents. An existing folder is not changed.
// Fails with FILE_UNWRITABLE.
absl::Status MakeDataFolder(const std::string& path);

// Returns `path` as an absolute path, which means the same folder even if the working directory
// changes later. Configuration files must name folders so.
std::string AbsolutePath(const std::string& path);

}  // namespace ruvd
