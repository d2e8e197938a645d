// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "ruvd/inference/v1/inference.pb.h"

namespace ruvd::openai {

// What all parts of one answer say.
struct AnswerStamp {
  bool is_chat = false;
  bool includes_usage = false;  // of a stream
  bool has_logprobs = false;    // the answer, or the last event of a stream, says them
  int64_t created = 0;          // seconds since the Unix epoch
  std::string model;            // the name by which the model was asked for
  std::vector<std::pair<std::string, std::string>> metadata;
};

// Returns the name of a completion in answers, and back the node's own (response_id): "chatcmpl-ID"
// or "cmpl-ID". A name without such a beginning stays.
std::string AnswerId(const AnswerStamp& stamp, std::string_view response_id);
std::string ResponseIdOf(std::string_view answer_id);

// Returns a whole answer: object "chat.completion" or "text_completion".
std::string WholeAnswer(const AnswerStamp& stamp, const inference::v1::Started& started,
                        const inference::v1::Finished& finished, std::string_view text);

// The events of a stream ("data: JSON", an empty line): first StreamBegin, then texts and frames,
// last StreamEnd or StreamError.
std::string StreamBegin(const AnswerStamp& stamp, const inference::v1::Started& started);
std::string StreamText(const AnswerStamp& stamp, const inference::v1::Started& started,
                       std::string_view text);
// A chunk with an empty delta, which clients skip, and the frame in one object "diffusion" beside
// it.
std::string StreamFrame(const AnswerStamp& stamp, const inference::v1::Started& started,
                        const inference::v1::DenoiseFrame& frame);
// The reason of the end, the counts of tokens if they are asked for, and "data: [DONE]".
std::string StreamEnd(const AnswerStamp& stamp, const inference::v1::Started& started,
                      const inference::v1::Finished& finished);
std::string StreamError(const absl::Status& status);

}  // namespace ruvd::openai
