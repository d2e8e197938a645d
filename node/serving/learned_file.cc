// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/serving/learned_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/limits.h"
#include "privacy/reasons.h"
#include "storage/db/column_family.h"

namespace ruvd::serving {
namespace {

// The seal is bound to the file's name, which contains the version.
privacy::SealContext ContextOf(std::string_view key) {
  return {.column_family = static_cast<uint32_t>(storage::ColumnFamily::kChange),
          .key = key,
          .schema = 1};
}

std::string RowOf(const std::string& path) {
  return "learned-adapter/" + std::filesystem::path(path).filename().string();
}

}  // namespace

std::string LearnedPath(std::string_view folder, std::string_view name, uint32_t version) {
  return fmt::format("{}/{}-{}{}", folder, name, version, kLearnedExtension);
}

absl::Status WriteLearnedFile(const std::string& path, const privacy::SealKey& key,
                              std::string_view bytes) {
  const std::string row = RowOf(path);
  return WriteFileAtomically(path, key.Seal(ContextOf(row), bytes), 0600);
}

absl::StatusOr<std::string> ReadAdapterFile(const std::string& path,
                                            const std::optional<privacy::SealKey>& key) {
  ASSIGN_OR_RETURN(std::string bytes,
                   ReadFile(path, limits::kMaxCatalogFileBytes + privacy::kSealOverheadBytes));
  if (std::filesystem::path(path).extension() != kLearnedExtension) {
    return bytes;
  }
  if (!key) {
    return Error(absl::StatusCode::kDataLoss, reasons::kSealBroken,
                 "{} is sealed, and this node has no key for what it learned", path);
  }
  const std::string row = RowOf(path);
  return key->Open(ContextOf(row), bytes);
}

}  // namespace ruvd::serving
