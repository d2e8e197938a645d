// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/seal/seal.h"

namespace ruvd::serving {

// Adapters that the node learned are sealed, because what users wrote can be recovered from
// weights.
inline constexpr char kLearnedExtension[] = ".sealed";

// Returns FOLDER/NAME-VERSION.sealed.
std::string LearnedPath(std::string_view folder, std::string_view name, uint32_t version);

// Seals the bytes of an adapter's file, bound to the file name of `path`, and writes them
// atomically. Returns FILE_UNWRITABLE or DISK_FULL on failure.
absl::Status WriteLearnedFile(const std::string& path, const privacy::SealKey& key,
                              std::string_view bytes);

// Returns the bytes of a file, unsealed if its name ends in kLearnedExtension. Returns SEAL_BROKEN
// if it is damaged, renamed or sealed by another store, or if no key is given, and the errors of
// reading, also for a file of more than limits::kMaxCatalogFileBytes.
absl::StatusOr<std::string> ReadAdapterFile(const std::string& path,
                                            const std::optional<privacy::SealKey>& key);

}  // namespace ruvd::serving
