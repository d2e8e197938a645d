// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/transport/callback_queue.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>

namespace ruvd::transport {
namespace {

// A channel takes its part in the queue with its first call. This one leads nowhere: without
// credentials every call over it fails at once, without any connection.
std::shared_ptr<grpc::Channel>* ChannelThatStays() {
  struct Call {
    grpc::ClientContext context;
    grpc::ByteBuffer request;
    grpc::ByteBuffer response;
  };
  auto call = std::make_shared<Call>();
  const grpc::Slice nothing;
  call->request = grpc::ByteBuffer(&nothing, 1);
  // Never destroyed: that is what it is for.
  auto* const channel = new std::shared_ptr<grpc::Channel>(grpc::CreateChannel("nowhere", nullptr));
  grpc::GenericStub(*channel).UnaryCall(&call->context, "/ruvd/nothing", grpc::StubOptions(),
                                        &call->request, &call->response,
                                        [call](const grpc::Status&) {});
  return channel;
}

}  // namespace

void KeepCallbackQueue() {
  // Atomic, as the compiler leaves out a plain pointer that nobody reads: to LeakSanitizer the
  // channel was lost then.
  static const std::atomic<std::shared_ptr<grpc::Channel>*> kept{ChannelThatStays()};
  (void)kept.load();
}

}  // namespace ruvd::transport
