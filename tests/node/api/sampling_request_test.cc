// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/sampling_request.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"

namespace ruvd::api {
namespace {

using ProtoSampling = inference::v1::SamplingOptions;

absl::Status SamplingError(const std::function<void(ProtoSampling&)>& change) {
  ProtoSampling message;
  change(message);
  return ReadSampling(message).status();
}

TEST(ReadSamplingTest, DefaultsAreValid) {
  auto options = ReadSampling(ProtoSampling());
  ASSERT_TRUE(options.ok());
  EXPECT_FALSE(options->mode.has_value());
  EXPECT_EQ(options->max_tokens, ruvd::inference::SamplingOptions().max_tokens);
}

TEST(ReadSamplingTest, EveryOptionArrives) {
  ProtoSampling message;
  message.set_mode(inference::v1::DECODING_MODE_AUTOREGRESSIVE);
  message.set_max_tokens(7);
  message.set_steps(3);
  message.set_block_length(16);
  message.set_temperature(0.5F);
  message.set_confidence_threshold(0.9F);
  message.set_seed(11);
  message.set_ignore_end_of_text(true);
  message.add_stop("END");
  message.set_top_k(40);
  message.set_top_p(0.95F);
  message.set_repetition_penalty(1.2F);
  message.set_sampler("klass");
  message.set_position_temperature(0.25F);
  message.set_min_p(0.125F);
  message.set_presence_penalty(0.5F);
  message.set_frequency_penalty(0.75F);
  message.set_penalty_window(32);
  message.set_no_repeat_ngram(3);
  message.set_guidance_scale(1.5F);
  message.set_entropy_bound(0.25F);
  message.set_factor(2.0F);
  message.set_stability_kl(0.5F);
  message.set_stability_steps(4);
  message.set_remask("rescale");
  message.set_remask_strength(0.5F);
  message.set_logprobs(5);
  auto options = ReadSampling(message);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->mode, inference::DecodingMode::kAutoregressive);
  EXPECT_EQ(options->max_tokens, 7);
  EXPECT_EQ(options->steps, 3);
  EXPECT_EQ(options->block_length, 16);
  EXPECT_FLOAT_EQ(options->temperature, 0.5F);
  EXPECT_FLOAT_EQ(options->confidence_threshold, 0.9F);
  EXPECT_EQ(options->seed, 11u);
  EXPECT_TRUE(options->ignore_end_of_text);
  EXPECT_EQ(options->stop, std::vector<std::string>{"END"});
  EXPECT_EQ(options->top_k, 40);
  EXPECT_FLOAT_EQ(options->top_p, 0.95F);
  EXPECT_FLOAT_EQ(options->repetition_penalty, 1.2F);
  EXPECT_EQ(options->sampler, inference::SamplerKind::kKlass);
  EXPECT_EQ(options->position_temperature, 0.25F);
  EXPECT_EQ(options->min_p, 0.125F);
  EXPECT_EQ(options->presence_penalty, 0.5F);
  EXPECT_EQ(options->frequency_penalty, 0.75F);
  EXPECT_EQ(options->penalty_window, 32);
  EXPECT_EQ(options->no_repeat_ngram, 3);
  EXPECT_EQ(options->guidance_scale, 1.5F);
  EXPECT_EQ(options->entropy_bound, 0.25F);
  EXPECT_EQ(options->factor, 2.0F);
  EXPECT_EQ(options->stability_kl, 0.5F);
  EXPECT_EQ(options->stability_steps, 4);
  EXPECT_EQ(options->remask, inference::RemaskKind::kRescale);
  EXPECT_EQ(options->remask_strength, 0.5F);
  EXPECT_EQ(options->logprobs, 5);
}

TEST(ReadSamplingTest, AnOptionOutOfRangeIsNamed) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<std::pair<std::string, std::function<void(ProtoSampling&)>>> cases = {
      {"max_tokens", [](ProtoSampling& m) { m.set_max_tokens(0); }},
      {"steps", [](ProtoSampling& m) { m.set_steps(0); }},
      {"block_length", [](ProtoSampling& m) { m.set_block_length(0); }},
      {"confidence_threshold", [](ProtoSampling& m) { m.set_confidence_threshold(0); }},
      {"penalty_window", [](ProtoSampling& m) { m.set_penalty_window(0); }},
      {"entropy_bound", [](ProtoSampling& m) { m.set_entropy_bound(0); }},
      {"factor", [](ProtoSampling& m) { m.set_factor(0); }},
      {"stability_kl", [](ProtoSampling& m) { m.set_stability_kl(0); }},
      {"stability_steps", [](ProtoSampling& m) { m.set_stability_steps(0); }},
      {"remask_strength", [](ProtoSampling& m) { m.set_remask_strength(0); }},
      {"temperature", [](ProtoSampling& m) { m.set_temperature(-1); }},
      {"temperature", [nan](ProtoSampling& m) { m.set_temperature(nan); }},
      {"confidence_threshold", [](ProtoSampling& m) { m.set_confidence_threshold(1.5F); }},
      {"top_p", [](ProtoSampling& m) { m.set_top_p(2); }},
      {"repetition_penalty", [](ProtoSampling& m) { m.set_repetition_penalty(-2); }},
      {"sampler 'greedy'", [](ProtoSampling& m) { m.set_sampler("greedy"); }},
      {"remask 'all'", [](ProtoSampling& m) { m.set_remask("all"); }},
      {"logprobs", [](ProtoSampling& m) { m.set_logprobs(21); }},
      {"guidance_scale", [](ProtoSampling& m) { m.set_guidance_scale(-1); }},
      {"penalty_window", [](ProtoSampling& m) { m.set_penalty_window(4'000'000'000U); }},
      {"max_tokens", [](ProtoSampling& m) { m.set_max_tokens(4'000'000'000U); }},
      {"stop", [](ProtoSampling& m) { m.add_stop(""); }},
      {"stop", [](ProtoSampling& m) { m.add_stop(std::string(65, 'x')); }},
      {"mode", [](ProtoSampling& m) { m.set_mode(static_cast<inference::v1::DecodingMode>(99)); }},
  };
  for (const auto& [name, change] : cases) {
    const absl::Status status = SamplingError(change);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << name;
    EXPECT_NE(MessageOf(status).find(name), std::string::npos) << MessageOf(status);
  }
}

}  // namespace
}  // namespace ruvd::api
