// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/util/time_util.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <memory>

#include "base/bytes.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/admission/identity.h"
#include "node/admission/join.h"
#include "node/admission/node_key_files.h"
#include "node/admission/revocation_file.h"
#include "node/client/client.h"
#include "node/client/pages.h"
#include "node/config/config.h"
#include "node/limits.h"
#include "node/local/verbs.h"
#include "node/terminal/command.h"
#include "node/terminal/output.h"
#include "node/terminal/period.h"
#include "node/terminal/terminal.h"
#include "node/transport/tls.h"
#include "privacy/reasons.h"
#include "privacy/sodium.h"
#include "ruvd/cluster/v1/cluster.pb.h"
#include "ruvd/report/v1/report.pb.h"

namespace ruvd::cli {
namespace {

namespace pb = cluster::v1;
using google::protobuf::util::TimeUtil;

constexpr char kAdmissionGroup[] = "Cluster";
constexpr std::chrono::seconds kOfficePatience(30);

const std::map<std::string, pb::MemberRole>& RolesByName() {
  static const auto* const names =
      new std::map<std::string, pb::MemberRole>{{"observer", pb::MEMBER_ROLE_OBSERVER},
                                                {"contributor", pb::MEMBER_ROLE_CONTRIBUTOR},
                                                {"aggregator", pb::MEMBER_ROLE_AGGREGATOR},
                                                {"admin", pb::MEMBER_ROLE_ADMIN}};
  return *names;
}

// Calls a method of the cluster authority's node.
template <typename Response>
absl::StatusOr<Response> CallOffice(const CommandContext& context,
                                    const google::protobuf::Message& request) {
  client::NodeClient client(context.server, context.credentials);
  client.set_timeout(kOfficePatience);
  absl::StatusOr<Response> response = client.Call<Response>(request);
  if (absl::IsUnimplemented(response.status())) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kNotFound,
                 "the node at {} does not hold the cluster authority's key, or federation is off "
                 "there; use --server to name the node on which `ruvd init --authority` was run",
                 context.server);
  }
  return response;
}

struct TokenFlags {
  std::vector<std::string> roles = {"contributor"};
  std::string expires = "1h";
};

absl::Status CreateToken(CommandContext& context, const TokenFlags& flags) {
  pb::CreateJoinTokenRequest request;
  for (const std::string& role : flags.roles) {
    request.add_roles(RolesByName().at(role));
  }
  ASSIGN_OR_RETURN(const int64_t lifetime, ParsePeriod(flags.expires));
  *request.mutable_lifetime() = TimeUtil::MillisecondsToDuration(lifetime);
  ASSIGN_OR_RETURN(const auto response, CallOffice<pb::CreateJoinTokenResponse>(context, request));
  if (context.json) {
    context.out << ToJsonLine(response);
  } else {
    context.out << fmt::format(
        "{}\n"
        "this token admits one node ({}) until {} UTC; run on that node: ruvd join LINKS --token "
        "TOKEN, where LINKS is the federation address of this node\n",
        response.token(), fmt::join(flags.roles, ", "), FormatTime(response.expire_time()));
  }
  return absl::OkStatus();
}

struct JoinFlags {
  std::string address;
  std::string token;
  std::string data_dir;
  std::string name;
};

std::string PathIn(const std::string& folder, const char* file) {
  return std::filesystem::path(folder) / file;
}

