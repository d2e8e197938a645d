// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/sim/adversary.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ruvd/federation/v1/federation.pb.h"
#include "tests/sim/adversary_host.h"
#include "tests/sim/attackers.h"

namespace ruvd::test {
namespace {

constexpr std::array<std::pair<AdversaryKind, std::string_view>, 21> kNames = {
    {{AdversaryKind::kSilent, "silent"},
     {AdversaryKind::kFreeRider, "free-rider"},
     {AdversaryKind::kForger, "forger"},
     {AdversaryKind::kReplayer, "replayer"},
     {AdversaryKind::kEquivocator, "equivocator"},
     {AdversaryKind::kFlooder, "flooder"},
     {AdversaryKind::kBomber, "bomber"},
     {AdversaryKind::kSybil, "sybil"},
     {AdversaryKind::kWrongFrame, "wrong-frame"},
     {AdversaryKind::kSpammer, "spammer"},
     {AdversaryKind::kAccuser, "accuser"},
     {AdversaryKind::kSignFlip, "sign-flip"},
     {AdversaryKind::kAlie, "alie"},
     {AdversaryKind::kInnerProduct, "ipm"},
     {AdversaryKind::kMinMax, "min-max"},
     {AdversaryKind::kGaussian, "gaussian"},
     {AdversaryKind::kFalseState, "false-state"},
     {AdversaryKind::kFalseShare, "false-share"},
     {AdversaryKind::kNoiseShare, "noise-share"},
     {AdversaryKind::kWithheldShare, "withheld-share"},
     {AdversaryKind::kAddressLiar, "address-liar"}}};

constexpr std::array<AdversaryKind, 21> kKinds = {
    AdversaryKind::kSilent,     AdversaryKind::kFreeRider,     AdversaryKind::kForger,
    AdversaryKind::kReplayer,   AdversaryKind::kEquivocator,   AdversaryKind::kFlooder,
    AdversaryKind::kBomber,     AdversaryKind::kSybil,         AdversaryKind::kWrongFrame,
    AdversaryKind::kSpammer,    AdversaryKind::kAccuser,       AdversaryKind::kSignFlip,
    AdversaryKind::kAlie,       AdversaryKind::kInnerProduct,  AdversaryKind::kMinMax,
    AdversaryKind::kGaussian,   AdversaryKind::kFalseState,    AdversaryKind::kFalseShare,
    AdversaryKind::kNoiseShare, AdversaryKind::kWithheldShare, AdversaryKind::kAddressLiar};
// The last ones, which no seed picks from all kinds
constexpr size_t kNotPicked = 4;

class FalseState : public Adversary {
 public:
  bool LiesInCheckpoints() const override { return true; }
};

class ShareLiar : public Adversary {
 public:
  explicit ShareLiar(ShareLies lies) : lies_(lies) {}
  ShareLies LiesInShares() const override { return lies_; }

 private:
  ShareLies lies_;
};

}  // namespace

void Adversary::OnSend(AdversaryHost& host, federation::LinkId link, const FramePtr& frame) {
  host.SendFrame(link, frame);
}

std::string_view AdversaryName(AdversaryKind kind) {
  return std::ranges::find(kNames, kind, &decltype(kNames)::value_type::first)->second;
}

std::optional<AdversaryKind> AdversaryByName(std::string_view name) {
  const auto found = std::ranges::find(kNames, name, &decltype(kNames)::value_type::second);
  return found == kNames.end() ? std::nullopt : std::optional(found->first);
}

std::span<const AdversaryKind> AllAdversaries() {
  return kKinds;
}

std::span<const AdversaryKind> PickedAdversaries() {
  return std::span(kKinds).first(kKinds.size() - kNotPicked);
}

std::optional<bench::UpdateAttack> UpdateAttackOf(AdversaryKind kind) {
  switch (kind) {
    case AdversaryKind::kSignFlip:
      return bench::UpdateAttack::kSignFlip3;
    case AdversaryKind::kAlie:
      return bench::UpdateAttack::kAlie;
    case AdversaryKind::kInnerProduct:
      return bench::UpdateAttack::kInnerProduct;
    case AdversaryKind::kMinMax:
      return bench::UpdateAttack::kMinMax;
    case AdversaryKind::kGaussian:
      return bench::UpdateAttack::kGaussian;
    default:
      return std::nullopt;
  }
}

bool LiesInShares(AdversaryKind kind) {
  return kind == AdversaryKind::kFalseShare || kind == AdversaryKind::kNoiseShare ||
         kind == AdversaryKind::kWithheldShare;
}

bool LiesAboutLearning(AdversaryKind kind) {
  return kind == AdversaryKind::kFalseState || LiesInShares(kind) ||
         UpdateAttackOf(kind).has_value();
}

std::unique_ptr<Adversary> MakeAdversary(AdversaryKind kind) {
  switch (kind) {
    case AdversaryKind::kSilent:
      return MakeSilent();
    case AdversaryKind::kFreeRider:
      return MakeFreeRider();
    case AdversaryKind::kForger:
      return MakeForger();
    case AdversaryKind::kReplayer:
      return MakeReplayer();
    case AdversaryKind::kEquivocator:
      return MakeEquivocator();
    case AdversaryKind::kFlooder:
      return MakeFlooder();
    case AdversaryKind::kBomber:
      return MakeBomber();
    case AdversaryKind::kSybil:
      return MakeSybil();
    case AdversaryKind::kWrongFrame:
      return MakeWrongFrame();
    case AdversaryKind::kSpammer:
      return MakeSpammer();
    case AdversaryKind::kAccuser:
      return MakeAccuser();
    case AdversaryKind::kAddressLiar:
      return MakeAddressLiar();
    case AdversaryKind::kFalseState:
      return std::make_unique<FalseState>();
    case AdversaryKind::kFalseShare:
      return std::make_unique<ShareLiar>(ShareLies::kAny);
    case AdversaryKind::kNoiseShare:
      return std::make_unique<ShareLiar>(ShareLies::kNoise);
    case AdversaryKind::kWithheldShare:
      return std::make_unique<ShareLiar>(ShareLies::kWithheld);
    default:
      return std::make_unique<Adversary>();  // the node lies with Learning, which knows all honest
                                             // contributions
  }
  return nullptr;
}

}  // namespace ruvd::test
