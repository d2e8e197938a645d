// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "base/clock.h"
#include "inference/tokenizer/tokenizer.h"
#include "node/serving/inference.h"
#include "node/transport/grpc_types.h"
#include "ruvd/inference/v1/inference.pb.h"

namespace ruvd::api {

// Starts a Generate call: a stream that turns the actor's events into messages, with at most one
// write in flight. A slow reader misses denoising frames but never text. The stream belongs to gRPC
// and ends by itself. `tokenizer` is borrowed and must outlive the call.
grpc::ServerWriteReactor<inference::v1::GenerateResponse>* StartGenerateStream(
    serving::InferenceActor& actor, const inference::Tokenizer& tokenizer, const Clock& clock,
    grpc::CallbackServerContext* context, const inference::v1::GenerateRequest& request);

}  // namespace ruvd::api
