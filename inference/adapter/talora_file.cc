// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/talora_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_file.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/adapter/adapter_tensors.h"
#include "inference/adapter/limits.h"
#include "inference/gguf/reader.h"
#include "inference/gguf/writer.h"
#include "inference/limits.h"

namespace ruvd::inference {
namespace {

constexpr char kType[] = "talora";
constexpr char kBoundariesKey[] = "ruvd.talora.boundaries";
constexpr char kStrategyKey[] = "ruvd.talora.strategy";
constexpr char kTemperatureKey[] = "ruvd.talora.temperature";
constexpr char kRateKey[] = "ruvd.talora.residual_rate";
constexpr char kDecayKey[] = "ruvd.talora.residual_decay";
constexpr std::string_view kTrunk = "trunk.";
constexpr std::string_view kRouter = "router.";

template <typename... Args>
absl::Status Broken(fmt::format_string<Args...> what, Args&&... args) {
  return adapter_file::BrokenFile(fmt::format(what, std::forward<Args>(args)...));
}

std::string BankPrefix(size_t bank) {
  return fmt::format("bank.{}.", bank);
}

absl::StatusOr<float> ReadNumber(const GgufReader& gguf, const char* key, float absent) {
  if (!gguf.Has(key)) {
    return absent;
  }
  const auto value = gguf.GetFloat(key);
  if (!value.ok() || !(*value >= 0 && *value <= 1)) {
    return Broken("{} is not a number between 0 and 1", key);
  }
  return static_cast<float>(*value);
}

absl::Status ReadSchedule(const GgufReader& gguf, Talora* talora) {
  const auto count = gguf.GetArrayLength(kBoundariesKey);
  if (!count.ok() || *count >= limits::kMaxTimestepBanks) {
    return Broken("{} is not an array of fewer than {} boundaries", kBoundariesKey,
                  limits::kMaxTimestepBanks);
  }
  const auto boundaries = gguf.GetFloatArray(kBoundariesKey);
  const auto strategy = BankStrategyByName(gguf.GetString(kStrategyKey).value_or(""));
  if (!boundaries.ok() || !strategy) {
    return Broken("{} or {} cannot be read", kBoundariesKey, kStrategyKey);
  }
  talora->schedule.boundaries = *boundaries;
  talora->schedule.strategy = *strategy;
  ASSIGN_OR_RETURN(talora->schedule.temperature,
                   ReadNumber(gguf, kTemperatureKey, talora->schedule.temperature));
  ASSIGN_OR_RETURN(talora->training.residual_rate,
                   ReadNumber(gguf, kRateKey, talora->training.residual_rate));
  ASSIGN_OR_RETURN(talora->training.residual_decay,
                   ReadNumber(gguf, kDecayKey, talora->training.residual_decay));
  return CheckSchedule(talora->schedule);
}

// Reads a float32 tensor of exactly this shape into `out`.
absl::Status ReadValues(const GgufReader& gguf, const std::string& name, uint64_t row,
                        uint64_t rows, std::span<double> out) {
  const TensorInfo* tensor = gguf.Find(name);
  if (tensor == nullptr || tensor->type != TensorType::kF32 || tensor->dimensions > 2 ||
      tensor->shape[0] != row || tensor->shape[1] != rows) {
    return Broken("tensor {} is missing or not {} x {} in float32", name, rows, row);
  }
  const std::span<const uint8_t> data = gguf.Data(*tensor);
  for (size_t i = 0; i < out.size(); ++i) {
    float value = 0;
    std::memcpy(&value, data.data() + i * sizeof value, sizeof value);
    if (!std::isfinite(value)) {
      return Broken("tensor {} holds a value that is not finite", name);
    }
    out[i] = static_cast<double>(value);
  }
  return absl::OkStatus();
}

absl::Status ReadRouter(const GgufReader& gguf, Talora* talora) {
  const TensorInfo* input = gguf.Find("router.input");
  if (input == nullptr) {
    return absl::OkStatus();  // CheckTalora checks whether one is needed
  }
  const uint64_t columns = input->shape[0];
  const uint64_t hidden = input->shape[1];
  if (columns < BankRouter::kTimeFeatures || columns > limits::kMaxAdapterDimension ||
      hidden == 0 || hidden > limits::kMaxRouterHidden ||
      gguf.Data(*input).size() != columns * hidden * sizeof(float)) {
    return Broken("the router's input has an impossible shape");
  }
  BankRouter router(talora->schedule.banks(), columns - BankRouter::kTimeFeatures, hidden);
  const std::span<double> all = router.parameters();
  RETURN_IF_ERROR(ReadValues(gguf, "router.input", columns, hidden, all.first(columns * hidden)));
  RETURN_IF_ERROR(
      ReadValues(gguf, "router.bias", hidden, 1, all.subspan(columns * hidden, hidden)));
  RETURN_IF_ERROR(ReadValues(gguf, "router.keys", hidden, talora->schedule.banks(),
                             all.subspan(columns * hidden + hidden)));
  talora->router = std::move(router);
  return absl::OkStatus();
}

// Checks that every tensor belongs to a part.
absl::Status CheckTensors(const GgufReader& gguf, const BankSchedule& schedule) {
  const size_t most = 2 * limits::kMaxAdapterTargets * (schedule.banks() + 1) + 3;
  if (gguf.tensors().size() > most) {
    return Broken("it has more than {} tensors", most);
  }
  for (const TensorInfo& tensor : gguf.tensors()) {
    bool known = tensor.name.starts_with(kTrunk) || tensor.name.starts_with(kRouter);
    for (size_t k = 0; k < schedule.banks() && !known; ++k) {
      known = tensor.name.starts_with(BankPrefix(k));
    }
    if (!known) {
      return Broken("tensor {} does not belong to the trunk, a bank or the router",
                    SanitizeForDisplay(tensor.name));
    }
  }
  return absl::OkStatus();
}

bool HasPart(const GgufReader& gguf, std::string_view prefix) {
  return std::any_of(
      gguf.tensors().begin(), gguf.tensors().end(),
      [prefix](const TensorInfo& tensor) { return tensor.name.starts_with(prefix); });
}

absl::StatusOr<std::optional<LessonWords>> ReadWordsFor(const GgufReader& gguf,
                                                        const Model& model) {
  return ReadWords(gguf, static_cast<size_t>(model.config().vocabulary));
}

// Reads one part; all parts have the same identity.
absl::StatusOr<std::shared_ptr<const Adapter>> ReadPart(const GgufReader& gguf,
                                                        std::string_view prefix,
                                                        const Adapter& identity,
                                                        const Model& model) {
  auto part = std::make_shared<Adapter>(identity);
  RETURN_IF_ERROR(adapter_file::ReadTargets(gguf, prefix, model, part.get()));
  RETURN_IF_ERROR(CheckKind(*part));
  return part;
}

absl::StatusOr<std::shared_ptr<const Talora>> FromGguf(const GgufReader& gguf, const Model& model,
                                                       const std::string& name) {
  RETURN_IF_ERROR(adapter_file::CheckHeader(gguf, kType, model));
  auto talora = std::make_shared<Talora>();
  Adapter identity;
  RETURN_IF_ERROR(adapter_file::ReadIdentity(gguf, model, name, &identity));
  talora->name = identity.name;
  talora->version = identity.version;
  talora->model_hash = identity.model_hash;
  RETURN_IF_ERROR(ReadSchedule(gguf, talora.get()));
  RETURN_IF_ERROR(CheckTensors(gguf, talora->schedule));
  if (HasPart(gguf, kTrunk)) {
    ASSIGN_OR_RETURN(talora->trunk, ReadPart(gguf, kTrunk, identity, model));
  }
  for (size_t k = 0; k < talora->schedule.banks() && HasPart(gguf, "bank."); ++k) {
    ASSIGN_OR_RETURN(auto residual, ReadPart(gguf, BankPrefix(k), identity, model));
    talora->residuals.push_back(std::move(residual));
  }
  RETURN_IF_ERROR(ReadRouter(gguf, talora.get()));
  ASSIGN_OR_RETURN(talora->words, ReadWordsFor(gguf, model));
  RETURN_IF_ERROR(CheckTalora(*talora));
  RETURN_IF_ERROR(CheckTalora(*talora, model));
  return talora;
}

void AddValues(GgufWriter* out, const std::string& name, uint64_t row, uint64_t rows,
               std::span<const double> values) {
  const std::array<uint64_t, 2> shape = {row, rows};
  const std::vector<float> single(values.begin(), values.end());
  out->AddTensor(
      name, TensorType::kF32, shape,
      std::string(reinterpret_cast<const char*>(single.data()), single.size() * sizeof(float)));
}

void WriteRouter(const BankRouter& router, GgufWriter* out) {
  AddValues(out, "router.input", BankRouter::kTimeFeatures + router.embedding(), router.hidden(),
            router.input());
  AddValues(out, "router.bias", router.hidden(), 1, router.bias());
  AddValues(out, "router.keys", router.hidden(), router.banks(), router.keys());
}

GgufWriter WriterOf(const Talora& talora, const Model& model, TensorType factors) {
  const Adapter& first = talora.trunk != nullptr ? *talora.trunk : *talora.residuals[0];
  const Adapter identity{.name = talora.name,
                         .version = talora.version,
                         .kind = first.kind,
                         .frame_id = first.frame_id,
                         .model_hash = talora.model_hash,
                         .targets = {}};
  GgufWriter out;
  adapter_file::WriteIdentity(identity, kType, model, &out);
  const float alpha = adapter_file::AlphaOf(first);
  out.SetFloat32(adapter_file::kAlphaKey, alpha);
  out.SetFloatArray(kBoundariesKey, talora.schedule.boundaries);
  out.SetString(kStrategyKey, BankStrategyName(talora.schedule.strategy));
  out.SetFloat32(kTemperatureKey, talora.schedule.temperature);
  out.SetFloat32(kRateKey, talora.training.residual_rate);
  out.SetFloat32(kDecayKey, talora.training.residual_decay);
  if (talora.trunk != nullptr) {
    adapter_file::WriteTargets(*talora.trunk, kTrunk, alpha, factors, &out);
  }
  for (size_t k = 0; k < talora.residuals.size(); ++k) {
    adapter_file::WriteTargets(*talora.residuals[k], BankPrefix(k), alpha, factors, &out);
  }
  if (talora.router) {
    WriteRouter(*talora.router, &out);
  }
  return out;
}

// Returns the adapter of a static TALoRA under the TALoRA's name and version.
Adapter PlainOf(const Talora& talora) {
  Adapter plain = *talora.trunk;
  plain.name = talora.name;
  plain.version = talora.version;
  return plain;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Talora>> LoadTaloraFile(const std::string& path,
                                                             const Model& model) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, limits::kMaxAdapterFileBytes));
  auto talora = ParseTaloraFile(AsBytes(bytes), model, std::filesystem::path(path).stem().string());
  return talora.ok() ? talora : Annotate(talora.status(), path);
}

