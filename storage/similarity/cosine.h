// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <span>

namespace ruvd::storage {

// Cosine of two vectors of one size, -1 to 1; nullopt where one is zero or not finite. For rows
// that are compared one by one; indexes have kernels of their own.
std::optional<float> CosineSimilarity(std::span<const float> a, std::span<const float> b);

}  // namespace ruvd::storage
