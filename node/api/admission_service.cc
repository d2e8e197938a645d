// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/api/admission_service.h"

#include <grpc/support/time.h>
#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/crowd.h"
#include "base/mutex.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/reasons.h"
#include "node/api/bad_request.h"
#include "node/api/message_times.h"
#include "node/api/messages.h"
#include "node/api/query_lane.h"
#include "node/api/rpc_status.h"
#include "node/limits.h"
#include "node/transport/peer_address.h"
#include "ruvd/admission/v1/admission.grpc.pb.h"
#include "ruvd/cluster/v1/cluster.grpc.pb.h"

namespace ruvd::api {
namespace {

using JoinReactor =
    grpc::ServerBidiReactor<admission::v1::JoinRequest, admission::v1::JoinResponse>;

template <typename Array>
absl::StatusOr<Array> ExactBytes(const std::string& bytes, std::string_view what) {
  Array array{};
  if (bytes.size() != array.size()) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                 "{} has {} bytes instead of {}; update the calling program", what, bytes.size(),
                 array.size());
  }
  std::copy(bytes.begin(), bytes.end(), array.begin());
  return array;
}

class Joining;

// The joins under way, one at a time of each connection. Among those without an application the
// source with the most gives its oldest for a newcomer, so that silent callers of a few addresses
// keep no node out. Thread-safe.
class JoinQueue {
 public:
  explicit JoinQueue(JoinCounts& counts) : counts_(counts) {}
  // Adds a join that has not applied, of a peer as gRPC names it. Returns false if its connection
  // has one already. Sets another one that must end for it, or null.
  bool Add(const std::shared_ptr<Joining>& join, const std::string& peer,
           std::shared_ptr<Joining>* displaced);
  // Notes that a join applies. Returns false if too many do already.
  bool Apply(const std::shared_ptr<Joining>& join);
  void Remove(const std::shared_ptr<Joining>& join);

 private:
  void CountUsed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    counts_.silent.SetUsed(silent_.size());
    counts_.applying.SetUsed(applying_.size());
    counts_.of_connection.SetUsed(connections_.size());
  }

  JoinCounts& counts_;
  Mutex mutex_;
  std::map<std::shared_ptr<Joining>, std::string> peers_ ABSL_GUARDED_BY(mutex_);  // of all joins
  std::set<std::string> connections_ ABSL_GUARDED_BY(mutex_);
  Crowd<std::shared_ptr<Joining>, transport::PeerSource> silent_ ABSL_GUARDED_BY(mutex_);
  std::set<std::shared_ptr<Joining>> applying_ ABSL_GUARDED_BY(mutex_);
};

