// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/adapter_file.h"

#include <filesystem>
#include <utility>

#include "base/file.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/adapter/adapter_tensors.h"
#include "inference/gguf/reader.h"
#include "inference/gguf/writer.h"
#include "inference/limits.h"

namespace ruvd::inference {
namespace {

constexpr char kType[] = "lora";

absl::StatusOr<std::shared_ptr<const Adapter>> FromGguf(const GgufReader& gguf, const Model& model,
                                                        const std::string& name) {
  RETURN_IF_ERROR(adapter_file::CheckHeader(gguf, kType, model));
  auto adapter = std::make_shared<Adapter>();
  RETURN_IF_ERROR(adapter_file::ReadIdentity(gguf, model, name, adapter.get()));
  if (gguf.tensors().size() > 2 * limits::kMaxAdapterTargets) {
    return adapter_file::BrokenFile(
        fmt::format("there are more than {} targets", limits::kMaxAdapterTargets));
  }
  RETURN_IF_ERROR(adapter_file::ReadTargets(gguf, "", model, adapter.get()));
  RETURN_IF_ERROR(CheckKind(*adapter));
  RETURN_IF_ERROR(CheckAdapter(*adapter, model));
  return adapter;
}

GgufWriter WriterOf(const Adapter& adapter, const Model& model,
                    TensorType factors = TensorType::kF32) {
  GgufWriter out;
  adapter_file::WriteIdentity(adapter, kType, model, &out);
  const float alpha = adapter_file::AlphaOf(adapter);
  out.SetFloat32(adapter_file::kAlphaKey, alpha);
  adapter_file::WriteTargets(adapter, "", alpha, factors, &out);
  return out;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Adapter>> LoadAdapterFile(const std::string& path,
                                                               const Model& model) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, limits::kMaxAdapterFileBytes));
  auto adapter =
      ParseAdapterFile(AsBytes(bytes), model, std::filesystem::path(path).stem().string());
  return adapter.ok() ? adapter : Annotate(adapter.status(), path);
}

absl::StatusOr<std::shared_ptr<const Adapter>> ParseAdapterFile(std::span<const uint8_t> bytes,
                                                                const Model& model,
                                                                const std::string& name) {
  const auto gguf = GgufReader::Parse(bytes);
  if (!gguf.ok()) {
    return adapter_file::BrokenFile(MessageOf(gguf.status()));
  }
  return FromGguf(**gguf, model, name);
}

absl::StatusOr<std::string> SerializeAdapterFile(const Adapter& adapter, const Model& model,
                                                 const std::optional<LessonWords>& words,
                                                 TensorType factors) {
  RETURN_IF_ERROR(CheckAdapter(adapter, model));
  GgufWriter out = WriterOf(adapter, model, factors);
  if (words) {
    WriteWords(*words, &out);
  }
  return out.Serialize();
}

absl::Status SaveAdapterFile(const Adapter& adapter, const Model& model, const std::string& path) {
  RETURN_IF_ERROR(CheckAdapter(adapter, model));
  return WriterOf(adapter, model).WriteTo(path);
}

}  // namespace ruvd::inference
