// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "inference/adapter/frame_set.h"
#include "inference/memory/memory_parameters.h"
#include "inference/model/model.h"
#include "inference/retrieval/whitening.h"

namespace ruvd::inference {

// A model and the files that are shipped beside it. Nodes that work together need equal packages,
// because adapters belong to a model and the centroids of patterns belong to its embeddings.
struct ModelPackage {
  std::shared_ptr<const Model> model;
  std::shared_ptr<const Whitening> whitening;      // null: embeddings are not whitened
  std::shared_ptr<const FrameSet> frame;           // null: no frame is shipped
  std::shared_ptr<const MemoryParameters> memory;  // null: nothing reads a token memory
  // The model's hash if embeddings are not whitened, else the SHA-256 over the hashes of model and
  // statistics. It names what embeds prompts, so a frame does not change it: patterns stay valid
  // when a frame is added, replaced or removed. Frames and memories have ids of their own.
  Digest id{};
};

// Returns "models/name.whitening.gguf" for "models/name.gguf".
std::string WhiteningPath(const std::string& model_path);

// Returns "models/name.frame.gguf" for "models/name.gguf".
std::string FramePath(const std::string& model_path);

// Returns "models/name.memory.gguf" for "models/name.gguf".
std::string MemoryPath(const std::string& model_path);

// Loads the model and, where there are files at WhiteningPath, FramePath and MemoryPath, its
// statistics of embeddings, its frame and how its token memory is read. Errors: those of
// Model::Load, Whitening::Load, LoadFrameSet and MemoryParameters::Load; MODEL_MISMATCH if the
// statistics or the memory are for another width or vocabulary; FRAME_MISMATCH if the frame belongs
// to another model or has layers that the model does not have. An error of the frame names its file
// and how to make it again.
absl::StatusOr<ModelPackage> LoadModelPackage(const std::string& model_path);

}  // namespace ruvd::inference