// The call of one joining node. gRPC calls the reactions one after another, except OnCancel.
class Joining final : public JoinReactor, public std::enable_shared_from_this<Joining> {
 public:
  static JoinReactor* Start(const AdmissionDependencies& dependencies, JoinQueue& joins,
                            grpc::CallbackServerContext* context) {
    std::shared_ptr<Joining> joining(new Joining(dependencies, joins, context));
    joining->self_ = joining;
    std::shared_ptr<Joining> displaced;
    if (!joins.Add(joining, context->peer(), &displaced)) {
      joining->Finish(ToRpcStatus(
          Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                "a node is joining over this connection already; open another connection")));
      return joining.get();
    }
    if (displaced != nullptr) {
      displaced->GiveUp();
    }
    joining->GiveUpInTime();
    joining->StartSendInitialMetadata();  // the caller recognises the connection by it
    joining->StartRead(&joining->request_);
    return joining.get();
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::CANCELLED);
    } else if (!welcomed_ && request_.has_greeting()) {
      Welcome(request_.greeting());
    } else if (welcomed_ && request_.has_application()) {
      Apply();
    } else {
      Finish(
          ToRpcStatus(Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                            "a step of joining arrived out of order; update the calling program")));
    }
  }
  void OnWriteDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::CANCELLED);
    } else if (request_.has_application()) {
      Finish(grpc::Status::OK);
    } else {
      welcomed_ = true;
      StartRead(&request_);
    }
  }
  void OnDone() override {
    {
      const MutexLock lock(mutex_);
      context_ = nullptr;  // belongs to gRPC and is gone after this
    }
    alarm_.Cancel();
    const std::shared_ptr<Joining> self = std::move(self_);
    joins_.Remove(self);
  }

 private:
  Joining(const AdmissionDependencies& dependencies, JoinQueue& joins,
          grpc::CallbackServerContext* context)
      : dependencies_(dependencies), joins_(joins), context_(context) {}

  void GiveUpInTime() {
    alarm_.Set(gpr_time_from_seconds(limits::kJoinPatience.count(), GPR_TIMESPAN),
               [weak = weak_from_this()](bool due) {
                 if (const std::shared_ptr<Joining> self = weak.lock(); due && self != nullptr) {
                   self->GiveUp();
                 }
               });
  }
  void GiveUp() {
    const MutexLock lock(mutex_);
    if (context_ != nullptr) {
      context_->TryCancel();
    }
  }
  void Apply() {
    if (joins_.Apply(shared_from_this())) {
      dependencies_.files->Post([self = shared_from_this()] { self->Admit(); });
    } else {
      Finish(ToRpcStatus(Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                               "{} nodes are joining already; try again in a moment",
                               limits::kMaxJoinsUnderWay)));
    }
  }

  void Welcome(const admission::v1::Greeting& greeting) {
    const absl::Status status = [&]() -> absl::Status {
      ASSIGN_OR_RETURN(const auto nonce, ExactBytes<privacy::JoinWelcome::Nonce>(
                                             greeting.nonce(), "the greeting's nonce"));
      ASSIGN_OR_RETURN(const Digest seen, ExactBytes<Digest>(greeting.seen_certificate(),
                                                             "the greeting's certificate"));
      const std::vector<Digest> own = dependencies_.tls->own_certificates();
      if (std::ranges::find(own, seen) == own.end()) {
        return Error(absl::StatusCode::kPermissionDenied, reasons::kChannelBinding,
                     "the caller sees another TLS certificate than this node's, so something in "
                     "between terminates TLS; dial the node directly");
      }
      nonce_ = nonce;
      const privacy::JoinWelcome welcome = dependencies_.office->Welcome(nonce, seen);
      auto* message = response_.mutable_welcome();
      message->set_issuer(welcome.issuer.Encode());
      message->set_proof(std::string(AsText(welcome.proof)));
      return absl::OkStatus();
    }();
    if (status.ok()) {
      StartWrite(&response_);
    } else {
      Finish(ToRpcStatus(status));
    }
  }

  void Admit() {
    const admission::v1::Application& application = request_.application();
    const absl::StatusOr<admission::Membership> membership =
        application.renewed_cert().empty() ? Admitted(application) : Renewed(application);
    if (membership.ok()) {
      dependencies_.on_revoked(membership->revocations);  // a key may have ended
      response_.mutable_admission()->set_admission_cert(membership->certificate.Encode());
      response_.mutable_admission()->set_revocations(membership->revocations.Encode());
      StartWrite(&response_);
    } else {
      Finish(ToRpcStatus(membership.status()));
    }
  }
  absl::StatusOr<admission::Membership> Admitted(const admission::v1::Application& application) {
    privacy::JoinRequest join{.token = application.token(), .name = application.name()};
    ASSIGN_OR_RETURN(join.node_key,
                     ExactBytes<privacy::PublicKey>(application.node_key(), "the node's key"));
    join.rotations = application.rotations();
    ASSIGN_OR_RETURN(join.proof, ExactBytes<privacy::Signature>(application.proof(), "the proof"));
    return dependencies_.office->Admit(join);
  }
  absl::StatusOr<admission::Membership> Renewed(const admission::v1::Application& application) {
    privacy::CertificateRenewal renewal;
    ASSIGN_OR_RETURN(renewal.certificate,
                     privacy::AdmissionCert::Parse(AsBytes(application.renewed_cert())));
    ASSIGN_OR_RETURN(renewal.proof,
                     ExactBytes<privacy::Signature>(application.proof(), "the proof"));
    if (!application.rotations().empty()) {
      ASSIGN_OR_RETURN(renewal.rotation,
                       privacy::KeyRotation::Parse(AsBytes(application.rotations())));
    }
    renewal.ends_former = application.ends_former();
    return dependencies_.office->Renew(renewal, nonce_);
  }

  const AdmissionDependencies& dependencies_;
  JoinQueue& joins_;
  std::shared_ptr<Joining> self_;
  admission::v1::JoinRequest request_;
  admission::v1::JoinResponse response_;
  bool welcomed_ = false;
  privacy::JoinWelcome::Nonce nonce_{};  // of the greeting
  grpc::Alarm alarm_;
  Mutex mutex_;
  grpc::CallbackServerContext* context_ ABSL_GUARDED_BY(mutex_);
};

bool JoinQueue::Add(const std::shared_ptr<Joining>& join, const std::string& peer,
                    std::shared_ptr<Joining>* displaced) {
  const auto address = transport::ParsePeer(peer);
  const MutexLock lock(mutex_);
  if (!connections_.insert(peer).second) {
    counts_.of_connection.Refuse();
    return false;
  }
  peers_.emplace(join, peer);
  if (silent_.size() >= limits::kMaxJoinsUnderWay) {
    *displaced = *silent_.OldestOfMost();
    silent_.Remove(*displaced);
    counts_.silent.Refuse();
  }
  silent_.Add(join, address ? transport::SourceOf(*address) : transport::PeerSource{});
  CountUsed();
  return true;
}