absl::Status Join(CommandContext& context, const JoinFlags& flags) {
  privacy::InitSodium();
  ASSIGN_OR_RETURN(const privacy::JoinInvitation invitation,
                   privacy::JoinInvitation::Parse(flags.token));
  RETURN_IF_ERROR(privacy::CheckNodeName(flags.name));
  if (const auto present = admission::LoadStoredCertificate(flags.data_dir);
      present && privacy::ClusterIdOf(present->issuer.root) != invitation.cluster) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kCertificateForeign,
                 "{} belongs to another cluster than the token; join with an empty folder, or ask "
                 "the operator of that cluster for a token",
                 flags.data_dir);
  }
  RETURN_IF_ERROR(MakeDataFolder(flags.data_dir));
  ASSIGN_OR_RETURN(const admission::Membership membership,
                   admission::JoinWithNodeKey(
                       flags.data_dir,
                       [&](const privacy::NodeKey& key) {
                         return admission::JoinCluster(flags.address, invitation, flags.name, key,
                                                       SystemClock());
                       },
                       SystemClock()));
  const privacy::AdmissionCert& certificate = membership.certificate;
  config::NodeConfig config;
  config.node.name = flags.name;
  config.node.data_dir = AbsolutePath(flags.data_dir);
  config.federation.enabled = true;
  config.federation.authority = ToHex(certificate.issuer.root);
  config.federation.seeds = {flags.address};
  const std::string path = PathIn(flags.data_dir, admission::kConfigFile);
  const bool kept = std::filesystem::exists(path);
  if (!kept) {
    RETURN_IF_ERROR(WriteFileAtomically(path, config::ConfigToToml(config)));
  }
  if (context.json) {
    report::v1::JoinReport report;
    report.set_id(ToHex(certificate.node_id));
    report.set_authority(config.federation.authority);
    SetTime(certificate.not_after_ms, [&] { return report.mutable_expire_time(); });
    report.set_config(path);
    context.out << ToJsonLine(report);
    return absl::OkStatus();
  }
  context.out << FormatFields({{"id", ToHex(certificate.node_id)},
                               {"authority", config.federation.authority},
                               {"member until", FormatTime(certificate.not_after_ms) + " UTC"},
                               {"config", path}});
  context.out
      << (kept ? fmt::format(
                     "next: set federation.enabled, federation.authority and federation.seeds = "
                     "[\"{}\"] in {}, which existed already and was not changed\n",
                     flags.address, path)
               : fmt::format("next: ruvd serve --config {} --model.path MODEL.gguf\n", path));
  return absl::OkStatus();
}

struct RenewFlags {
  std::string address;
  std::string data_dir;
};

absl::Status Renew(CommandContext& context, const RenewFlags& flags) {
  privacy::InitSodium();
  const std::string path = PathIn(flags.data_dir, admission::kNodeCertificateFile);
  // The certificate is read first: without it this node is not a member, and then no key may be
  // created.
  RETURN_IF_ERROR(ReadFile(path, limits::kMaxKeyFileBytes).status());
  ASSIGN_OR_RETURN(const privacy::NodeKey key,
                   admission::LoadNodeKey(flags.data_dir, SystemClock()));
  // The key may just have been replaced, and the certificate with it.
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, limits::kMaxKeyFileBytes));
  ASSIGN_OR_RETURN(const privacy::AdmissionCert present,
                   privacy::AdmissionCert::Parse(AsBytes(bytes)));
  ASSIGN_OR_RETURN(
      const admission::Membership membership,
      admission::RenewAt(flags.address, present, key, limits::kJoinPatience, SystemClock()));
  const privacy::AdmissionCert& renewed = membership.certificate;
  RETURN_IF_ERROR(
      admission::RevocationFile(flags.data_dir).Store(membership.revocations, renewed.issuer.root));
  RETURN_IF_ERROR(WriteFileAtomically(path, renewed.Encode()));
  if (context.json) {
    report::v1::RenewReport report;
    report.set_id(ToHex(key.id()));
    SetTime(renewed.not_after_ms, [&] { return report.mutable_expire_time(); });
    context.out << ToJsonLine(report);
    return absl::OkStatus();
  }
  context.out << FormatFields(
      {{"id", ToHex(key.id())}, {"member until", FormatTime(renewed.not_after_ms) + " UTC"}});
  context.out << "a running node uses the new certificate within an hour, or at once on SIGHUP\n";
  return absl::OkStatus();
}

