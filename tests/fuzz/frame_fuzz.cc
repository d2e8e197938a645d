// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "inference/adapter/adapter_kinds.h"
#include "inference/adapter/frame_set.h"
#include "tests/inference/text_model.h"

namespace {

// Returns the intact file with the bytes changed that the input names: every three bytes are an
// offset and a value.
std::string Damaged(std::string file, const uint8_t* data, size_t size) {
  for (size_t i = 0; i + 3 <= size; i += 3) {
    const size_t at = data[i] | (static_cast<size_t>(data[i + 1]) << 8);
    file[at % file.size()] = static_cast<char>(data[i + 2]);
  }
  return file;
}

ruvd::inference::FrameSet IntactFrame() {
  static const ruvd::test::TextModel model;
  return ruvd::inference::RandomFrameSet(
             model, ruvd::inference::LinearTargets(model, ruvd::inference::Modules::kQv), 2, 1)
      .value();
}

std::string IntactFile() {
  return ruvd::inference::SerializeFrameSet(IntactFrame()).value();
}

std::string FileWithFisher() {
  ruvd::inference::FrameSet frame = IntactFrame();
  for (auto& [target, module] : frame.modules) {
    module.fisher.assign(static_cast<size_t>(module.rank * module.rank), 0.5F);
  }
  frame.id = ruvd::inference::ContentId(frame);
  return ruvd::inference::SerializeFrameSet(frame).value();
}

}  // namespace

// A frame file is refused, or it gives a frame with its id that can be written again. The first
// byte says whether the rest is a whole file or damage to an intact one, without Fisher information
// or with it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string intact = IntactFile();
  static const std::string with_fisher = FileWithFisher();
  if (size == 0) {
    RUVD_CHECK(ruvd::inference::ParseFrameSet(ruvd::AsBytes(intact)).ok());
    RUVD_CHECK(ruvd::inference::ParseFrameSet(ruvd::AsBytes(with_fisher)).ok());
    return 0;
  }
  const std::string file =
      data[0] % 2 == 0 ? std::string(reinterpret_cast<const char*>(data + 1), size - 1)
                       : Damaged(data[0] % 4 == 1 ? intact : with_fisher, data + 1, size - 1);
  const auto frame = ruvd::inference::ParseFrameSet(ruvd::AsBytes(file));
  if (frame.ok()) {
    RUVD_CHECK(ruvd::inference::ContentId(*frame) == frame->id);
    const std::string bytes = ruvd::inference::SerializeFrameSet(*frame).value();
    RUVD_CHECK(ruvd::inference::ParseFrameSet(ruvd::AsBytes(bytes)).ok());
  }
  return 0;
}
