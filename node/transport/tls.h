// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"

namespace grpc::experimental {
class CertificateProviderInterface;
}  // namespace grpc::experimental

namespace ruvd::transport {

// The name on self-signed certificates, for which a client of theirs asks: the real one proves
// nothing, and gRPC logs an error for each connection that asks for another.
inline constexpr char kSelfSignedName[] = "ruvd";

// A TLS key and its certificate, both PEM.
struct TlsCertificate {
  std::string private_key;
  std::string certificate;
  Digest hash{};  // of the certificate
};

// Makes this process speak TLS 1.3 and nothing older, in both directions: gRPC 1.51 has no setting
// for it, OpenSSL's configuration of the process has. Call before the first credentials are made;
// thread-safe, once is enough. INTERNAL if OpenSSL refuses.
absl::Status RequireTls13();

// A fresh P-256 key with a self-signed certificate. That of a link says nothing: who holds it is
// proven by what is signed about its hash. `subject_alt_name` ("DNS:node.example,IP:10.0.0.7") is
// for clients that look for the name they dial. INVALID_ARGUMENT for a name that OpenSSL does not
// take, INTERNAL if it fails otherwise.
absl::StatusOr<TlsCertificate> MakeSelfSignedCertificate(const std::string& subject_alt_name = "");

// SHA-256 of the DER of the first certificate in a PEM text; nullopt if there is none.
std::optional<Digest> CertificateHash(std::string_view pem);

// Of the certificate whose key the other end proved; nullopt on a plain connection.
std::optional<Digest> PeerCertificateOf(const grpc::AuthContext& context);

// Whether a server can use the two PEM files at `now_ms`: readable, the key for its owner only, the
// certificate its key's and in its time. CONFIG_INVALID with what to change, CERTIFICATE_EXPIRED,
// KEY_FILE_MODE, FILE_NOT_FOUND.
absl::Status CheckServerCertificate(const std::string& certificate_path,
                                    const std::string& key_path, int64_t now_ms);

// The key pair of two PEM files, read again within kTlsReloadSeconds after they change.
std::shared_ptr<grpc::experimental::CertificateProviderInterface> WatchCertificate(
    const std::string& certificate_path, const std::string& key_path);

// Of a server with that key pair, which asks clients for no certificate.
std::shared_ptr<grpc::ServerCredentials> ServerCredentials(const std::string& certificate_path,
                                                           const std::string& key_path);

}  // namespace ruvd::transport