struct RotateFlags {
  std::string address;
  std::string data_dir;
  bool end_former = false;
};

absl::Status RotateKey(CommandContext& context, const RotateFlags& flags) {
  privacy::InitSodium();
  ASSIGN_OR_RETURN(const privacy::AdmissionCert granted,
                   admission::ReplaceNodeKey(
                       flags.data_dir,
                       [&flags](const privacy::AdmissionCert& present, const privacy::NodeKey& key,
                                const privacy::KeyRotation& rotation) {
                         return admission::RotateAt(flags.address, present, key, rotation,
                                                    flags.end_former, limits::kJoinPatience,
                                                    SystemClock());
                       },
                       SystemClock(), /*always_asks=*/flags.end_former));
  if (context.json) {
    report::v1::NewKeyReport report;
    report.set_id(ToHex(granted.node_id));
    report.set_public_key(ToHex(granted.node_key));
    report.set_key_epoch(granted.key_epoch);
    SetTime(granted.not_after_ms, [&] { return report.mutable_expire_time(); });
    context.out << ToJsonLine(report);
    return absl::OkStatus();
  }
  context.out << FormatFields({{"id", ToHex(granted.node_id)},
                               {"public key", ToHex(granted.node_key)},
                               {"replaced", fmt::format("{} time(s)", granted.key_epoch)},
                               {"member until", FormatTime(granted.not_after_ms) + " UTC"}});
  context.out << (flags.end_former
                      ? "next: start the node again now, because its former key counts no more\n"
                      : "next: start the node again within a day; after that its former key counts "
                        "no more\n");
  return absl::OkStatus();
}

// Returns the id of the member with this name or id, in hexadecimal.
absl::StatusOr<std::string> IdOfMember(CommandContext& context, const std::string& text) {
  const auto bytes = FromHex(text);
  if (bytes && bytes->size() == sizeof(privacy::NodeId)) {
    return ToHex(AsBytes(*bytes));
  }
  client::NodeClient client(context.server, context.credentials);
  client.set_timeout(kOfficePatience);
  ASSIGN_OR_RETURN(const auto members,
                   client::AllPages<pb::ListMembersResponse>(client, pb::ListMembersRequest()));
  std::string id;
  for (const auto& member : members.members()) {
    if (member.name() == text && !id.empty()) {
      return UsageError(
          fmt::format("two members are called {}; give the id from `ruvd members` instead", text));
    }
    id = member.name() == text ? member.node_id() : id;
  }
  if (id.empty()) {
    return UsageError(
        fmt::format("this node has seen no member called {} since its start; `ruvd members` lists "
                    "names and ids; an id of 64 digits works even for a member that was not seen",
                    text));
  }
  return id;
}

absl::Status Revoke(CommandContext& context, const std::string& node) {
  pb::RevokeNodeRequest request;
  ASSIGN_OR_RETURN(*request.mutable_node_id(), IdOfMember(context, node));
  ASSIGN_OR_RETURN(const auto response, CallOffice<pb::RevokeNodeResponse>(context, request));
  if (context.json) {
    context.out << ToJsonLine(response);
  } else {
    context.out << fmt::format(
        "revoked permanently; list {} names {} node(s). This node refuses them from now on; other "
        "nodes learn the list at once over open links, or when they next link\n",
        response.number(), response.revoked());
  }
  return absl::OkStatus();
}

struct TlsFlags {
  std::vector<std::string> names;
  std::string out;
};

