// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/adapter/adapter_bytes.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "base/reasons.h"
#include "base/sanitize_for_display.h"
#include "base/status.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/limits.h"

namespace ruvd::inference {
namespace {

constexpr std::string_view kMagic = "RVAD";
constexpr uint32_t kFormat = 1;

void WriteName(ByteWriter* out, std::string_view name) {
  out->Write(static_cast<uint16_t>(name.size())).WriteText(name);
}

void WriteFloats(ByteWriter* out, std::span<const float> values) {
  out->WriteBytes({reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()});
}

void WriteTargets(ByteWriter* out, const Adapter& adapter) {
  out->Write(static_cast<uint32_t>(adapter.targets.size()));
  for (const auto& [name, change] : adapter.targets) {
    WriteName(out, name);
    out->Write(static_cast<uint32_t>(change.rank));
    out->Write(static_cast<uint32_t>(change.in));
    out->Write(static_cast<uint32_t>(change.out));
    out->Write(change.scale);
    WriteFloats(out, change.a);
    WriteFloats(out, change.b);
  }
}

template <typename... Args>
absl::Status Broken(fmt::format_string<Args...> what, Args&&... args) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kAdapterInvalid,
               "adapter bytes are broken: {}; fetch or train the adapter again",
               fmt::format(what, std::forward<Args>(args)...));
}

absl::StatusOr<std::string> ReadName(ByteReader* in) {
  const auto length = in->Read<uint16_t>();
  if (!length || *length == 0 || *length > limits::kMaxAdapterNameBytes) {
    return Broken("a name has an impossible length");
  }
  const auto bytes = in->ReadBytes(*length);
  if (!bytes) {
    return Broken("they end inside a name");
  }
  return std::string(AsText(*bytes));
}

absl::StatusOr<std::vector<float>> ReadFloats(ByteReader* in, uint64_t count) {
  // checks the length before memory is allocated
  const auto bytes = in->ReadBytes(count * sizeof(float));
  if (!bytes) {
    return Broken("they end inside a matrix");
  }
  std::vector<float> values(count);
  std::memcpy(values.data(), bytes->data(), bytes->size());
  for (const float value : values) {
    if (!std::isfinite(value)) {
      return Broken("a matrix holds a value that is not finite");
    }
  }
  return values;
}

absl::StatusOr<LowRank> ReadLowRank(ByteReader* in) {
  const auto rank = in->Read<uint32_t>();
  const auto columns = in->Read<uint32_t>();
  const auto rows = in->Read<uint32_t>();
  const auto scale = in->Read<float>();
  if (!scale || *rank == 0 || *rank > static_cast<uint32_t>(limits::kMaxAdapterRank) ||
      *columns == 0 || *columns > limits::kMaxAdapterDimension || *rows == 0 ||
      *rows > limits::kMaxAdapterDimension || !std::isfinite(*scale)) {
    return Broken("a target has an impossible rank, shape or scale");
  }
  LowRank change;
  change.rank = static_cast<int>(*rank);
  change.in = static_cast<int>(*columns);
  change.out = static_cast<int>(*rows);
  change.scale = *scale;
  ASSIGN_OR_RETURN(change.a, ReadFloats(in, static_cast<uint64_t>(*rank) * *columns));
  ASSIGN_OR_RETURN(change.b, ReadFloats(in, static_cast<uint64_t>(*rank) * *rows));
  return change;
}

absl::Status ReadTargets(ByteReader* in, Adapter* adapter) {
  const auto count = in->Read<uint32_t>();
  if (!count || *count == 0 || *count > limits::kMaxAdapterTargets) {
    return Broken("impossible number of targets");
  }
  for (uint32_t i = 0; i < *count; ++i) {
    ASSIGN_OR_RETURN(std::string name, ReadName(in));
    if (!adapter->targets.empty() && name <= adapter->targets.rbegin()->first) {
      return Broken("targets are not in ascending order");
    }
    ASSIGN_OR_RETURN(LowRank change, ReadLowRank(in));
    adapter->targets.emplace(std::move(name), std::move(change));
  }
  return absl::OkStatus();
}

absl::Status ReadKind(ByteReader* in, Adapter* adapter) {
  const auto kind = in->Read<uint8_t>();
  const auto frame = in->ReadArray<32>();
  if (!frame) {
    return Broken("they end inside the header");
  }
  if (*kind > static_cast<uint8_t>(AdapterKind::kCore)) {
    return Broken("this format has no kind {}", *kind);
  }
  adapter->kind = static_cast<AdapterKind>(*kind);
  adapter->frame_id = *frame;
  return absl::OkStatus();
}

// Splits "blk.N.part.weight". Returns nullopt for a name of another form, or for a layer that the
// model does not have.
struct BlockTensor {
  int layer = 0;
  std::string_view part;
};

