// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "storage/policies/policy_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "ruvd/storage/v1/policy.pb.h"
#include "storage/db/row_key.h"
#include "storage/limits.h"
#include "storage/row_text.h"

namespace ruvd::storage::policies {
namespace {

constexpr size_t kPrefixBytes = 2;
constexpr uint8_t kFisherVersion = 1;

using Floats = google::protobuf::RepeatedField<float>;

constexpr char kRow[] = "a policy's row";

std::string KeyOf(std::string_view prefix, const PolicyId& id) {
  return RowKey().Text(prefix).Bytes(id).Take();
}

void Write(const std::vector<float>& values, Floats* out) {
  out->Add(values.begin(), values.end());
}

std::vector<float> Read(const Floats& values) {
  return {values.begin(), values.end()};
}

// One overload writes each kind of parameters.
struct ParametersWriter {
  v1::PolicyRow* row;
  void operator()(const QuantizationPolicy& policy) const {
    auto* out = row->mutable_quantization();
    out->set_first_layer(policy.first_layer);
    out->set_last_layer(policy.last_layer);
    out->set_precision(policy.precision);
    out->set_activation_threshold(policy.activation_threshold);
    out->set_memory_budget_bytes(policy.memory_budget_bytes);
    out->set_quality_weight(policy.quality_weight);
  }
  void operator()(const RouterPolicy& policy) const {
    auto* cell = row->mutable_router()->mutable_cell();
    cell->set_input_size(policy.cell.input_size);
    cell->set_hidden_size(policy.cell.hidden_size);
    cell->set_rank(policy.cell.rank);
    Write(policy.cell.w1, cell->mutable_w1());
    Write(policy.cell.w2, cell->mutable_w2());
    Write(policy.cell.u1, cell->mutable_u1());
    Write(policy.cell.u2, cell->mutable_u2());
    Write(policy.cell.gate_bias, cell->mutable_gate_bias());
    Write(policy.cell.update_bias, cell->mutable_update_bias());
    cell->set_zeta(policy.cell.zeta);
    cell->set_nu(policy.cell.nu);
    auto* heads = row->mutable_router()->mutable_heads();
    Write(policy.heads.model, heads->mutable_model());
    Write(policy.heads.context, heads->mutable_context());
    heads->set_temperature(policy.heads.temperature);
    heads->set_top_p(policy.heads.top_p);
    heads->set_confidence(policy.heads.confidence);
    row->mutable_router()->set_ewc_lambda(policy.ewc_lambda);
    row->mutable_router()->set_training_loss(policy.training_loss);
  }
  void operator()(const EwcPolicy& policy) const {
    auto* out = row->mutable_ewc();
    out->set_lambda(policy.lambda);
    out->set_decay(policy.decay);
    out->set_tasks(policy.tasks);
    out->set_anchor(policy.anchor);
  }
  void operator()(const PatternPolicy& policy) const {
    auto* out = row->mutable_pattern();
    for (const auto& id : policy.pattern_ids) {
      out->add_pattern_ids(std::string(AsText(id)));
    }
    out->set_bank(policy.bank);
    out->set_min_similarity(policy.min_similarity);
    out->set_adapter(policy.adapter);
    out->set_mean_quality(policy.mean_quality);
    out->set_examples(policy.examples);
  }
};

RouterPolicy ReadRouter(const v1::RouterPolicy& row) {
  return {.cell = {.input_size = row.cell().input_size(),
                   .hidden_size = row.cell().hidden_size(),
                   .rank = row.cell().rank(),
                   .w1 = Read(row.cell().w1()),
                   .w2 = Read(row.cell().w2()),
                   .u1 = Read(row.cell().u1()),
                   .u2 = Read(row.cell().u2()),
                   .gate_bias = Read(row.cell().gate_bias()),
                   .update_bias = Read(row.cell().update_bias()),
                   .zeta = row.cell().zeta(),
                   .nu = row.cell().nu()},
          .heads = {.model = Read(row.heads().model()),
                    .context = Read(row.heads().context()),
                    .temperature = row.heads().temperature(),
                    .top_p = row.heads().top_p(),
                    .confidence = row.heads().confidence()},
          .ewc_lambda = row.ewc_lambda(),
          .training_loss = row.training_loss()};
}

absl::StatusOr<PatternPolicy> ReadPattern(const v1::PatternPolicy& row) {
  PatternPolicy policy{.bank = row.bank(),
                       .min_similarity = row.min_similarity(),
                       .adapter = row.adapter(),
                       .mean_quality = row.mean_quality(),
                       .examples = row.examples()};
  for (const std::string& bytes : row.pattern_ids()) {
    auto& id = policy.pattern_ids.emplace_back();
    if (bytes.size() != id.size()) {
      return CorruptRow(kRow);
    }
    std::memcpy(id.data(), bytes.data(), id.size());
  }
  return policy;
}

absl::StatusOr<PolicyParameters> ReadParameters(const v1::PolicyRow& row) {
  switch (row.parameters_case()) {
    case v1::PolicyRow::kQuantization:
      return QuantizationPolicy{
          row.quantization().first_layer(),         row.quantization().last_layer(),
          row.quantization().precision(),           row.quantization().activation_threshold(),
          row.quantization().memory_budget_bytes(), row.quantization().quality_weight()};
    case v1::PolicyRow::kRouter:
      return ReadRouter(row.router());
    case v1::PolicyRow::kEwc:
      return EwcPolicy{row.ewc().lambda(), row.ewc().decay(), row.ewc().tasks(),
                       row.ewc().anchor()};
    case v1::PolicyRow::kPattern: {
      ASSIGN_OR_RETURN(PatternPolicy policy, ReadPattern(row.pattern()));
      return policy;
    }
    case v1::PolicyRow::PARAMETERS_NOT_SET:
      break;
  }
  return CorruptRow(kRow);
}

bool Finite(float value) {
  return std::isfinite(value);
}

bool AllFinite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), Finite);
}

