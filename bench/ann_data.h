// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ruvd::bench {

// Rows of floats that all have the same length. They are stored one after the other.
struct Matrix {
  size_t rows = 0;
  size_t dimension = 0;
  std::vector<float> values;

  std::span<const float> row(size_t i) const {
    return std::span(values).subspan(i * dimension, dimension);
  }
};

// An fbin file: u32 rows, u32 dimension, float rows. At most 2^26 rows of 2^14 values and 64 GiB;
// the length of the file has to agree with its header before anything is allocated.
absl::StatusOr<Matrix> ReadFbin(const std::string& path);
absl::Status WriteFbin(const std::string& path, const Matrix& matrix);

struct DataSet {
  Matrix base;
  Matrix queries;
};

// A mixture of 1,000 Gaussians with unit rows. The noise lies mostly in 48 directions that all
// Gaussians share, as it does in embeddings. Queries come from the same mixture.
DataSet MakeClustered(size_t n, size_t dimension, size_t queries, uint64_t seed);

// Directions are uniform over the sphere: noise without structure, which is the hardest case.
DataSet MakeIso(size_t n, size_t dimension, size_t queries, uint64_t seed);

// Embeddings of real text: reads the .jsonl.zst files of a folder (JSON lines with a field "text"),
// cuts them into chunks of 60 words, and embeds each chunk by tf-idf and a signed random projection
// of every word; normalised. Queries are chunks spread over the text that are not in the base.
absl::StatusOr<DataSet> MakeText(const std::string& folder, size_t n, size_t dimension,
                                 size_t queries, uint64_t seed);

// Scales a row to norm 1; rows of zeros stay.
void Normalise(std::span<float> row);

}  // namespace ruvd::bench
