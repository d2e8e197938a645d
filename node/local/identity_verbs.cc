// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "absl/strings/ascii.h"
#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/admission/admission_controller.h"
#include "node/admission/authority_files.h"
#include "node/admission/identity.h"
#include "node/admission/node_key_files.h"
#include "node/admission/revocation_file.h"
#include "node/config/config.h"
#include "node/limits.h"
#include "node/local/verbs.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/period.h"
#include "node/terminal/terminal.h"
#include "privacy/identity/admission.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"
#include "privacy/sodium.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

constexpr char kInitGroup[] = "Run a node";
constexpr int kIssuerDays = 365;  // the first issuer's life, and the default of later ones

struct InitFlags {
  std::string data_dir;
  std::string name;
  bool authority = false;
  int days = 30;
};

struct IssueFlags {
  std::string authority;
  std::string key;
  std::string rotations;  // a file; empty for a node that never replaced its key
  std::string name;
  std::string out;
  int days = 30;
};

std::string InFolder(const std::string& folder, const char* file) {
  return std::filesystem::path(folder) / file;
}

absl::Status MemberAlready(const std::string& folder, std::string_view why) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kCertificateForeign,
               "{} {}; nothing was changed. Restore the file {} of that authority there, or found "
               "a new cluster in an empty folder",
               folder, why, admission::kAuthorityKeyFile);
}

// Founding a cluster must not remove a node from the cluster that it belongs to.
absl::Status CheckMayFound(const InitFlags& flags) {
  const std::string config = InFolder(flags.data_dir, admission::kConfigFile);
  std::error_code error;  // a path that cannot be examined is reported when it is read
  ASSIGN_OR_RETURN(const auto root, admission::RootIn(flags.data_dir));
  const std::string own = root ? ToHex(*root) : "";  // empty: the key is still to be made
  if (std::filesystem::exists(config, error) || error) {
    ASSIGN_OR_RETURN(const config::NodeConfig present, config::LoadConfig(config, {}, {}, nullptr));
    if (!present.federation.authority.empty() &&
        absl::AsciiStrToLower(present.federation.authority) != own) {
      return MemberAlready(flags.data_dir,
                           fmt::format("belongs to the cluster whose authority {} names", config));
    }
  }
  const std::optional<privacy::AdmissionCert> present =
      admission::LoadStoredCertificate(flags.data_dir);
  if (!present) {
    return absl::OkStatus();
  }
  if (ToHex(present->issuer.root) != own) {
    return MemberAlready(flags.data_dir, fmt::format("holds a certificate of another authority, {}",
                                                     admission::kNodeCertificateFile));
  }
  if (present->name != flags.name) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kInvalidArgument,
                 "the node in {} is called {}, and its peers know it by that name; give --name {}, "
                 "or make another node in an empty folder",
                 flags.data_dir, present->name, present->name);
  }
  return absl::OkStatus();
}

// Makes the authority and the certificate of its first node. Returns the issuer.
absl::StatusOr<privacy::IssuerCert> FoundCluster(const InitFlags& flags,
                                                 const privacy::NodeKey& key) {
  ASSIGN_OR_RETURN(const privacy::ClusterAuthority authority,
                   admission::FoundAuthority(flags.data_dir, kIssuerDays, SystemClock()));
  // A cluster has a revocation list from its first moment, so that a node which is shown none knows
  // that it is kept from it.
  RETURN_IF_ERROR(
      admission::RevocationFile(flags.data_dir)
          .Refresh(limits::kRevocationsRefreshedMillis, SystemClock().WallMillis(), authority)
          .status());
  RETURN_IF_ERROR(admission::IssueCertificate(
      authority,
      {.node_key = key.public_key(),
       .node_id = key.id(),
       .key_epoch = key.epoch(),
       .name = flags.name,
       .days = flags.days},
      SystemClock(), InFolder(flags.data_dir, admission::kNodeCertificateFile)));
  return authority.issuer();
}

// Writes the configuration of the new node unless the file exists.
absl::Status WriteConfig(const InitFlags& flags, const std::string& authority,
                         const std::string& path) {
  if (std::filesystem::exists(path)) {
    return absl::OkStatus();
  }
  config::NodeConfig config;
  config.node.name = flags.name;
  config.node.data_dir = AbsolutePath(flags.data_dir);
  config.federation.enabled = !authority.empty();
  config.federation.authority = authority;
  return WriteFileAtomically(path, config::ConfigToToml(config));
}