bool Share(float value) {
  return value >= 0.0F && value <= 1.0F;
}

// One overload checks each kind of parameters.
struct ParametersCheck {
  bool operator()(const QuantizationPolicy& policy) const {
    constexpr std::array<std::string_view, 4> kPrecisions = {"fp16", "q8", "q4_k", "q4_0"};
    return policy.first_layer <= policy.last_layer && Finite(policy.activation_threshold) &&
           Share(policy.quality_weight) &&
           std::find(kPrecisions.begin(), kPrecisions.end(), policy.precision) != kPrecisions.end();
  }
  bool operator()(const RouterPolicy& policy) const {
    const FastGrnnWeights& cell = policy.cell;
    const uint64_t in = cell.input_size;
    const uint64_t hidden = cell.hidden_size;
    const uint64_t rank = cell.rank;
    if (std::max({in, hidden, rank}) > limits::kMaxRouterSize ||
        policy.heads.model.size() > limits::kMaxRouterSize ||
        policy.heads.context.size() > limits::kMaxRouterSize) {
      return false;
    }
    return cell.w1.size() == hidden * rank && cell.w2.size() == rank * in &&
           cell.u1.size() == hidden * rank && cell.u2.size() == rank * hidden &&
           cell.gate_bias.size() == hidden && cell.update_bias.size() == hidden &&
           AllFinite(policy);
  }
  static bool AllFinite(const RouterPolicy& policy) {
    const FastGrnnWeights& cell = policy.cell;
    const RouterHeadBiases& heads = policy.heads;
    for (const auto* values : {&cell.w1, &cell.w2, &cell.u1, &cell.u2, &cell.gate_bias,
                               &cell.update_bias, &heads.model, &heads.context}) {
      if (!policies::AllFinite(*values)) {
        return false;
      }
    }
    const auto numbers = {cell.zeta,        cell.nu,           heads.temperature,   heads.top_p,
                          heads.confidence, policy.ewc_lambda, policy.training_loss};
    return std::all_of(numbers.begin(), numbers.end(), Finite);
  }
  bool operator()(const EwcPolicy& policy) const {
    return policy.lambda >= 0 && Finite(policy.lambda) && Share(policy.decay) &&
           policy.anchor.size() <= limits::kMaxStoredAdapterNameBytes;
  }
  bool operator()(const PatternPolicy& policy) const {
    return policy.pattern_ids.size() <= limits::kMaxPolicyPatterns &&
           policy.bank < limits::kMaxBanks && policy.min_similarity >= -1 &&
           policy.min_similarity <= 1 && Share(policy.mean_quality) &&
           policy.adapter.size() <= limits::kMaxStoredAdapterNameBytes;
  }
};

}  // namespace

std::string PolicyKey(const PolicyId& id) {
  return KeyOf(kPolicyPrefix, id);
}

std::string FisherKey(const PolicyId& id) {
  return KeyOf(kFisherPrefix, id);
}

std::string AccessKey(const PolicyId& id) {
  return KeyOf(kAccessPrefix, id);
}

