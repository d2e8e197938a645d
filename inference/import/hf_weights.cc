// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/import/hf_weights.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/import/json.h"
#include "inference/import/limits.h"

namespace ruvd::inference {
namespace {

using nlohmann::json;

constexpr size_t kShownNameBytes = 128;
constexpr char kSingle[] = "model.safetensors";
constexpr char kIndex[] = "model.safetensors.index.json";

template <typename... Args>
absl::Status Corrupt(fmt::format_string<Args...> format, Args&&... args) {
  const std::string fault = fmt::format(format, std::forward<Args>(args)...);
  return Error(absl::StatusCode::kDataLoss, reasons::kModelCorrupt,
               "model.safetensors.index.json: {}; obtain the folder again", fault);
}

// Returns whether this is a plain file name: an index must not refer to files outside its folder.
bool IsPlainName(std::string_view name) {
  return name.ends_with(".safetensors") && name.size() <= limits::kMaxImportFileName &&
         name.find_first_of("/\\") == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

absl::Status OpenFile(const std::filesystem::path& folder, const std::string& name,
                      HfWeights* weights) {
  ASSIGN_OR_RETURN(auto file, MappedFile::Open((folder / name).string()));
  auto tensors = ParseSafetensors(file->bytes());
  if (!tensors.ok()) {
    return Annotate(tensors.status(), name);
  }
  weights->files.push_back(std::move(file));
  for (auto& [tensor, where] : *tensors) {
    if (!weights->tensors.emplace(tensor, std::move(where)).second) {
      return Corrupt("tensor {} is in {} and in another file",
                     SanitizeForDisplay(tensor, kShownNameBytes), name);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> ParseSafetensorsIndex(std::string_view text) {
  ASSIGN_OR_RETURN(const json root, ParseJsonObject(text, kIndex));
  const json* map = JsonMember(root, "weight_map");
  if (map == nullptr || !map->is_object() || map->empty()) {
    return Corrupt("weight_map is missing");
  }
  std::map<std::string, std::string> files;
  for (const auto& [tensor, file] : map->items()) {
    if (!file.is_string() || !IsPlainName(file.get_ref<const std::string&>())) {
      return Corrupt("tensor {} has no usable file name",
                     SanitizeForDisplay(tensor, kShownNameBytes));
    }
    files[tensor] = file.get<std::string>();
  }
  return files;
}

absl::StatusOr<HfWeights> OpenHfWeights(const std::string& folder) {
  const std::filesystem::path base(folder);
  HfWeights weights;
  std::error_code ignored;  // a problem is reported when the file is opened
  if (!std::filesystem::exists(base / kIndex, ignored) ||
      std::filesystem::exists(base / kSingle, ignored)) {
    RETURN_IF_ERROR(OpenFile(base, kSingle, &weights));
    return weights;
  }
  ASSIGN_OR_RETURN(const std::string text,
                   ReadFile((base / kIndex).string(), limits::kMaxImportIndexBytes));
  ASSIGN_OR_RETURN(const auto files, ParseSafetensorsIndex(text));
  std::set<std::string> names;
  for (const auto& [tensor, file] : files) {
    names.insert(file);
  }
  if (names.size() > limits::kMaxImportFiles) {
    return Corrupt("it names {} files, more than the limit of {}", names.size(),
                   limits::kMaxImportFiles);
  }
  for (const std::string& name : names) {
    RETURN_IF_ERROR(OpenFile(base, name, &weights));
  }
  for (const auto& [tensor, file] : files) {
    if (!weights.tensors.contains(tensor)) {
      return Corrupt("tensor {} is not in {}", SanitizeForDisplay(tensor, kShownNameBytes), file);
    }
  }
  return weights;
}

}  // namespace ruvd::inference
