// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "node/transport/grpc_types.h"

namespace ruvd::transport {

// The name on self-signed certificates. Clients must ask for this name, because gRPC logs an error
// for each connection that asks for another; the name proves nothing.
inline constexpr char kSelfSignedName[] = "ruvd";

// A TLS key and its certificate, both PEM.
struct TlsCertificate {
  std::string private_key;
  std::string certificate;
  Digest hash{};  // SHA-256 of the certificate
};

// Limits this process to TLS 1.3 in both directions, through OpenSSL's configuration of the
// process, because gRPC 1.51 has no setting for it. Call it before the first credentials are made;
// one call is enough. Thread-safe. INTERNAL if OpenSSL refuses.
absl::Status RequireTls13();

// Returns what a certificate carries for programs like this one, in an extension that others
// ignore. `tls_key` is the SHA-256 of the certificate's public key (SubjectPublicKeyInfo).
using MakeStatement = std::function<std::string(const Digest& tls_key)>;

// Makes a new P-256 key with a self-signed certificate. `subject_alt_name`
// ("DNS:node.example,IP:10.0.0.7") is for clients that check the name that they dial; `statement`
// may be null. INVALID_ARGUMENT if OpenSSL does not accept the name, INTERNAL for other failures of
// OpenSSL.
absl::StatusOr<TlsCertificate> MakeSelfSignedCertificate(const std::string& subject_alt_name = "",
                                                         const MakeStatement& statement = nullptr);

// What a certificate carries, and the SHA-256 of its public key.
struct Statement {
  std::string text;
  Digest tls_key{};
};
// Reads the statement of the first certificate in a PEM text; nullopt if it carries no statement.
std::optional<Statement> StatementIn(std::string_view pem);

// Returns the SHA-256 of the DER form of the first certificate in a PEM text; nullopt if there is
// no certificate.
std::optional<Digest> CertificateHash(std::string_view pem);

// Returns the certificate whose key the other end proved to hold, as PEM; empty on a plain
// connection. The view ends with `context`.
std::string_view PeerPemOf(const grpc::AuthContext& context);
// Returns the hash of that certificate; nullopt on a plain connection.
std::optional<Digest> PeerCertificateOf(const grpc::AuthContext& context);

// Checks that a server can use the two PEM files at `now_ms`: both are readable, only the owner may
// read the key, and the certificate belongs to the key and is valid now. Errors: CONFIG_INVALID,
// which says what to change, CERTIFICATE_EXPIRED, KEY_FILE_MODE, FILE_NOT_FOUND.
absl::Status CheckServerCertificate(const std::string& certificate_path,
                                    const std::string& key_path, int64_t now_ms);

// Provides the key pair of two PEM files, which are read again within kTlsReloadSeconds after they
// change.
std::shared_ptr<grpc::experimental::CertificateProviderInterface> WatchCertificate(
    const std::string& certificate_path, const std::string& key_path);

// Returns the credentials of a server with this key pair, which asks clients for no certificate.
std::shared_ptr<grpc::ServerCredentials> ServerCredentials(const std::string& certificate_path,
                                                           const std::string& key_path);

}  // namespace ruvd::transport
