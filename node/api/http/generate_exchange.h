// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <memory>

#include "base/clock.h"
#include "inference/tokenizer/tokenizer.h"
#include "node/http/exchange.h"
#include "node/openai/completion_answer.h"
#include "node/openai/completion_request.h"
#include "node/serving/inference.h"

namespace ruvd::api {

// Makes the listener that answers one completion over HTTP: whole at its end, or as a stream of
// events. Errors before the first event have a status of HTTP, later ones are the last event. What
// the caller no longer reads is cancelled between two steps. `tokenizer` and `clock` are borrowed
// and must outlive the listener.
std::shared_ptr<serving::GenerationListener> MakeGenerateExchange(
    const openai::CompletionRequest& request, openai::AnswerStamp stamp,
    const inference::Tokenizer& tokenizer, const Clock& clock,
    std::shared_ptr<http::Exchange> exchange);

}  // namespace ruvd::api
