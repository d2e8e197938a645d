// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/transport/callback_queue.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>

namespace ruvd::transport {
namespace {

// A channel takes a reference to the queue with its first call. This channel leads nowhere: without
// credentials every call over it fails at once, without a connection.
std::shared_ptr<grpc::Channel>* ChannelThatStays() {
  struct Call {
    grpc::ClientContext context;
    grpc::ByteBuffer request;
    grpc::ByteBuffer response;
  };
  auto call = std::make_shared<Call>();
  const grpc::Slice nothing;
  call->request = grpc::ByteBuffer(&nothing, 1);
  // The channel is never destroyed, which keeps the queue alive.
  auto* const channel = new std::shared_ptr<grpc::Channel>(grpc::CreateChannel("nowhere", nullptr));
  grpc::GenericStub(*channel).UnaryCall(&call->context, "/ruvd/nothing", grpc::StubOptions(),
                                        &call->request, &call->response,
                                        [call](const grpc::Status&) {});
  return channel;
}

}  // namespace

void RetainCallbackQueue() {
  // It is atomic because the compiler would remove a plain pointer that is never read, and
  // LeakSanitizer would then report a leak.
  static const std::atomic<std::shared_ptr<grpc::Channel>*> kept{ChannelThatStays()};
  (void)kept.load();
}

}  // namespace ruvd::transport
