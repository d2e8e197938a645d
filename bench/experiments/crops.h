// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "inference/evaluate/paired.h"
#include "inference/model/model.h"
#include "inference/train/losses.h"

namespace ruvd::bench {

// How texts are cut: pieces of `tokens`, of which the last `window` are masked and scored, the
// others given.
struct CropShape {
  int tokens = 128;
  int window = 128;
};

// Pieces of the documents of a file that do not overlap.
struct Crops {
  std::vector<inference::ScoredDocument> pieces;  // each a prompt and a completion
  std::vector<size_t> documents;                  // by piece: its document's number in the file
  // Returns the same pieces as training examples.
  std::vector<inference::TrainingExample> Examples() const;
};

// Reads at most `most` pieces, at even distances over the file. Documents shorter than a piece are
// left out. Errors: those of reading; INVALID_ARGUMENT where no document is long enough.
absl::StatusOr<Crops> ReadCrops(const std::string& path, const inference::Tokenizer& tokenizer,
                                const CropShape& shape, size_t most);

}  // namespace ruvd::bench
