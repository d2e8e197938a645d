// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/cli/last_response.h"

#include <filesystem>
#include <system_error>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::cli {
namespace {

// Response ids are short; a larger file was not written by ruvd.
constexpr uint64_t kMaxIdBytes = 1024;

absl::StatusOr<std::filesystem::path> LastFile(const CommandContext& context) {
  if (const std::string state = context.Variable("XDG_STATE_HOME"); !state.empty()) {
    return std::filesystem::path(state) / "ruvd" / "last";
  }
  if (const std::string home = context.Variable("HOME"); !home.empty()) {
    return std::filesystem::path(home) / ".local" / "state" / "ruvd" / "last";
  }
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnwritable,
               "neither XDG_STATE_HOME nor HOME is set, so the last response is not known; set one "
               "of them, or give the response id");
}

}  // namespace

absl::Status StoreLastResponse(const CommandContext& context, const std::string& id) {
  ASSIGN_OR_RETURN(const std::filesystem::path path, LastFile(context));
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  return WriteFileAtomically(path, id, 0600);
}

absl::StatusOr<std::string> LoadLastResponse(const CommandContext& context) {
  ASSIGN_OR_RETURN(const std::filesystem::path path, LastFile(context));
  auto id = ReadFile(path, kMaxIdBytes);
  if (!id.ok() || id->empty()) {
    return Error(absl::StatusCode::kNotFound, reasons::kUnknownResponse,
                 "there is no last response to rate; create one with `ruvd run`");
  }
  return id;
}

}  // namespace ruvd::cli