std::optional<BlockTensor> ParseBlockTensor(std::string_view tensor, int layers) {
  constexpr std::string_view kPrefix = "blk.";
  constexpr std::string_view kSuffix = ".weight";
  if (!tensor.starts_with(kPrefix) || !tensor.ends_with(kSuffix) ||
      tensor.size() <= kPrefix.size() + kSuffix.size()) {
    return std::nullopt;
  }
  tensor = tensor.substr(kPrefix.size(), tensor.size() - kPrefix.size() - kSuffix.size());
  BlockTensor result;
  const auto [end, error] =
      std::from_chars(tensor.data(), tensor.data() + tensor.size(), result.layer);
  if (error != std::errc() || result.layer < 0 || result.layer >= layers ||
      end == tensor.data() + tensor.size() || *end != '.') {
    return std::nullopt;
  }
  result.part = tensor.substr(static_cast<size_t>(end + 1 - tensor.data()));
  return result;
}

}  // namespace

std::string EncodeAdapter(const Adapter& adapter) {
  ByteWriter out;
  out.WriteText(kMagic).Write(kFormat);
  out.WriteBytes(adapter.model_hash).Write(adapter.version);
  WriteName(&out, adapter.name);
  out.Write(static_cast<uint8_t>(adapter.kind)).WriteBytes(adapter.frame_id);
  WriteTargets(&out, adapter);
  const Digest checksum = Sha256(out.str());
  return out.WriteBytes(checksum).Take();
}

absl::StatusOr<std::shared_ptr<const Adapter>> DecodeAdapter(std::span<const uint8_t> bytes) {
  if (bytes.size() > limits::kMaxAdapterBytes) {
    return Broken("{} bytes, more than the limit of {}", bytes.size(), limits::kMaxAdapterBytes);
  }
  if (bytes.size() < kMagic.size() + sizeof(Digest)) {
    return Broken("only {} bytes", bytes.size());
  }
  const auto content = bytes.first(bytes.size() - sizeof(Digest));
  const Digest checksum = Sha256(content);
  if (std::memcmp(checksum.data(), bytes.data() + content.size(), checksum.size()) != 0) {
    return Broken("the checksum does not match");
  }
  ByteReader in(content);
  const auto magic = in.ReadBytes(kMagic.size());
  const auto format = in.Read<uint32_t>();
  if (!format || AsText(*magic) != kMagic || *format != kFormat) {
    return Broken("not an adapter of format {}", kFormat);
  }
  auto adapter = std::make_shared<Adapter>();
  const auto model_hash = in.ReadArray<32>();
  const auto version = in.Read<uint32_t>();
  if (!version) {
    return Broken("they end inside the header");
  }
  adapter->model_hash = *model_hash;
  adapter->version = *version;
  ASSIGN_OR_RETURN(adapter->name, ReadName(&in));
  RETURN_IF_ERROR(ReadKind(&in, adapter.get()));
  RETURN_IF_ERROR(ReadTargets(&in, adapter.get()));
  if (in.remaining() != 0) {
    return Broken("{} bytes follow the last target", in.remaining());
  }
  RETURN_IF_ERROR(CheckKind(*adapter));
  return adapter;
}

absl::Status CheckAdapter(const Adapter& adapter, const Model& model) {
  if (adapter.model_hash != model.hash()) {
    return Error(
        absl::StatusCode::kFailedPrecondition, reasons::kAdapterForOtherModel,
        "adapter {} was trained on model {}, but this is model {}; train it again or load its "
        "model",
        AdapterLabel(adapter), ToHex(std::span(adapter.model_hash).first(8)),
        ToHex(std::span(model.hash()).first(8)));
  }
  for (const auto& [name, change] : adapter.targets) {
    const Matrix* matrix = FindMatrix(model, name);
    if (matrix == nullptr || change.in != matrix->columns || change.out != matrix->rows) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kAdapterInvalid,
                   "adapter {} changes {} as {} x {}, which the model does not have; use an "
                   "adapter of this model",
                   AdapterLabel(adapter), SanitizeForDisplay(name), change.out, change.in);
    }
  }
  return absl::OkStatus();
}

const Matrix* FindMatrix(const Model& model, std::string_view tensor) {
  if (tensor == "output.weight") {
    return &model.output();
  }
  const auto parsed = ParseBlockTensor(tensor, model.config().layers);
  if (!parsed) {
    return nullptr;
  }
  const LayerWeights& layer = model.layer(parsed->layer);
  const std::pair<std::string_view, const Matrix*> parts[] = {
      {"attn_q", &layer.q},      {"attn_k", &layer.k},           {"attn_v", &layer.v},
      {"ffn_gate", &layer.gate}, {"attn_output", &layer.output}, {"ffn_up", &layer.up},
      {"ffn_down", &layer.down},
  };
  for (const auto& [part, matrix] : parts) {
    if (part == parsed->part) {
      return matrix;
    }
  }
  return nullptr;
}

std::string LastLayerTensor(const Model& model, std::string_view part) {
  return fmt::format("blk.{}.{}.weight", model.config().layers - 1, part);
}

Digest AdapterId(const Adapter& adapter) {
  ByteWriter out;
  out.WriteText(kMagic).Write(kFormat).WriteBytes(adapter.model_hash);
  WriteTargets(&out, adapter);
  return Sha256(out.str());
}

std::string AdapterLabel(const Adapter& adapter) {
  return fmt::format("{}@{}", SanitizeForDisplay(adapter.name), adapter.version);
}

}  // namespace ruvd::inference
