// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

// The names of gRPC that headers mention. No header includes gRPC itself, because that adds seconds
// to every source that includes the header; a source that uses more than a pointer includes
// <grpcpp/grpcpp.h>.
namespace grpc {

class AuthContext;
class AuthMetadataProcessor;
class CallbackServerContext;
class Channel;
class ChannelCredentials;
class Server;
class ServerContextBase;
class ServerCredentials;
class ServerUnaryReactor;
class Service;
class Status;
template <typename Request>
class ServerReadReactor;
template <typename Response>
class ServerWriteReactor;

namespace experimental {
class CertificateProviderInterface;
}  // namespace experimental

}  // namespace grpc
