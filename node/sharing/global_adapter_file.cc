// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/global_adapter_file.h"

#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "node/limits.h"
#include "storage/db/column_family.h"

namespace ruvd::sharing {
namespace {

constexpr std::string_view kGlobalMagic = "RVGA";
constexpr uint32_t kGlobalFormat = 2;

privacy::SealContext GlobalContext() {
  return {.column_family = static_cast<uint32_t>(storage::ColumnFamily::kChange),
          .key = "global-adapter",
          .schema = kGlobalFormat};
}

absl::Status NoGlobalAdapter() {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "the saved global adapter is damaged; a new one is begun");
}

template <typename T>
void WriteAll(std::span<const T> values, ByteWriter* out) {
  out->WriteBytes({reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()});
}

template <typename T>
std::optional<std::vector<T>> ReadAll(ByteReader& in, uint64_t count) {
  const auto raw = in.ReadBytes(count * sizeof(T));
  if (!raw) {
    return std::nullopt;
  }
  std::vector<T> values(count);
  if (count > 0) {
    std::memcpy(values.data(), raw->data(), raw->size());
  }
  return values;
}

// Reads one bank; false if the data ends too early.
bool ReadBank(ByteReader& in, uint32_t count, federation::GlobalAdapterState* state) {
  auto values = ReadAll<float>(in, count);
  federation::OuterOptimizer::State optimizer;
  optimizer.steps = in.Read<uint64_t>().value_or(0);
  optimizer.noise = in.Read<double>().value_or(0);
  auto first = ReadAll<double>(in, in.Read<uint32_t>().value_or(0));
  auto second = ReadAll<double>(in, in.Read<uint32_t>().value_or(0));
  if (in.failed() || !values || !first || !second) {
    return false;
  }
  optimizer.first = *std::move(first);
  optimizer.second = *std::move(second);
  state->values.push_back(*std::move(values));
  state->optimizers.push_back(std::move(optimizer));
  return true;
}

// Reads the contributors; false if there are too many or they are not ascending.
bool ReadContributors(ByteReader& in, std::set<privacy::NodeId>* contributors) {
  const uint32_t count = in.Read<uint32_t>().value_or(0);
  if (count > limits::kMaxRememberedContributors) {
    return false;
  }
  for (uint32_t i = 0; i < count; ++i) {
    const auto id = in.ReadArray<32>();
    if (!id || (!contributors->empty() && *id <= *contributors->rbegin())) {
      return false;
    }
    contributors->insert(*id);
  }
  return true;
}

}  // namespace

std::string EncodeGlobalAdapter(const SavedGlobalAdapter& saved) {
  ByteWriter out;
  out.WriteText(kGlobalMagic).Write(kGlobalFormat);
  out.WriteBytes(saved.model_hash).WriteBytes(saved.frame_id);
  out.Write(static_cast<uint8_t>(saved.boundaries.size()));
  WriteAll<float>(saved.boundaries, &out);
  out.Write(saved.state.round).Write(saved.served);
  out.Write(static_cast<uint32_t>(saved.contributors.size()));
  for (const privacy::NodeId& id : saved.contributors) {
    out.WriteBytes(id);
  }
  out.Write(static_cast<uint32_t>(saved.state.values.front().size()));
  for (size_t bank = 0; bank < saved.state.values.size(); ++bank) {
    const federation::OuterOptimizer::State& optimizer = saved.state.optimizers[bank];
    WriteAll<float>(saved.state.values[bank], &out);
    out.Write(optimizer.steps).Write(optimizer.noise);
    out.Write(static_cast<uint32_t>(optimizer.first.size()));
    WriteAll<double>(optimizer.first, &out);
    out.Write(static_cast<uint32_t>(optimizer.second.size()));
    WriteAll<double>(optimizer.second, &out);
  }
  return out.Take();
}

absl::StatusOr<SavedGlobalAdapter> DecodeGlobalAdapter(std::span<const uint8_t> bytes) {
  ByteReader in(bytes);
  const auto magic = in.ReadBytes(kGlobalMagic.size());
  if (!magic || AsText(*magic) != kGlobalMagic || in.Read<uint32_t>() != kGlobalFormat) {
    return NoGlobalAdapter();
  }
  SavedGlobalAdapter saved;
  saved.model_hash = in.ReadArray<32>().value_or(Digest{});
  saved.frame_id = in.ReadArray<32>().value_or(Digest{});
  auto boundaries = ReadAll<float>(in, in.Read<uint8_t>().value_or(0));
  saved.state.round = in.Read<uint64_t>().value_or(0);
  saved.served = in.Read<uint32_t>().value_or(0);
  const bool known = ReadContributors(in, &saved.contributors);
  const auto count = in.Read<uint32_t>();
  if (!known || in.failed() || boundaries->size() >= limits::kMaxUpdateBanks) {
    return NoGlobalAdapter();
  }
  saved.boundaries = *std::move(boundaries);
  for (size_t bank = 0; bank <= saved.boundaries.size(); ++bank) {
    if (!ReadBank(in, *count, &saved.state)) {
      return NoGlobalAdapter();
    }
  }
  return in.remaining() == 0 ? absl::StatusOr<SavedGlobalAdapter>(std::move(saved))
                             : NoGlobalAdapter();
}

absl::Status WriteGlobalAdapter(const std::string& path, const privacy::SealKey& key,
                                const SavedGlobalAdapter& saved) {
  const std::string bytes = EncodeGlobalAdapter(saved);
  if (bytes.size() > limits::kMaxGlobalAdapterBytes) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "the global adapter has {} bytes, but at most {} can be saved; lower "
                 "federation.core_rank or experimental.banks",
                 bytes.size(), limits::kMaxGlobalAdapterBytes);
  }
  return WriteFileAtomically(path, key.Seal(GlobalContext(), bytes), 0600);
}

absl::StatusOr<std::optional<SavedGlobalAdapter>> ReadGlobalAdapter(const std::string& path,
                                                                    const privacy::SealKey& key) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(const std::string sealed,
                   ReadFile(path, limits::kMaxGlobalAdapterBytes + privacy::kSealOverheadBytes));
  ASSIGN_OR_RETURN(const std::string bytes, key.Open(GlobalContext(), sealed));
  ASSIGN_OR_RETURN(SavedGlobalAdapter saved, DecodeGlobalAdapter(AsBytes(bytes)));
  return saved;
}

}  // namespace ruvd::sharing
