// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include "node/api/services.h"
#include "node/transport/grpc_types.h"
#include "ruvd/inference/v1/inference.pb.h"

namespace ruvd::api {

// Starts a Generate call: a stream that turns the actor's events into messages, with at most one
// write in flight. A slow reader gets several denoising frames as one. The stream belongs to gRPC
// and ends by itself. `node` is borrowed and must outlive the call.
grpc::ServerWriteReactor<inference::v1::GenerateResponse>* StartGenerateStream(
    const ServiceDependencies& node, grpc::CallbackServerContext* context,
    const inference::v1::GenerateRequest& request);

}  // namespace ruvd::api
