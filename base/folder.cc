// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "base/folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd {

absl::Status MakeDataFolder(const std::string& path) {
  std::error_code error;
  const auto parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) {
    std::filesystem::create_directories(parent, error);
  }
  if (::mkdir(path.c_str(), 0700) == 0 ||
      (errno == EEXIST && std::filesystem::is_directory(path, error))) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnwritable,
               "cannot make the folder {}: {}; name another with --data-dir", path,
               std::strerror(errno));
}

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

}  // namespace ruvd
