// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/transport/tls.h"

#include <fmt/format.h>
#include <grpc/grpc_security_constants.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/conf.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <ctime>
#include <span>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/limits.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/limits.h"
#include "privacy/seal/secret_file.h"

namespace ruvd::transport {
namespace {

template <auto Free>
struct Freer {
  template <typename T>
  void operator()(T* object) const {
    Free(object);
  }
};
using BioPtr = std::unique_ptr<BIO, Freer<BIO_free_all>>;
using ConfPtr = std::unique_ptr<CONF, Freer<NCONF_free>>;
using OctetsPtr = std::unique_ptr<ASN1_OCTET_STRING, Freer<ASN1_OCTET_STRING_free>>;
using PkeyPtr = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using X509Ptr = std::unique_ptr<X509, Freer<X509_free>>;

// gRPC asks for TLS 1.2 or later. This configuration removes 1.2 from every context that is made
// later.
constexpr std::string_view kTls13Only =
    "ruvd = modules\n"
    "[modules]\n"
    "ssl_conf = contexts\n"
    "[contexts]\n"
    "system_default = tls13\n"
    "[tls13]\n"
    "Protocol = ALL, -SSLv3, -TLSv1, -TLSv1.1, -TLSv1.2\n"
    "CipherString = DEFAULT:@SECLEVEL=2\n";

// The extension that carries the statement. A random UUID below 2.25 is an identifier that needs no
// registration (ITU-T X.667).
constexpr char kStatementId[] = "2.25.116804252495561781089257847345886604088";
// More than any statement has; what is longer is not read.
constexpr int kMaxStatementBytes = 1024;

// A certificate without a well-defined end (RFC 5280, section 4.1.2.5). The admission certificate
// decides how long a node is a member.
constexpr char kNoEnd[] = "99991231235959Z";
constexpr long kClockSkewSeconds = 24L * 3600;

absl::Status Failed(std::string_view what) {
  return Error(absl::StatusCode::kInternal, reasons::kInternal,
               "OpenSSL could not {}; check its configuration (openssl.cnf, OPENSSL_CONF)", what);
}

BioPtr Reader(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string TextOf(BIO& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(&bio, &data);
  return {data, static_cast<size_t>(size)};
}

X509Ptr ReadCertificate(std::string_view pem) {
  const BioPtr bio = Reader(pem);
  return X509Ptr(bio == nullptr ? nullptr
                                : PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

// Returns the DER form of what `encode` writes; empty if OpenSSL fails.
std::string DerOf(const std::function<int(unsigned char**)>& encode) {
  unsigned char* der = nullptr;
  const int size = encode(&der);
  if (size <= 0) {
    return {};
  }
  std::string text(reinterpret_cast<const char*>(der), static_cast<size_t>(size));
  OPENSSL_free(der);
  return text;
}

std::optional<Digest> HashOfX509(X509& certificate) {
  const std::string der = DerOf([&](unsigned char** out) { return i2d_X509(&certificate, out); });
  return der.empty() ? std::nullopt : std::optional(Sha256(AsBytes(der)));
}

Digest HashOfKey(const X509& certificate) {
  return Sha256(AsBytes(DerOf([&](unsigned char** out) {
    return i2d_X509_PUBKEY(X509_get_X509_PUBKEY(&certificate), out);
  })));
}

const ASN1_OBJECT* StatementId() {
  static const ASN1_OBJECT* const id = OBJ_txt2obj(kStatementId, /*no_name=*/1);
  return id;
}

bool SetSerial(X509& certificate) {
  std::array<unsigned char, 16> random{};
  if (RAND_bytes(random.data(), random.size()) != 1) {
    return false;
  }
  BIGNUM* number = BN_bin2bn(random.data(), random.size(), nullptr);
  const bool good = number != nullptr &&
                    BN_to_ASN1_INTEGER(number, X509_get_serialNumber(&certificate)) != nullptr;
  BN_free(number);
  return good;
}

bool AddNames(X509& certificate, const std::string& names) {
  if (names.empty()) {
    return true;
  }
  const std::unique_ptr<X509_EXTENSION, Freer<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, names.c_str()));
  return extension != nullptr && X509_add_ext(&certificate, extension.get(), -1) == 1;
}

bool AddStatement(X509& certificate, const MakeStatement& make) {
  if (make == nullptr) {
    return true;
  }
  const std::string text = make(HashOfKey(certificate));
  // The value of an extension is itself the DER form of something, here of a string of octets.
  const OctetsPtr inner(ASN1_OCTET_STRING_new());
  const OctetsPtr outer(ASN1_OCTET_STRING_new());
  const auto set = [](const OctetsPtr& octets, const std::string& bytes) {
    return ASN1_OCTET_STRING_set(octets.get(), reinterpret_cast<const unsigned char*>(bytes.data()),
                                 static_cast<int>(bytes.size())) == 1;
  };
  if (inner == nullptr || outer == nullptr || !set(inner, text)) {
    return false;
  }
  const std::string der =
      DerOf([&](unsigned char** out) { return i2d_ASN1_OCTET_STRING(inner.get(), out); });
  if (der.empty() || !set(outer, der)) {
    return false;
  }
  const std::unique_ptr<X509_EXTENSION, Freer<X509_EXTENSION_free>> extension(
      X509_EXTENSION_create_by_OBJ(nullptr, StatementId(), /*crit=*/0, outer.get()));
  return extension != nullptr && X509_add_ext(&certificate, extension.get(), -1) == 1;
}

// Returns null if OpenSSL fails.
X509Ptr MakeUnsigned(EVP_PKEY& key) {
  X509Ptr certificate(X509_new());
  if (certificate == nullptr) {
    return nullptr;
  }
  X509* const x509 = certificate.get();
  X509_NAME* const name = X509_get_subject_name(x509);
  const auto* const text = reinterpret_cast<const unsigned char*>(kSelfSignedName);
  const bool good = X509_set_version(x509, X509_VERSION_3) == 1 && SetSerial(*x509) &&
                    X509_gmtime_adj(X509_getm_notBefore(x509), -kClockSkewSeconds) != nullptr &&
                    ASN1_TIME_set_string(X509_getm_notAfter(x509), kNoEnd) == 1 &&
                    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0) == 1 &&
                    X509_set_issuer_name(x509, name) == 1 && X509_set_pubkey(x509, &key) == 1;
  return good ? std::move(certificate) : nullptr;
}

absl::Status Unusable(const std::string& path, std::string_view what) {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid, "{} {}", path, what);
}

absl::Status CheckTimes(const X509& certificate, const std::string& path, int64_t now_ms) {
  time_t now = static_cast<time_t>(now_ms / 1000);
  const bool early = X509_cmp_time(X509_get0_notBefore(&certificate), &now) > 0;
  const bool late = X509_cmp_time(X509_get0_notAfter(&certificate), &now) < 0;
  if (!early && !late) {
    return absl::OkStatus();
  }
  return Error(
      absl::StatusCode::kPermissionDenied, reasons::kCertificateExpired,
      "the TLS certificate {} {}", path,
      late ? "has expired; replace it, or check the clock" : "is not valid yet; check the clock");
}

}  // namespace

