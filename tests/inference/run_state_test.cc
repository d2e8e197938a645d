// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "inference/train/run_state.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "base/reasons.h"
#include "base/status.h"

namespace ruvd::inference::train {
namespace {

RunState Some() {
  RunState state;
  state.task.fill(3);
  state.seed = 5;
  state.step = 7;
  state.evaluated = true;
  state.parameters = {1.0F, -2.0F};
  state.optimizer = {.steps = 7, .first = {0.5, 0.25}, .second = {0.1, 0.2}};
  state.held_out = {3.0, 2.5, 2.75};
  state.best = {0.5F, 0.75F};
  state.fisher = {0.0, 1.5};
  return state;
}

// Returns the content with a checksum that fits.
std::string Sealed(std::string content) {
  content += AsText(Sha256(content));
  return content;
}

TEST(RunStateTest, ComesBackFromItsBytes) {
  for (const RunState& state : {Some(), RunState()}) {
    const std::string bytes = EncodeRunState(state);
    const auto back = DecodeRunState(AsBytes(bytes));
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, state);
  }
}

TEST(RunStateTest, EveryCutAndEveryChangedByteIsRefused) {
  const std::string bytes = EncodeRunState(Some());
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(ReasonOf(DecodeRunState(AsBytes(bytes.substr(0, i))).status()),
              reasons::kInvalidArgument);
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_EQ(ReasonOf(DecodeRunState(AsBytes(changed)).status()), reasons::kInvalidArgument);
  }
}

TEST(RunStateTest, RefusesWhatAChecksumCannotSee) {
  const std::string bytes = EncodeRunState(Some());
  const std::string content = bytes.substr(0, bytes.size() - 32);
  ASSERT_TRUE(DecodeRunState(AsBytes(Sealed(content))).ok());
  for (size_t i = 0; i < content.size(); ++i) {
    EXPECT_FALSE(DecodeRunState(AsBytes(Sealed(content.substr(0, i)))).ok()) << i;
  }
  EXPECT_FALSE(DecodeRunState(AsBytes(Sealed(content + "x"))).ok());
  std::string huge = content;
  const size_t count = 4 + 4 + 32 + 8 + 8 + 1 + 8;  // of the parameters
  huge.replace(count, 8, 8, '\x7f');
  EXPECT_FALSE(DecodeRunState(AsBytes(Sealed(huge))).ok());
  RunState negative = Some();
  negative.optimizer.second[1] = -0.2;
  EXPECT_FALSE(DecodeRunState(AsBytes(EncodeRunState(negative))).ok());
  RunState ahead = Some();
  ahead.optimizer.steps = 8;
  EXPECT_FALSE(DecodeRunState(AsBytes(EncodeRunState(ahead))).ok());
  RunState state = Some();
  state.parameters[0] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(DecodeRunState(AsBytes(EncodeRunState(state))).ok());
  state = Some();
  state.optimizer.first.push_back(1.0);
  EXPECT_FALSE(DecodeRunState(AsBytes(EncodeRunState(state))).ok());
  state = Some();
  state.fisher[0] = -1e-9;
  EXPECT_FALSE(DecodeRunState(AsBytes(EncodeRunState(state))).ok());
}

}  // namespace
}  // namespace ruvd::inference::train
