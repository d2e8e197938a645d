// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <optional>
#include <span>

namespace ruvd::storage {

// Returns the cosine of two vectors, -1 to 1, or nullopt when one is zero or not finite, or when
// their sizes differ: clients may store embeddings of any size. It is for rows that are compared
// one by one; indexes have kernels of their own.
std::optional<float> CosineSimilarity(std::span<const float> a, std::span<const float> b);

}  // namespace ruvd::storage
