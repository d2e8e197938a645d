// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "inference/adapter/adapter_bytes.h"
#include "inference/adapter/adapter_file.h"
#include "inference/gguf/writer.h"
#include "tests/inference/text_model.h"

namespace {

constexpr uint64_t kRank = 4;

// Returns a LoRA file that fits the model: blk.0.attn_q and blk.1.ffn_down.
std::string IntactFile(const ruvd::inference::Model& model) {
  ruvd::inference::GgufWriter writer;
  writer.SetString("general.type", "adapter");
  writer.SetString("general.architecture", "dream");
  writer.SetString("general.name", "fuzz");
  writer.SetString("adapter.type", "lora");
  writer.SetFloat32("adapter.lora.alpha", 8.0F);
  writer.SetUnsigned32("ruvd.adapter.version", 3);
  const auto add = [&](const std::string& name, const ruvd::inference::Matrix& matrix) {
    const auto in = static_cast<uint64_t>(matrix.columns);
    const auto out = static_cast<uint64_t>(matrix.rows);
    writer.AddTensor(name + ".lora_a", ruvd::inference::TensorType::kF32,
                     std::vector<uint64_t>{in, kRank}, std::string(in * kRank * 4, '\x3D'));
    writer.AddTensor(name + ".lora_b", ruvd::inference::TensorType::kF16,
                     std::vector<uint64_t>{kRank, out}, std::string(kRank * out * 2, '\x2D'));
  };
  add("blk.0.attn_q.weight", model.layer(0).q);
  add("blk.1.ffn_down.weight", model.layer(1).down);
  return writer.Serialize().value();
}

// Returns the intact file with the bytes changed that the input names, and perhaps cut: every three
// bytes are an offset and a value.
std::string Damaged(std::string file, const uint8_t* data, size_t size) {
  for (size_t i = 0; i + 3 <= size; i += 3) {
    const size_t at = data[i] | (static_cast<size_t>(data[i + 1]) << 8);
    if (at >= file.size()) {
      file.resize(file.size() - at % (file.size() + 1));
    } else {
      file[at] = static_cast<char>(data[i + 2]);
    }
    if (file.empty()) {
      break;
    }
  }
  return file;
}

}  // namespace

// A LoRA file (llama.cpp's keys) is refused, or it gives an adapter that fits the model and can be
// encoded as bytes. The first byte says whether the rest is a whole file or damage to an intact
// one, which reaches further than random bytes do.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ruvd::test::TextModel model;
  static const std::string intact = IntactFile(model);
  if (size == 0) {
    RUVD_CHECK(ruvd::inference::ParseAdapterFile(ruvd::AsBytes(intact), model, "intact").ok());
    return 0;
  }
  const std::string file = data[0] % 2 == 0
                               ? std::string(reinterpret_cast<const char*>(data + 1), size - 1)
                               : Damaged(intact, data + 1, size - 1);
  const auto adapter = ruvd::inference::ParseAdapterFile(ruvd::AsBytes(file), model, "fuzz");
  if (adapter.ok()) {
    RUVD_CHECK(ruvd::inference::CheckAdapter(**adapter, model).ok());
    const std::string bytes = ruvd::inference::EncodeAdapter(**adapter);
    RUVD_CHECK(ruvd::inference::DecodeAdapter(ruvd::AsBytes(bytes)).ok());
  }
  return 0;
}