absl::Status RequireTls13() {
  static const bool required = [] {
    // The system's configuration is loaded first, because it would otherwise be loaded later and
    // undo this one.
    OPENSSL_init_crypto(OPENSSL_INIT_LOAD_CONFIG, nullptr);
    const BioPtr text = Reader(kTls13Only);
    const ConfPtr conf(NCONF_new(nullptr));
    return text != nullptr && conf != nullptr &&
           NCONF_load_bio(conf.get(), text.get(), nullptr) == 1 &&
           CONF_modules_load(conf.get(), "ruvd", 0) == 1;
  }();
  return required ? absl::OkStatus() : Failed("be limited to TLS 1.3");
}

absl::StatusOr<TlsCertificate> MakeSelfSignedCertificate(const std::string& subject_alt_name,
                                                         const MakeStatement& statement) {
  const PkeyPtr key(EVP_EC_gen("P-256"));
  const X509Ptr x509 = key == nullptr ? nullptr : MakeUnsigned(*key);
  if (x509 != nullptr && !AddNames(*x509, subject_alt_name)) {
    return Error(
        absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
        "'{}' cannot be used in a certificate; give names like DNS:node.example,IP:10.0.0.7",
        subject_alt_name);
  }
  const BioPtr key_text(BIO_new(BIO_s_mem()));
  const BioPtr certificate_text(BIO_new(BIO_s_mem()));
  if (x509 == nullptr || key_text == nullptr || certificate_text == nullptr ||
      !AddStatement(*x509, statement) || X509_sign(x509.get(), key.get(), EVP_sha256()) <= 0 ||
      PEM_write_bio_PrivateKey(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1 ||
      PEM_write_bio_X509(certificate_text.get(), x509.get()) != 1) {
    return Failed("make a TLS key");
  }
  const std::optional<Digest> hash = HashOfX509(*x509);
  if (!hash) {
    return Failed("encode a TLS certificate");
  }
  return TlsCertificate{
      .private_key = TextOf(*key_text), .certificate = TextOf(*certificate_text), .hash = *hash};
}

std::optional<Statement> StatementIn(std::string_view pem) {
  const X509Ptr x509 = ReadCertificate(pem);
  const int place =
      x509 == nullptr ? -1 : X509_get_ext_by_OBJ(x509.get(), StatementId(), /*lastpos=*/-1);
  const ASN1_OCTET_STRING* const value =
      place < 0 ? nullptr : X509_EXTENSION_get_data(X509_get_ext(x509.get(), place));
  if (value == nullptr || ASN1_STRING_length(value) > kMaxStatementBytes) {
    return std::nullopt;
  }
  const unsigned char* der = ASN1_STRING_get0_data(value);
  const unsigned char* const end = der + ASN1_STRING_length(value);
  const OctetsPtr octets(d2i_ASN1_OCTET_STRING(nullptr, &der, ASN1_STRING_length(value)));
  if (octets == nullptr || der != end) {
    return std::nullopt;
  }
  return Statement{.text = {reinterpret_cast<const char*>(ASN1_STRING_get0_data(octets.get())),
                            static_cast<size_t>(ASN1_STRING_length(octets.get()))},
                   .tls_key = HashOfKey(*x509)};
}

std::optional<Digest> CertificateHash(std::string_view pem) {
  const X509Ptr x509 = ReadCertificate(pem);
  return x509 == nullptr ? std::nullopt : HashOfX509(*x509);
}

std::string_view PeerPemOf(const grpc::AuthContext& context) {
  const auto found = context.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  return found.size() != 1 ? std::string_view()
                           : std::string_view(found.front().data(), found.front().size());
}

std::optional<Digest> PeerCertificateOf(const grpc::AuthContext& context) {
  return CertificateHash(PeerPemOf(context));
}

absl::Status CheckServerCertificate(const std::string& certificate_path,
                                    const std::string& key_path, int64_t now_ms) {
  ASSIGN_OR_RETURN(const std::string chain, ReadFile(certificate_path, limits::kMaxConfigBytes));
  ASSIGN_OR_RETURN(std::string secret, privacy::ReadSecretFile(key_path, "TLS key"));
  const X509Ptr x509 = ReadCertificate(chain);
  const BioPtr bio = Reader(secret);
  const PkeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
  OPENSSL_cleanse(secret.data(), secret.size());
  if (x509 == nullptr) {
    return Unusable(certificate_path, "holds no PEM certificate; name the server's certificate");
  }
  if (key == nullptr) {
    return Unusable(key_path,
                    "holds no PEM private key, or one with a passphrase; name a file with a key "
                    "without a passphrase");
  }
  if (X509_check_private_key(x509.get(), key.get()) != 1) {
    return Unusable(
        key_path,
        fmt::format("is not the key of {}; name a certificate and its own key", certificate_path));
  }
  return CheckTimes(*x509, certificate_path, now_ms);
}

std::shared_ptr<grpc::experimental::CertificateProviderInterface> WatchCertificate(
    const std::string& certificate_path, const std::string& key_path) {
  return std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      key_path, certificate_path, limits::kTlsReloadSeconds);
}

std::shared_ptr<grpc::ServerCredentials> ServerCredentials(const std::string& certificate_path,
                                                           const std::string& key_path) {
  grpc::experimental::TlsServerCredentialsOptions options(
      WatchCertificate(certificate_path, key_path));
  options.watch_identity_key_cert_pairs();
  return grpc::experimental::TlsServerCredentials(options);
}

}  // namespace ruvd::transport