absl::Status Init(CommandContext& context, const InitFlags& flags) {
  privacy::InitSodium();
  RETURN_IF_ERROR(privacy::CheckNodeName(flags.name));
  RETURN_IF_ERROR(MakeDataFolder(flags.data_dir));
  if (flags.authority) {
    RETURN_IF_ERROR(CheckMayFound(flags));
  }
  ASSIGN_OR_RETURN(const privacy::NodeKey key,
                   admission::LoadNodeKey(flags.data_dir, SystemClock()));
  privacy::IssuerCert issuer;
  std::string authority;
  if (flags.authority) {
    ASSIGN_OR_RETURN(issuer, FoundCluster(flags, key));
    authority = ToHex(issuer.root);
  }
  const std::string root = InFolder(flags.data_dir, admission::kRootKeyFile);
  const std::string config = InFolder(flags.data_dir, admission::kConfigFile);
  RETURN_IF_ERROR(WriteConfig(flags, authority, config));
  if (context.json) {
    report::v1::InitReport report;
    report.set_id(ToHex(key.id()));
    report.set_public_key(ToHex(key.public_key()));
    report.set_authority(authority);
    report.set_config(config);
    if (flags.authority) {
      report.set_root_key(root);
      SetTime(issuer.not_after_ms, [&] { return report.mutable_issuer_expire_time(); });
    }
    context.out << ToJsonLine(report);
    return absl::OkStatus();
  }
  std::vector<std::pair<std::string, std::string>> fields = {
      {"id", ToHex(key.id())}, {"public key", ToHex(key.public_key())}, {"config", config}};
  if (!authority.empty()) {
    fields.emplace_back("authority", authority);
    fields.emplace_back("issuer until", FormatTime(issuer.not_after_ms) + " UTC");
    fields.emplace_back("root key", root);
  }
  context.out << FormatFields(fields);
  context.out << (authority.empty()
                      ? "next: join a cluster with `ruvd join`, or ask its operator to run `ruvd "
                        "cert issue --key` with this public key\n"
                      : fmt::format("next: ruvd serve --config {} --model.path MODEL.gguf\n"
                                    "then move the root key to a safe place away from this "
                                    "machine: nodes do not need it, `ruvd cert issuer` does\n",
                                    config));
  return absl::OkStatus();
}

absl::Status Issue(CommandContext& context, const IssueFlags& flags) {
  privacy::InitSodium();
  ASSIGN_OR_RETURN(const privacy::ClusterAuthority authority,
                   privacy::ClusterAuthority::Load(flags.authority));
  ASSIGN_OR_RETURN(const privacy::PublicKey key, admission::ParsePublicKey(flags.key));
  ASSIGN_OR_RETURN(const privacy::RevokedNodes revoked,
                   admission::RevocationFile(std::filesystem::path(flags.authority).parent_path())
                       .EverRevoked(authority));
  std::string rotations;
  if (!flags.rotations.empty()) {
    ASSIGN_OR_RETURN(rotations, ReadFile(flags.rotations,
                                         limits::kMaxKeyRotations * privacy::KeyRotation::kBytes));
  }
  ASSIGN_OR_RETURN(const privacy::NodeKeys keys,
                   privacy::NodeKeys::Through(AsBytes(rotations), key));
  ASSIGN_OR_RETURN(
      const privacy::GrantedKeys granted,
      admission::LoadGrantedKeys(std::filesystem::path(flags.authority).parent_path()));
  RETURN_IF_ERROR(RequireThroughGranted(granted, keys));
  if (revoked.contains(keys.node())) {
    return Error(absl::StatusCode::kPermissionDenied, reasons::kNodeRevoked,
                 "the node with this key was revoked for ever; give it an empty data folder, which "
                 "makes another key");
  }
  RETURN_IF_ERROR(admission::IssueCertificate(authority,
                                              {.node_key = key,
                                               .node_id = keys.node(),
                                               .key_epoch = keys.epoch(),
                                               .name = flags.name,
                                               .days = flags.days},
                                              SystemClock(), flags.out));
  if (context.json) {
    report::v1::IssueReport report;
    report.set_certificate(flags.out);
    report.set_name(flags.name);
    report.set_days(static_cast<uint32_t>(flags.days));
    report.set_authority(ToHex(authority.public_key()));
    context.out << ToJsonLine(report);
    return absl::OkStatus();
  }
  context.out << fmt::format(
      "wrote {}, a certificate for {} that is valid for {} days; authority {}\n", flags.out,
      flags.name, flags.days, ToHex(authority.public_key()));
  return absl::OkStatus();
}

