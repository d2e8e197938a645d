// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/run_state.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string_view>

#include "base/reasons.h"
#include "base/status.h"
#include "inference/train/limits.h"

namespace ruvd::inference::train {
namespace {

constexpr std::string_view kMagic = "RVTR";
constexpr uint32_t kFormat = 1;

absl::Status Broken(std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "the checkpoint of a training run {}; start the run again", what);
}

template <typename T>
void WriteValues(ByteWriter* out, const std::vector<T>& values) {
  out->Write<uint64_t>(values.size());
  out->WriteBytes({reinterpret_cast<const uint8_t*>(values.data()), values.size() * sizeof(T)});
}

template <typename T>
absl::Status ReadValues(ByteReader* in, uint64_t limit, std::vector<T>* values) {
  const auto count = in->Read<uint64_t>();
  if (!count || *count > limit || *count > in->remaining() / sizeof(T)) {
    return Broken("is cut off or too large");
  }
  const auto raw = in->ReadBytes(*count * sizeof(T));
  values->resize(*count);
  if (*count > 0) {
    std::memcpy(values->data(), raw->data(), raw->size());
  }
  const bool finite = std::ranges::all_of(*values, [](T value) { return std::isfinite(value); });
  return finite ? absl::OkStatus() : Broken("holds a value that is not finite");
}

absl::Status ReadHeader(ByteReader* in, RunState* state) {
  const auto magic = in->ReadBytes(kMagic.size());
  const auto format = in->Read<uint32_t>();
  if (!magic || AsText(*magic) != kMagic || format != kFormat) {
    return Broken("has another format");
  }
  const auto task = in->ReadArray<32>();
  const auto seed = in->Read<uint64_t>();
  const auto step = in->Read<uint64_t>();
  const auto evaluated = in->Read<uint8_t>();
  const auto steps = in->Read<uint64_t>();
  if (!steps || *evaluated > 1) {
    return Broken("is cut off");
  }
  state->task = *task;
  state->seed = *seed;
  state->step = *step;
  state->evaluated = *evaluated == 1;
  state->optimizer.steps = *steps;
  return absl::OkStatus();
}

absl::Status CheckParts(const RunState& state) {
  const size_t parameters = state.parameters.size();
  const auto fits = [&](size_t size) { return size == 0 || size == parameters; };
  if (!fits(state.optimizer.first.size()) || !fits(state.optimizer.second.size()) ||
      !fits(state.best.size()) || !fits(state.fisher.size())) {
    return Broken("has parts of different sizes");
  }
  return std::ranges::all_of(state.fisher, [](double value) { return value >= 0; })
             ? absl::OkStatus()
             : Broken("holds a negative Fisher information");
}

// Refuses values that no run writes and that would cause errors later: the root of a negative mean
// square is NaN.
absl::Status CheckOptimizer(const RunState& state) {
  const bool squares =
      std::ranges::all_of(state.optimizer.second, [](double square) { return square >= 0; });
  return squares && state.optimizer.steps == state.step
             ? absl::OkStatus()
             : Broken("has an impossible optimiser state");
}

}  // namespace

std::string EncodeRunState(const RunState& state) {
  ByteWriter out;
  out.WriteText(kMagic).Write(kFormat).WriteBytes(state.task);
  out.Write(state.seed).Write(state.step).Write(static_cast<uint8_t>(state.evaluated ? 1 : 0));
  out.Write(state.optimizer.steps);
  WriteValues(&out, state.parameters);
  WriteValues(&out, state.optimizer.first);
  WriteValues(&out, state.optimizer.second);
  WriteValues(&out, state.held_out);
  WriteValues(&out, state.best);
  WriteValues(&out, state.fisher);
  const Digest checksum = Sha256(out.str());
  out.WriteBytes(checksum);
  return out.Take();
}

absl::StatusOr<RunState> DecodeRunState(std::span<const uint8_t> bytes) {
  if (bytes.size() < sizeof(Digest) || bytes.size() > limits::kMaxRunStateBytes) {
    return Broken("is cut off or too large");
  }
  const auto content = bytes.first(bytes.size() - sizeof(Digest));
  const Digest checksum = Sha256(content);
  if (!std::equal(checksum.begin(), checksum.end(), bytes.end() - sizeof(Digest))) {
    return Broken("is damaged");
  }
  ByteReader in(content);
  RunState state;
  RETURN_IF_ERROR(ReadHeader(&in, &state));
  RETURN_IF_ERROR(ReadValues(&in, limits::kMaxTrainedParameters, &state.parameters));
  RETURN_IF_ERROR(ReadValues(&in, limits::kMaxTrainedParameters, &state.optimizer.first));
  RETURN_IF_ERROR(ReadValues(&in, limits::kMaxTrainedParameters, &state.optimizer.second));
  RETURN_IF_ERROR(ReadValues(&in, limits::kMaxHeldOutHistory, &state.held_out));
  RETURN_IF_ERROR(ReadValues(&in, limits::kMaxTrainedParameters, &state.best));
  RETURN_IF_ERROR(ReadValues(&in, limits::kMaxTrainedParameters, &state.fisher));
  if (in.remaining() > 0) {
    return Broken("has extra bytes after its end");
  }
  RETURN_IF_ERROR(CheckParts(state));
  RETURN_IF_ERROR(CheckOptimizer(state));
  return state;
}

}  // namespace ruvd::inference::train
