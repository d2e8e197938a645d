// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/status.h"
#include "node/api/message_times.h"
#include "node/api/pages.h"
#include "node/api/rpc_status.h"
#include "node/api/services.h"
#include "node/limits.h"
#include "node/sharing/federation.h"
#include "ruvd/cluster/v1/cluster.grpc.pb.h"

namespace ruvd::api {
namespace {

cluster::v1::MemberState StateOf(const federation::Member& member) {
  if (member.self) {
    return cluster::v1::MEMBER_STATE_SELF;
  }
  switch (member.standing) {
    case federation::MemberStanding::kRevoked:
      return cluster::v1::MEMBER_STATE_REVOKED;
    case federation::MemberStanding::kEquivocated:
      return cluster::v1::MEMBER_STATE_EXCLUDED;
    case federation::MemberStanding::kGood:
      break;
  }
  switch (member.state) {
    case federation::MemberState::kAlive:
      return cluster::v1::MEMBER_STATE_ALIVE;
    case federation::MemberState::kSuspect:
      return cluster::v1::MEMBER_STATE_SUSPECT;
    case federation::MemberState::kLeft:
      return cluster::v1::MEMBER_STATE_LEFT;
    case federation::MemberState::kDead:
      return cluster::v1::MEMBER_STATE_DEAD;
  }
  return cluster::v1::MEMBER_STATE_UNSPECIFIED;
}

cluster::v1::StateAgreement AgreementOf(federation::StateAgreement agreement) {
  switch (agreement) {
    case federation::StateAgreement::kUnknown:
      return cluster::v1::STATE_AGREEMENT_UNKNOWN;
    case federation::StateAgreement::kEqual:
      return cluster::v1::STATE_AGREEMENT_EQUAL;
    case federation::StateAgreement::kDiffers:
      return cluster::v1::STATE_AGREEMENT_DIFFERS;
  }
  return cluster::v1::STATE_AGREEMENT_UNSPECIFIED;
}

void WriteMember(const federation::Member& member, const sharing::FederationView& view,
                 cluster::v1::Member* message) {
  message->set_node_id(ToHex(member.id));
  message->set_name(member.name);
  message->set_address(member.address);
  message->set_state(StateOf(member));
  *message->mutable_since_heard() =
      ToDuration(member.self ? Duration::zero() : view.now - member.last_heard);
  if (member.rtt.has_value()) {
    *message->mutable_rtt() = ToDuration(*member.rtt);
  }
  message->set_linked(member.linked);
  if (member.linked) {
    message->set_rounds(AgreementOf(member.rounds));
  }
  if (const auto own = view.patterns.find(member.id); own != view.patterns.end()) {
    *message->mutable_patterns() = own->second;
  }
  if (const auto own = view.experts.find(member.id); own != view.experts.end()) {
    *message->mutable_expert() = own->second;
  }
}

absl::Status WriteMembers(const sharing::FederationView& view,
                          const cluster::v1::ListMembersRequest& request,
                          cluster::v1::ListMembersResponse* response) {
  std::vector<const federation::Member*> members;
  members.reserve(view.members.size());
  for (const federation::Member& member : view.members) {
    members.push_back(&member);
  }
  const auto key_of = [](const federation::Member* member) {
    return std::string(AsText(member->id));
  };
  std::ranges::sort(members, {}, key_of);
  return WritePage(
      members, request, limits::kMaxPageItems, key_of,
      [&](const federation::Member* member) {
        WriteMember(*member, view, response->add_members());
      },
      response);
}

class ClusterServiceImpl final : public cluster::v1::ClusterService::CallbackService {
 public:
  explicit ClusterServiceImpl(const ServiceDependencies& dependencies) : node_(dependencies) {}

  grpc::ServerUnaryReactor* ListMembers(grpc::CallbackServerContext* context,
                                        const cluster::v1::ListMembersRequest* request,
                                        cluster::v1::ListMembersResponse* response) override {
    auto* reactor = context->DefaultReactor();
    node_.federation->View(
        [reactor, request, response](const absl::StatusOr<sharing::FederationView>& view) {
          reactor->Finish(
              ToRpcStatus(view.ok() ? WriteMembers(*view, *request, response) : view.status()));
        });
    return reactor;
  }

 private:
  const ServiceDependencies node_;
};

}  // namespace

std::unique_ptr<grpc::Service> MakeClusterService(const ServiceDependencies& dependencies) {
  return std::make_unique<ClusterServiceImpl>(dependencies);
}

}  // namespace ruvd::api