struct IssuerFlags {
  std::string root;
  std::string former;
  std::string out;
  int days = kIssuerDays;
  bool end_former = false;
};

absl::Status MakeIssuer(CommandContext& context, const IssuerFlags& flags) {
  privacy::InitSodium();
  ASSIGN_OR_RETURN(const privacy::IssuerCert issuer,
                   admission::MakeNextIssuer({.root_key = flags.root,
                                              .former = flags.former,
                                              .folder = flags.out,
                                              .days = flags.days,
                                              .ends_former = flags.end_former},
                                             SystemClock()));
  const std::string key = InFolder(flags.out, admission::kAuthorityKeyFile);
  const std::string statement = InFolder(flags.out, admission::kIssuerFile);
  if (context.json) {
    report::v1::IssuerReport report;
    report.set_key(key);
    report.set_certificate(statement);
    report.set_authority(ToHex(issuer.root));
    report.set_number(issuer.number);
    report.set_least(issuer.least);
    SetTime(issuer.not_after_ms, [&] { return report.mutable_expire_time(); });
    context.out << ToJsonLine(report);
    return absl::OkStatus();
  }
  context.out << FormatFields(
      {{"issuer", fmt::format("{} of {}", issuer.number, ToHex(issuer.root))},
       {"ends", issuer.least == 0 ? "no issuer" : fmt::format("issuers below {}", issuer.least)},
       {"until", FormatTime(issuer.not_after_ms) + " UTC"},
       {"key", key},
       {"certificate", statement}});
  context.out << fmt::format(
      "next: stop the authority's node, move both files into its data folder in place of the "
      "former ones, and start it; {}\n",
      flags.end_former
          ? "nodes that meet it hear that issuers before this one are ended, and every other node "
            "joins again with a token"
          : "members get certificates of the new issuer when they renew theirs");
  return absl::OkStatus();
}

}  // namespace

void AddIdentityVerbs(VerbTable& verbs) {
  auto init = std::make_shared<InitFlags>();
  Verb init_verb =
      verbs.Add("init", kInitGroup, "Create a node's data folder, key and configuration",
                [init](CommandContext& context) { return Init(context, *init); });
  init_verb.Option("--data-dir", init->data_dir, "Folder to create").Required();
  init_verb.Option("--name", init->name, "Name of the node, for people").Required();
  init_verb.Switch("--authority", init->authority,
                   "Found a cluster: create its authority's key and this node's certificate too");
  init_verb.Option("--days", init->days, "Days for which the certificate is valid")
      .InRange(1, 30)
      .ShowDefault();

  auto issue = std::make_shared<IssueFlags>();
  Verb issue_verb = verbs.Add("cert issue", kInitGroup, "Issue an admission certificate for a node",
                              [issue](CommandContext& context) { return Issue(context, *issue); });
  issue_verb.Option("--authority", issue->authority, "Key file of the authority").Required();
  issue_verb.Option("--key", issue->key, "Public key of the node, in hexadecimal").Required();
  issue_verb.Option("--rotations", issue->rotations,
                    "The file node.rotations of a node that replaced its key");
  issue_verb.Option("--name", issue->name, "Name of the node, for people").Required();
  issue_verb.Option("--out", issue->out, "Certificate file to write").Required();
  issue_verb.Option("--days", issue->days, "Days for which the certificate is valid")
      .InRange(1, 30)
      .ShowDefault();

  auto issuer = std::make_shared<IssuerFlags>();
  Verb issuer_verb = verbs.Add(
      "cert issuer", kInitGroup, "Make the next key of the cluster's authority with the root's key",
      [issuer](CommandContext& context) { return MakeIssuer(context, *issuer); });
  issuer_verb.Option("--root", issuer->root, "Key file of the root, which `ruvd init` made")
      .Required();
  issuer_verb.Option("--former", issuer->former, "The authority's present authority.cert")
      .Required();
  issuer_verb.Option("--out", issuer->out, "Folder for the new authority.key and authority.cert")
      .Required();
  issuer_verb.Option("--days", issuer->days, "Days for which the authority may use its key")
      .InRange(1, 3650)
      .ShowDefault();
  issuer_verb.Switch("--end-former", issuer->end_former,
                     "The present key was stolen: what it signed counts no more, and every other "
                     "node joins again");
}

}  // namespace ruvd::cli
