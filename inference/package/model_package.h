// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/model/model.h"
#include "inference/retrieval/whitening.h"

namespace ruvd::inference {

// A model and the files that are shipped beside it. Nodes that work together need equal packages,
// because adapters belong to a model and the centroids of patterns belong to its embeddings.
struct ModelPackage {
  std::shared_ptr<const Model> model;
  std::shared_ptr<const Whitening> whitening;  // null: embeddings are not whitened
  // The model's hash if there are no other files, else the SHA-256 over the hash of each part.
  Digest id{};
};

// Returns "models/name.whitening.gguf" for "models/name.gguf".
std::string WhiteningPath(const std::string& model_path);

// Loads the model and, if there is a file at WhiteningPath, its statistics of embeddings. Errors:
// those of Model::Load and Whitening::Load; MODEL_MISMATCH if the statistics are for embeddings of
// another width.
absl::StatusOr<ModelPackage> LoadModelPackage(const std::string& model_path);

}  // namespace ruvd::inference
