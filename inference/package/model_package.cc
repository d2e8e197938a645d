// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/package/model_package.h"

#include <fmt/format.h>

#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::inference {
namespace {

std::string PathBeside(const std::string& model_path, std::string_view ending) {
  constexpr std::string_view kExtension = ".gguf";
  std::string_view stem = model_path;
  if (stem.ends_with(kExtension)) {
    stem.remove_suffix(kExtension.size());
  }
  return fmt::format("{}{}", stem, ending);
}

// A file that cannot be accessed counts as there, so that loading it reports why.
bool IsThere(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::symlink_status(path, ignored).type() !=
         std::filesystem::file_type::not_found;
}

std::string HexStart(const Digest& digest) {
  return ToHex(std::span(digest).first(8));
}

absl::Status AddWhitening(const std::string& path, ModelPackage* package) {
  const Model& model = *package->model;
  ASSIGN_OR_RETURN(Whitening whitening, Whitening::Load(path, model.hash()));
  if (whitening.width() != model.config().width) {
    return Error(
        absl::StatusCode::kFailedPrecondition, reasons::kModelMismatch,
        "{} is for embeddings of {} values, but the model's have {}; make it again with 'ruvd "
        "model whiten' or remove it",
        path, whitening.width(), model.config().width);
  }
  package->id = Sha256({model.hash(), whitening.id()});
  package->whitening = std::make_shared<Whitening>(std::move(whitening));
  return absl::OkStatus();
}

absl::Status AddFrame(const std::string& model_path, const std::string& path,
                      ModelPackage* package) {
  const Model& model = *package->model;
  ASSIGN_OR_RETURN(FrameSet frame, LoadFrameSet(path));
  if (frame.model_hash != model.hash()) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFrameMismatch,
                 "{} belongs to model {}, but {} is model {}; make it again with `ruvd model frame "
                 "--model {} --out {} --text TEXT` or remove it",
                 path, HexStart(frame.model_hash), model_path, HexStart(model.hash()), model_path,
                 path);
  }
  if (absl::Status fits = CheckFrameSet(frame, model); !fits.ok()) {
    return Annotate(fits, path);
  }
  package->frame = std::make_shared<FrameSet>(std::move(frame));
  return absl::OkStatus();
}

absl::Status AddMemory(const std::string& path, ModelPackage* package) {
  const Model& model = *package->model;
  ASSIGN_OR_RETURN(MemoryParameters memory, MemoryParameters::Load(path, model.hash()));
  if (memory.width != model.config().width ||
      memory.vocabulary() != static_cast<size_t>(model.config().vocabulary)) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kModelMismatch,
                 "{} is for states of {} values and {} tokens, but the model has {} and {}; make "
                 "it again with `ruvd model memory` or remove it",
                 path, memory.width, memory.vocabulary(), model.config().width,
                 model.config().vocabulary);
  }
  package->memory = std::make_shared<MemoryParameters>(std::move(memory));
  return absl::OkStatus();
}

}  // namespace

std::string WhiteningPath(const std::string& model_path) {
  return PathBeside(model_path, ".whitening.gguf");
}

std::string FramePath(const std::string& model_path) {
  return PathBeside(model_path, ".frame.gguf");
}

std::string MemoryPath(const std::string& model_path) {
  return PathBeside(model_path, ".memory.gguf");
}

absl::StatusOr<ModelPackage> LoadModelPackage(const std::string& model_path) {
  ModelPackage package;
  ASSIGN_OR_RETURN(package.model, Model::Load(model_path));
  package.id = package.model->hash();
  if (const std::string path = WhiteningPath(model_path); IsThere(path)) {
    RETURN_IF_ERROR(AddWhitening(path, &package));
  }
  if (const std::string path = FramePath(model_path); IsThere(path)) {
    RETURN_IF_ERROR(AddFrame(model_path, path, &package));
  }
  if (const std::string path = MemoryPath(model_path); IsThere(path)) {
    RETURN_IF_ERROR(AddMemory(path, &package));
  }
  return package;
}

}  // namespace ruvd::inference
