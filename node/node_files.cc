// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/node_files.h"

#include <filesystem>

#include "base/bytes.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/cli/identity.h"

namespace ruvd {
namespace {

constexpr char kSealKeyFile[] = "seal.key";
constexpr char kStoreFolder[] = "store";

}  // namespace

absl::StatusOr<NodeFiles> OpenNodeFiles(const NodeConfig& config) {
  if (config.node.data_dir.empty()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kConfigInvalid,
                 "node.data_dir is not set; name the folder where this node keeps its data");
  }
  RETURN_IF_ERROR(MakeDataFolder(config.node.data_dir));
  const std::filesystem::path folder = config.node.data_dir;
  ASSIGN_OR_RETURN(NodeKey key, NodeKey::LoadOrCreate(folder / kNodeKeyFile));
  ASSIGN_OR_RETURN(SealKey seal_key, SealKey::LoadOrCreate(folder / kSealKeyFile));
  return NodeFiles{
      .key = std::move(key), .seal_key = std::move(seal_key), .store_path = folder / kStoreFolder};
}

absl::StatusOr<AdmissionCert> LoadCertificate(const NodeConfig& config, const Clock& clock) {
  const std::string path =
      config.federation.certificate.empty()
          ? (std::filesystem::path(config.node.data_dir) / kNodeCertificateFile).string()
          : config.federation.certificate;
  const absl::StatusOr<std::string> bytes = ReadFile(path, limits::kMaxKeyFileBytes);
  if (!bytes.ok()) {
    return Annotate(bytes.status(),
                    "federation needs an admission certificate (ruvd cert issue makes one on the "
                    "authority's node)");
  }
  ASSIGN_OR_RETURN(AdmissionCert certificate, AdmissionCert::Parse(AsBytes(*bytes)));
  PublicKey authority = certificate.issuer;
  if (!config.federation.authority.empty()) {
    ASSIGN_OR_RETURN(authority, ParsePublicKey(config.federation.authority));
  }
  if (absl::Status status = certificate.Verify(authority, clock.WallMillis()); !status.ok()) {
    return Annotate(status, path);
  }
  return certificate;
}

}  // namespace ruvd