bool JoinQueue::Apply(const std::shared_ptr<Joining>& join) {
  const MutexLock lock(mutex_);
  if (applying_.size() >= limits::kMaxJoinsUnderWay) {
    counts_.applying.Refuse();
    return false;
  }
  silent_.Remove(join);
  applying_.insert(join);
  CountUsed();
  return true;
}

void JoinQueue::Remove(const std::shared_ptr<Joining>& join) {
  const MutexLock lock(mutex_);
  silent_.Remove(join);
  applying_.erase(join);
  if (const auto peer = peers_.find(join); peer != peers_.end()) {
    connections_.erase(peer->second);
    peers_.erase(peer);
  }
  CountUsed();
}

class AdmissionServiceImpl final : public admission::v1::AdmissionService::CallbackService {
 public:
  explicit AdmissionServiceImpl(const AdmissionDependencies& dependencies)
      : dependencies_(dependencies), joins_(*dependencies.joins) {}

  JoinReactor* Join(grpc::CallbackServerContext* context) override {
    return Joining::Start(dependencies_, joins_, context);
  }

 private:
  const AdmissionDependencies dependencies_;
  JoinQueue joins_;
};

absl::StatusOr<uint32_t> ReadRoles(const cluster::v1::CreateJoinTokenRequest& request) {
  uint32_t roles = 0;
  for (const int role : request.roles()) {
    switch (role) {
      case cluster::v1::MEMBER_ROLE_OBSERVER:
        roles |= privacy::roles::kObserver;
        break;
      case cluster::v1::MEMBER_ROLE_CONTRIBUTOR:
        roles |= privacy::roles::kObserver | privacy::roles::kContributor;
        break;
      case cluster::v1::MEMBER_ROLE_AGGREGATOR:
        roles |= privacy::roles::kObserver | privacy::roles::kAggregator;
        break;
      case cluster::v1::MEMBER_ROLE_ADMIN:
        roles |= privacy::roles::kObserver | privacy::roles::kAdmin;
        break;
      default:
        return BadField(
            "roles", "role {} is not known; use observer, contributor, aggregator or admin", role);
    }
  }
  return roles;
}

class AuthorityServiceImpl final : public cluster::v1::AuthorityService::CallbackService {
 public:
  explicit AuthorityServiceImpl(const AdmissionDependencies& dependencies)
      : dependencies_(dependencies), lane_(dependencies.files, limits::kMaxJoinsUnderWay) {}

  grpc::ServerUnaryReactor* CreateJoinToken(
      grpc::CallbackServerContext* context, const cluster::v1::CreateJoinTokenRequest* request,
      cluster::v1::CreateJoinTokenResponse* response) override {
    auto* reactor = context->DefaultReactor();
    lane_.Run(context, reactor, [this, request, response]() -> absl::Status {
      ASSIGN_OR_RETURN(const uint32_t roles, ReadRoles(*request));
      // The issuer refuses a lifetime that is too long.
      ASSIGN_OR_RETURN(const int64_t lifetime, ReadDuration("lifetime", request->lifetime()));
      ASSIGN_OR_RETURN(const admission::Invitation invitation,
                       dependencies_.office->Invite(roles, lifetime));
      response->set_token(invitation.text.Encode());
      *response->mutable_expire_time() = ToTimestamp(invitation.expires_ms);
      return absl::OkStatus();
    });
    return reactor;
  }

  grpc::ServerUnaryReactor* RevokeNode(grpc::CallbackServerContext* context,
                                       const cluster::v1::RevokeNodeRequest* request,
                                       cluster::v1::RevokeNodeResponse* response) override {
    auto* reactor = context->DefaultReactor();
    lane_.Run(context, reactor, [this, request, response]() -> absl::Status {
      ASSIGN_OR_RETURN(const privacy::NodeId node, ReadNodeId("node_id", request->node_id()));
      if (node == dependencies_.self) {
        return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                     "this node holds the cluster authority's key, and no other node could admit "
                     "or revoke nodes; move authority.key to another node first");
      }
      ASSIGN_OR_RETURN(const privacy::RevocationList list, dependencies_.office->Revoke(node));
      dependencies_.on_revoked(list);
      response->set_number(list.edition());
      response->set_revoked(static_cast<uint32_t>(std::ranges::count(
          list.nodes, privacy::kEveryEpoch, &privacy::RevokedNode::least_epoch)));
      return absl::OkStatus();
    });
    return reactor;
  }

 private:
  const AdmissionDependencies dependencies_;
  QueryLane lane_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeAdmissionService(const AdmissionDependencies& dependencies) {
  return std::make_unique<AdmissionServiceImpl>(dependencies);
}

std::unique_ptr<grpc::Service> MakeAuthorityService(const AdmissionDependencies& dependencies) {
  return std::make_unique<AuthorityServiceImpl>(dependencies);
}

}  // namespace ruvd::api
