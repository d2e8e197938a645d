// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/package/model_package.h"

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::inference {

std::string WhiteningPath(const std::string& model_path) {
  constexpr std::string_view kExtension = ".gguf";
  std::string_view stem = model_path;
  if (stem.ends_with(kExtension)) {
    stem.remove_suffix(kExtension.size());
  }
  return std::string(stem) + ".whitening.gguf";
}

absl::StatusOr<ModelPackage> LoadModelPackage(const std::string& model_path) {
  ModelPackage package;
  ASSIGN_OR_RETURN(package.model, Model::Load(model_path));
  package.id = package.model->hash();
  const std::string path = WhiteningPath(model_path);
  std::error_code ignored;  // Load reports a file that cannot be accessed
  if (std::filesystem::symlink_status(path, ignored).type() ==
      std::filesystem::file_type::not_found) {
    return package;
  }
  ASSIGN_OR_RETURN(Whitening whitening, Whitening::Load(path, package.model->hash()));
  if (whitening.width() != package.model->config().width) {
    return Error(
        absl::StatusCode::kFailedPrecondition, reasons::kModelMismatch,
        "{} is for embeddings of {} values, but the model's have {}; make it again with 'ruvd "
        "model whiten' or remove it",
        path, whitening.width(), package.model->config().width);
  }
  package.id = Sha256({package.model->hash(), whitening.id()});
  package.whitening = std::make_shared<Whitening>(std::move(whitening));
  return package;
}

}  // namespace ruvd::inference