absl::StatusOr<std::shared_ptr<const Talora>> ParseTaloraFile(std::span<const uint8_t> bytes,
                                                              const Model& model,
                                                              const std::string& name) {
  const auto gguf = GgufReader::Parse(bytes);
  if (!gguf.ok()) {
    return Broken("{}", MessageOf(gguf.status()));
  }
  if ((*gguf)->GetString("adapter.type").value_or("") == kType) {
    return FromGguf(**gguf, model, name);
  }
  ASSIGN_OR_RETURN(auto plain, ParseAdapterFile(bytes, model, name));
  auto talora = std::make_shared<Talora>(*StaticTalora(std::move(plain)));
  ASSIGN_OR_RETURN(talora->words, ReadWordsFor(**gguf, model));
  return talora;
}

absl::StatusOr<std::string> SerializeTaloraFile(const Talora& talora, const Model& model,
                                                TensorType factors) {
  RETURN_IF_ERROR(CheckTalora(talora));
  RETURN_IF_ERROR(CheckTalora(talora, model));
  if (talora.residuals.empty()) {
    return SerializeAdapterFile(PlainOf(talora), model, talora.words, factors);
  }
  GgufWriter out = WriterOf(talora, model, factors);
  if (talora.words) {
    WriteWords(*talora.words, &out);
  }
  return out.Serialize();
}

absl::Status SaveTaloraFile(const Talora& talora, const Model& model, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, SerializeTaloraFile(talora, model));
  return WriteFileAtomically(path, bytes);
}

}  // namespace ruvd::inference
