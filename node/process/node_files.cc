// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/process/node_files.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/bytes.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/admission/identity.h"
#include "node/admission/node_key_files.h"
#include "node/log/log.h"
#include "privacy/seal/secret_file.h"
#include "privacy/seal/secret_slots.h"

namespace ruvd::node {
namespace {

constexpr char kSealKeyFile[] = "seal.key";
constexpr char kPassphraseParametersFile[] = "seal.kdf";
constexpr char kCredential[] = "ruvd.seal-key";
constexpr char kCredentialsVariable[] = "CREDENTIALS_DIRECTORY";
constexpr char kStoreFolder[] = "store";
constexpr char kBackupFolder[] = "backups";
constexpr char kAdapterFolder[] = "adapters";
constexpr char kLinkTlsFile[] = "link-tls.pem";

absl::Status CheckDataDir(const config::NodeConfig& config) {
  return config.node.data_dir.empty()
             ? Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid,
                     "node.data_dir is not set; name the folder where this node keeps its data")
             : absl::OkStatus();
}

// Finishes or undoes a change of the seal key that a crash interrupted. The store is not new:
// Database::Open creates no store while a next key exists, so one of the two keys opened it.
absl::Status SettleRotation(const storage::Database& database, privacy::SealKeySource& source) {
  return database.opened_with_next_key() ? source.FinishRotation() : source.CancelRotation();
}

void LogRecovery(const storage::RecoveryReport& recovery) {
  if (recovery.missing() > 0) {
    LogError(
        "the store lost {} acknowledged change(s): its log was damaged or cut after change {} of "
        "{}; restore a backup if they matter (`ruvd store restore`), and check the disk",
        recovery.missing(), recovery.recovered, recovery.acknowledged);
  } else if (recovery.mark_damaged) {
    LogError(
        "the store's high-water mark is damaged, so that a loss of the last changes cannot be "
        "excluded; run `ruvd store verify` and check the disk");
  }
}

}  // namespace

absl::StatusOr<std::string> ReadPassphraseFile(const std::string& path) {
  if (path.empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid,
                 "storage.seal_key is passphrase, but storage.passphrase_file is not set; name the "
                 "file that holds it");
  }
  ASSIGN_OR_RETURN(std::string text, privacy::ReadSecretFile(path, "passphrase file"));
  text.resize(std::min(text.size(), text.find_first_of("\r\n")));
  return text;
}

absl::StatusOr<std::unique_ptr<privacy::SealKeySource>> MakeSealKeySource(
    const config::NodeConfig& config) {
  RETURN_IF_ERROR(CheckDataDir(config));
  const std::filesystem::path folder = config.node.data_dir;
  privacy::SealKeySource::Options options;
  if (config.storage.seal_key == "passphrase") {
    options.kind = privacy::SealKeySource::Kind::kPassphrase;
    options.path = folder / kPassphraseParametersFile;
    ASSIGN_OR_RETURN(options.passphrase, ReadPassphraseFile(config.storage.passphrase_file));
  } else if (config.storage.seal_key == "credential") {
    const char* credentials = std::getenv(kCredentialsVariable);
    if (credentials == nullptr) {
      return Error(absl::StatusCode::kFailedPrecondition, reasons::kConfigInvalid,
                   "storage.seal_key is credential, but {} is not set; start ruvd from a systemd "
                   "unit with LoadCredentialEncrypted={}",
                   kCredentialsVariable, kCredential);
    }
    options.kind = privacy::SealKeySource::Kind::kCredential;
    options.path = std::filesystem::path(credentials) / kCredential;
  } else {
    options.path = folder / kSealKeyFile;
  }
  return std::make_unique<privacy::SealKeySource>(std::move(options));
}

absl::StatusOr<std::string> StorePathOf(const config::NodeConfig& config) {
  RETURN_IF_ERROR(CheckDataDir(config));
  return (std::filesystem::path(config.node.data_dir) / kStoreFolder).string();
}