absl::Status MakeTlsFiles(CommandContext& context, const TlsFlags& flags) {
  ASSIGN_OR_RETURN(
      const transport::TlsCertificate made,
      transport::MakeSelfSignedCertificate(fmt::format("{}", fmt::join(flags.names, ","))));
  const std::string certificate = flags.out + ".cert.pem";
  const std::string key = flags.out + ".key.pem";
  RETURN_IF_ERROR(WriteFileAtomically(key, made.private_key, 0600));
  RETURN_IF_ERROR(WriteFileAtomically(certificate, made.certificate));
  if (context.json) {
    report::v1::TlsFilesReport report;
    report.set_certificate(certificate);
    report.set_key(key);
    context.out << ToJsonLine(report);
    return absl::OkStatus();
  }
  context.out << fmt::format(
      "wrote {} (for api.tls_cert) and {} (for api.tls_key); clients name the first with "
      "--tls-ca\n",
      certificate, key);
  return absl::OkStatus();
}

}  // namespace

void AddAdmissionVerbs(VerbTable& verbs) {
  auto token = std::make_shared<TokenFlags>();
  Verb create = verbs.Add(
      "token create", kAdmissionGroup, "Create a token that lets one node join the cluster",
      [token](CommandContext& context) { return CreateToken(context, *token); });
  create
      .Option("--role", token->roles,
              "Role of the new node: observer, contributor, aggregator or admin")
      .OneOf({"observer", "contributor", "aggregator", "admin"})
      .SeparatedBy(',')
      .ShowDefault();
  create.Option("--expires", token->expires, "How long the token is valid, at most 24h")
      .ShowDefault();

  auto join = std::make_shared<JoinFlags>();
  Verb join_verb = verbs.Add("join", kAdmissionGroup, "Join a cluster with a token",
                             [join](CommandContext& context) { return Join(context, *join); });
  join_verb
      .Option("address", join->address,
              "HOST:PORT of the link service (federation.listen) of the node that made the token")
      .Required();
  join_verb.Option("--token", join->token, "Token that `ruvd token create` printed").Required();
  join_verb
      .Option("--data-dir", join->data_dir, "Data folder of this node; it is created if missing")
      .Required();
  join_verb.Option("--name", join->name, "Name of the node, for people").Required();

  auto renew = std::make_shared<RenewFlags>();
  Verb renew_verb = verbs.Add("cert renew", kAdmissionGroup,
                              "Replace an admission certificate that is still valid with a new one",
                              [renew](CommandContext& context) { return Renew(context, *renew); });
  renew_verb
      .Option("address", renew->address,
              "HOST:PORT of the link service (federation.listen) of the authority's node")
      .Required();
  renew_verb.Option("--data-dir", renew->data_dir, "Data folder of the node").Required();

  auto rotate = std::make_shared<RotateFlags>();
  Verb rotate_verb =
      verbs.Add("cert rotate", kAdmissionGroup,
                "Replace the key of this node with a new one; its id, data and consents stay",
                [rotate](CommandContext& context) { return RotateKey(context, *rotate); });
  rotate_verb
      .Option("address", rotate->address,
              "HOST:PORT of the link service (federation.listen) of the authority's node")
      .Required();
  rotate_verb.Option("--data-dir", rotate->data_dir, "Data folder of the node").Required();
  rotate_verb.Switch("--end-former", rotate->end_former,
                     "End the former key at once, because it may be stolen, not after a day");

  auto node = std::make_shared<std::string>();
  verbs
      .Add("revoke", kAdmissionGroup, "Remove a member from the cluster permanently",
           [node](CommandContext& context) { return Revoke(context, *node); })
      .Option("node", *node, "Name or id of the member, as `ruvd members` shows it")
      .Required();

  auto tls = std::make_shared<TlsFlags>();
  Verb tls_verb =
      verbs.Add("cert tls", kAdmissionGroup, "Make a self-signed certificate for the client API",
                [tls](CommandContext& context) { return MakeTlsFiles(context, *tls); });
  tls_verb
      .Option("--name", tls->names,
              "Name that clients dial: DNS:node.example or IP:10.0.0.7; may be repeated")
      .SeparatedBy(',')
      .Required();
  tls_verb.Option("--out", tls->out, "Path to write, without the endings .cert.pem and .key.pem")
      .Required();
}

}  // namespace ruvd::cli
