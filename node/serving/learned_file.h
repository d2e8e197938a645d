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

// Adapters that the node learned lie sealed: what users wrote can be read out of weights.
inline constexpr char kLearnedExtension[] = ".sealed";

// FOLDER/NAME-VERSION.sealed
std::string LearnedPath(std::string_view folder, std::string_view name, uint32_t version);

// Seals the bytes of an adapter's file under the name of `path`, whole or not at all.
// FILE_UNWRITABLE, DISK_FULL.
absl::Status WriteLearnedFile(const std::string& path, const privacy::SealKey& key,
                              std::string_view bytes);

// The bytes of a file, opened where its name ends in kLearnedExtension. SEAL_BROKEN where it is
// damaged, renamed or of another store, or no key is given; the errors of reading,
// also for more than limits::kMaxCatalogFileBytes.
absl::StatusOr<std::string> ReadAdapterFile(const std::string& path,
                                            const std::optional<privacy::SealKey>& key);

}  // namespace ruvd::serving