absl::Status CheckKeyIsThere(const std::string& store, const privacy::SealKeySource& source) {
  std::error_code error;
  const bool has_store = std::filesystem::exists(std::filesystem::path(store) / "CURRENT", error);
  if (!has_store || source.kind() == privacy::SealKeySource::Kind::kCredential ||
      std::filesystem::exists(source.path(), error)) {
    return absl::OkStatus();
  }
  return Error(absl::StatusCode::kNotFound, reasons::kFileNotFound,
               "there is a store in {}, but its seal key {} is missing; restore the key file, or "
               "restore a backup into another folder",
               store, source.path());
}

std::string BackupDirOf(const config::NodeConfig& config) {
  return (std::filesystem::path(config.node.data_dir) / kBackupFolder).string();
}

std::string AdapterDirOf(const config::NodeConfig& config) {
  return (std::filesystem::path(config.node.data_dir) / kAdapterFolder).string();
}

std::string LinkTlsPathOf(const config::NodeConfig& config) {
  return (std::filesystem::path(config.node.data_dir) / kLinkTlsFile).string();
}

absl::StatusOr<NodeFiles> OpenNodeFiles(const config::NodeConfig& config, const Clock& clock) {
  RETURN_IF_ERROR(CheckDataDir(config));
  RETURN_IF_ERROR(MakeDataFolder(config.node.data_dir));
  const std::filesystem::path folder = config.node.data_dir;
  ASSIGN_OR_RETURN(privacy::NodeKey key, admission::LoadNodeKey(folder, clock));
  ASSIGN_OR_RETURN(auto source, MakeSealKeySource(config));
  return NodeFiles{
      .key = std::move(key), .seal_source = std::move(source), .store_path = folder / kStoreFolder};
}

absl::StatusOr<std::unique_ptr<storage::Database>> OpenNodeStore(const config::NodeConfig& config,
                                                                 privacy::SealKeySource& source,
                                                                 const Clock& clock) {
  ASSIGN_OR_RETURN(const std::string path, StorePathOf(config));
  if (!privacy::SecretsCanBeLocked()) {
    LogWarning(
        "memory cannot be locked (RLIMIT_MEMLOCK, LimitMEMLOCK= of the unit), so keys of the store "
        "may reach the swap space");
  }
  RETURN_IF_ERROR(CheckKeyIsThere(path, source));
  ASSIGN_OR_RETURN(const privacy::SealKeys keys, source.Load());
  storage::DatabaseOptions options{
      .path = path, .seal_key = keys.current, .next_seal_key = keys.next};
  options.clock = &clock;
  options.soft_reserve_bytes = config.storage.reserve_bytes;
  options.hard_reserve_bytes = config.storage.reserve_bytes / 2;
  ASSIGN_OR_RETURN(std::unique_ptr<storage::Database> database,
                   storage::Database::Open(std::move(options)));
  if (keys.next) {
    RETURN_IF_ERROR(SettleRotation(*database, source));
  }
  LogRecovery(database->recovery());
  return database;
}

std::string CertificatePath(const config::NodeConfig& config) {
  return (std::filesystem::path(config.node.data_dir) / admission::kNodeCertificateFile).string();
}

absl::StatusOr<privacy::AdmissionCert> LoadCertificate(const config::NodeConfig& config,
                                                       const Clock& clock) {
  const std::string path = CertificatePath(config);
  const absl::StatusOr<std::string> bytes = ReadFile(path, limits::kMaxKeyFileBytes);
  if (!bytes.ok()) {
    return Annotate(bytes.status(),
                    "federation needs an admission certificate (`ruvd join` gets one with a token; "
                    "ruvd cert issue makes one on the authority's node)");
  }
  absl::StatusOr<privacy::AdmissionCert> certificate =
      privacy::AdmissionCert::Parse(AsBytes(*bytes));
  if (!certificate.ok()) {
    return Annotate(certificate.status(), path);
  }
  privacy::PublicKey authority = certificate->issuer.root;
  if (!config.federation.authority.empty()) {
    ASSIGN_OR_RETURN(authority, admission::ParsePublicKey(config.federation.authority));
  }
  if (absl::Status status = certificate->Verify(authority, clock.WallMillis()); !status.ok()) {
    return Annotate(status, path);
  }
  return certificate;
}

}  // namespace ruvd::node