std::optional<PolicyId> IdOfKey(std::string_view key) {
  PolicyId id;
  if (key.size() != kPrefixBytes + id.size()) {
    return std::nullopt;
  }
  std::memcpy(id.data(), key.data() + kPrefixBytes, id.size());
  return id;
}

absl::Status CheckPolicy(const Policy& policy) {
  if (policy.fisher_values > limits::kMaxFisherValues) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
                 "a Fisher diagonal has {} values; the limit is {}", policy.fisher_values,
                 limits::kMaxFisherValues);
  }
  const bool known_source =
      policy.source >= PolicySource::kInstant && policy.source <= PolicySource::kFederated;
  if (!Share(policy.confidence) || policy.created_ms < 0 || !known_source ||
      !std::visit(ParametersCheck{}, policy.parameters)) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "a policy of kind {} with confidence {} has a value out of range; see "
                 "docs/store-format.md",
                 policy.parameters.index(), policy.confidence);
  }
  if (policy.embedding.size() > limits::kMaxDimension ||
      policy.embedded_by.size() > limits::kMaxStoredAdapterNameBytes) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kLimitExceeded,
        "a policy has an embedding of {} values by a model with a name of {} bytes; the limits are "
        "{} and {}",
        policy.embedding.size(), policy.embedded_by.size(), limits::kMaxDimension,
        limits::kMaxStoredAdapterNameBytes);
  }
  if (const auto* ewc = std::get_if<EwcPolicy>(&policy.parameters)) {
    return CheckTexts(kRow, {ewc->anchor});
  }
  if (const auto* pattern = std::get_if<PatternPolicy>(&policy.parameters)) {
    return CheckTexts(kRow, {pattern->adapter});
  }
  return absl::OkStatus();
}

std::string EncodePolicy(const Policy& policy) {
  v1::PolicyRow row;
  std::visit(ParametersWriter{&row}, policy.parameters);
  Write(policy.embedding, row.mutable_embedding());
  row.set_embedded_by(policy.embedded_by);
  row.set_confidence(policy.confidence);
  row.set_source(static_cast<uint32_t>(policy.source));
  row.set_created_ms(policy.created_ms);
  row.set_fisher_values(policy.fisher_values);
  return row.SerializeAsString();
}

absl::StatusOr<Policy> DecodePolicy(std::string_view bytes, const PolicyId& id) {
  ASSIGN_OR_RETURN(const auto row, ParseRow<v1::PolicyRow>(bytes, kRow));
  if (row.source() > static_cast<uint32_t>(PolicySource::kFederated)) {
    return CorruptRow(kRow);
  }
  Policy policy{.id = id,
                .embedding = Read(row.embedding()),
                .embedded_by = row.embedded_by(),
                .confidence = row.confidence(),
                .source = static_cast<PolicySource>(row.source()),
                .created_ms = row.created_ms(),
                .fisher_values = row.fisher_values()};
  ASSIGN_OR_RETURN(policy.parameters, ReadParameters(row));
  return CheckPolicy(policy).ok() ? absl::StatusOr<Policy>(std::move(policy)) : CorruptRow(kRow);
}

std::string EncodeFisher(std::span<const float> diagonal) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(diagonal.data());
  return ByteWriter()
      .Write(kFisherVersion)
      .Write(static_cast<uint32_t>(diagonal.size()))
      .WriteBytes({bytes, diagonal.size_bytes()})
      .Take();
}

absl::StatusOr<std::vector<float>> DecodeFisher(std::string_view bytes) {
  ByteReader reader(AsBytes(bytes));
  const auto version = reader.Read<uint8_t>();
  const auto count = reader.Read<uint32_t>();
  if (reader.failed() || *version != kFisherVersion || *count > limits::kMaxFisherValues ||
      reader.remaining() != *count * sizeof(float)) {
    return CorruptRow("a policy's Fisher diagonal");
  }
  std::vector<float> diagonal(*count);
  if (*count > 0) {  // memcpy takes no null pointer, not even for zero bytes
    std::memcpy(diagonal.data(), bytes.data() + reader.offset(), reader.remaining());
  }
  return diagonal;
}

std::string EncodeAccess(int64_t accessed_ms) {
  return ByteWriter().Write(accessed_ms).Take();
}

absl::StatusOr<int64_t> DecodeAccess(std::string_view bytes) {
  ByteReader reader(AsBytes(bytes));
  const auto accessed_ms = reader.Read<int64_t>();
  if (!accessed_ms || reader.remaining() > 0) {
    return CorruptRow("a policy's time");
  }
  return *accessed_ms;
}

}  // namespace ruvd::storage::policies
