// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "base/clock.h"
#include "base/random.h"
#include "federation/core/gossip_core.h"
#include "federation/link/cluster_clock.h"
#include "federation/membership/record_set.h"
#include "node/sharing/node_rounds.h"
#include "node/sharing/round_release.h"
#include "privacy/consent/consent.h"
#include "privacy/ledger/release_ledger.h"
#include "privacy/release/release_guards.h"
#include "tests/sim/adversary.h"
#include "tests/sim/adversary_host.h"
#include "tests/sim/audit.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/identities.h"
#include "tests/sim/learning.h"
#include "tests/sim/rounds_check.h"
#include "tests/sim/sim_disk.h"
#include "tests/sim/sim_ledger.h"
#include "tests/sim/sim_network.h"
#include "tests/sim/sim_rounds.h"

namespace ruvd::test {

struct NodeSetup {
  size_t number = 0;
  std::vector<std::string> contacts;  // addresses that it knows from the start
  uint64_t seed = 0;
  int64_t clock_offset_ms = 0;
  double clock_drift = 0;  // 1e-4: 100 microseconds a second fast
  Duration tick = std::chrono::milliseconds(250);
  // The plan of the world's rounds.
  std::shared_ptr<const federation::LearnerPlan> plan;
  // What the node learns with the others; null: it runs no rounds.
  Learning* learning = nullptr;
  // What it sends as contributions if it lies in them.
  std::optional<bench::UpdateAttack> attack;
  // What its operator chose: kPublic, kDp for contributions with noise, or kMasked for masked sums
  // in place of contributions.
  privacy::ConsentTier tier = privacy::ConsentTier::kPublic;
  // Defects
  bool syncs_items = true;        // false: acknowledges items that a power cut may take
  bool syncs_ledger = true;       // false: forgets what was spent
  bool charges_first = true;      // false: charges a contribution when it has left
  bool charges_shares = true;     // false: charges a release with noise when it has left
  bool says_input = true;         // false: puts something else into a share than it says
  bool saves_last_round = true;   // false: its saved state says that the last round is missing
  bool forgets_withdrawn = true;  // false: counts withdrawn contributions after a restart
  bool forgets_lessons = true;    // false: trains lessons that were withdrawn
  bool takes_back = true;         // false: keeps offering what is made from withdrawn lessons
  bool charges_once = true;       // false: does not ask whether a round is charged already
  // The pool of the world: each record is verified and kept once.
  std::shared_ptr<federation::RecordPool> record_pool;
};

// The owner of one GossipCore and of its NodeRounds: it carries out their actions over the
// simulated network and disk, as the node's federation actor does over the real ones. Own items are
// synced before they are acknowledged and sent, other nodes' items and the state of the rounds half
// a second later, and the ledger before every step. A process can be killed between any two
// actions. Not thread-safe.
class SimNode final : public NetworkEndpoint, public AdversaryHost {
 public:
  // The referenced objects must outlive the node. With an adversary the node is Byzantine.
  SimNode(NodeSetup setup, EventQueue& queue, SimNetwork& network, Audit& audit,
          std::unique_ptr<Adversary> adversary);

  // Starts the process from the contents of the disk.
  void Start();
  // The running process, and those after it, know these members from an earlier life.
  void Establish(std::shared_ptr<const federation::RecordBase> members);
  // Ends the process; the machine continues, and nothing that was written is lost.
  void Kill();
  // The machine stops: unsynced writes are lost, and its links die silently.
  SimDisk::Loss CutPower();
  // The node dies within an input, after this many more actions, by a kill or a power cut.
  void DieAfterActions(size_t actions, bool power_cut);
  // The node dies within its next release with noise, after this many steps: before the charge, or
  // after it, or when it is spent. It starts again by itself.
  void DieInRelease(size_t steps, bool power_cut);
  void LiveOn() {
    actions_to_live_.reset();
    steps_to_live_.reset();
  }
  // The node, which is down, has its next key from the next start on.
  void ReplaceKey() { key_replaced_ = true; }
  bool key_replaced() const { return key_replaced_; }
  // Stops the process as SIGSTOP does: what arrives waits.
  void Pause();
  void Resume();
  // From now on each fsync takes this long, during which the node does nothing.
  void SlowDisk(Duration sync) { slow_sync_ = sync; }
  void StepClock(int64_t millis) { setup_.clock_offset_ms += millis; }

  // These are inputs of the node's owner. Every contribution is charged in the ledger.
  absl::Status OfferContribution(const federation::Contribution& contribution);
  // Takes back one of the newest own contributions. Where these have noise, the operator may leave
  // the tier for some seconds instead, which takes all of them back. Returns NOT_FOUND if it has no
  // contribution.
  absl::Status WithdrawContribution();
  // Forgets one of its lessons for good; another one has come in its place.
  absl::Status WithdrawLesson();
  absl::Status SetRevocations(const privacy::RevocationList& list);

  // ---- NetworkEndpoint
  void LinkOpened(federation::LinkId link, const std::string& dialed_address) override;
  void DialFailed(const std::string& address) override;
  void FrameArrived(federation::LinkId link, const Wire& wire) override;
  void LinkClosed(federation::LinkId link) override;
  uint64_t process() const override { return core_ ? boot_counter_ : 0; }

  bool up() const { return core_ != nullptr; }
  bool paused() const { return paused_; }
  bool byzantine() const { return adversary_ != nullptr; }
  // Whether it takes part in masked sums, except while its operator left them.
  bool masked() const { return setup_.tier == privacy::ConsentTier::kMasked; }
  // Whether what it gives to rounds has noise.
  bool noised() const { return masked() || setup_.tier == privacy::ConsentTier::kDp; }
  // Null while the process does not run or the node runs no rounds.
  SimRounds* rounds() { return rounds_ ? &*rounds_ : nullptr; }
  RoundsCheck* rounds_check() { return rounds_check_ ? &*rounds_check_ : nullptr; }
  const std::set<Digest>& held() const { return held_; }
  // Returns a value that is equal for equal sets of items.
  uint64_t heads() const { return heads_; }
  // Returns the chunk bytes that all processes of the node received.
  uint64_t payload_bytes_received() const;
  SimDisk::Loss lost() const { return lost_; }
  // Return how often a process died within the release of a share, and of a contribution.
  size_t deaths_in_shares() const { return deaths_in_shares_; }
  size_t deaths_in_contributions() const { return deaths_in_contributions_; }

  size_t number() const { return setup_.number; }
  // What the node's own clocks show
  federation::Instant OwnTime() const;
  const Identity& identity() const {
    return key_replaced_ ? RotatedIdentityOf(setup_.number) : IdentityOf(setup_.number);
  }

  // ---- AdversaryHost, for Byzantine nodes
  const privacy::NodeKey& key() const override { return identity().key; }
  const federation::GossipConfig& config() const override { return identity().config; }
  uint64_t boot_counter() const override { return boot_counter_; }
  const federation::LearnerPlan& plan() const override { return *setup_.plan; }
  federation::Instant now() const override;
  Random& random() override { return random_; }
  // Only while the process runs
  const federation::GossipCore& core() const override { return *core_; }
  const std::set<federation::LinkId>& open_links() const override { return open_links_; }
  std::optional<std::string> SomeAddress() override;
  void DialAddress(const std::string& address) override { network_->Dial(setup_.number, address); }
  void SendFrame(federation::LinkId link,
                 std::shared_ptr<const federation::v1::WireFrame> frame) override;
  void SendBytes(federation::LinkId link, const std::string& bytes) override;
  federation::SharedPattern SomePattern() override;
  absl::Status OfferPattern(const federation::SharedPattern& pattern) override;
  void NoteSigned(const Digest& id, const std::string& payload) override {
    audit_->Signed(setup_.number, id, payload);
  }

 private:
  using Input = absl::AnyInvocable<void()>;
  // Runs an input now, or when the process runs again; drops it if the process has ended by then.
  void Take(Input input);
  void TakeFrame(federation::LinkId link, const Wire& wire);
  void ScheduleTick();
  void Tick(uint64_t boot);
  void Apply(federation::Actions actions);
  void Do(federation::Action& action);
  // What the node keeps from before the restart.
  void RestoreTrust();
  void RestoreItems();
  // Offers patterns again that were signed with the former key, as the node does.
  void OfferAgain(const std::vector<federation::Item>& former);
  // ---- Rounds
  sharing::NodeRoundsOptions RoundsOptions();
  void TickRounds();
  // Performs what the rounds want and begins their work.
  void Follow(sharing::RoundsOutput output);
  void SaveRounds(std::string saved);
  void Begin(const sharing::ContributionWork& work);
  void Begin(const sharing::SumWork& work);
  void Begin(const sharing::VerdictWork& work);
  void Begin(const sharing::JudgementWork& work);
  void EndContribution(const sharing::ContributionWork& work,
                       const std::vector<std::string>& lessons);
  absl::StatusOr<std::optional<sharing::LocalContribution>> MakeContribution(
      const sharing::ContributionWork& work, const std::vector<std::string>& lessons);
  absl::StatusOr<sharing::LocalContribution> MakeNoised(const sharing::ContributionWork& work,
                                                        const std::vector<std::string>& lessons);
  // Returns the names of the lessons that the node has.
  std::vector<std::string> Lessons();
  sharing::LessonSampling SamplingOf(uint64_t round, std::vector<std::string> lessons) const;
  privacy::ReleaseGuards Guards(privacy::ConsentTier tier, privacy::ReleaseLedger& ledger);
  // Returns what this node asks CheckNotCharged with.
  uint64_t NewestCharged() const;
  void CheckTier(const federation::Item& item);
  absl::StatusOr<federation::Actions> Seal(const federation::Contribution& contribution);
  absl::StatusOr<uint64_t> Charge(const federation::Contribution& contribution);
  // ---- Masked sums
  ShareLies LiesInShares() const {
    return adversary_ ? adversary_->LiesInShares() : ShareLies::kNone;
  }
  absl::StatusOr<sharing::NoisedShare> NoiseShare(const sharing::PreparedSum& sum,
                                                  const privacy::masking::Clique& clique);
  absl::StatusOr<uint64_t> PayForShare(const sharing::PreparedSum& sum,
                                       const privacy::LedgerCharge& charge);
  // Returns CHANGED unless this node still has all lessons of a sum.
  absl::Status CheckLessons(const sharing::PreparedSum& sum);
  absl::StatusOr<sharing::NoisedShare> LieInShare(const sharing::PreparedSum& sum,
                                                  const privacy::masking::Clique& clique);
  void OfferFalseShare();
  // Counts a step of a release. Returns whether the process dies at it.
  bool DiesInRelease();
  // Ends the process and counts the death.
  void DieInThisRelease(size_t* deaths);
  void NoteShare(const federation::Item& item);
  void EndSum(const sharing::SumWork& work, std::vector<std::string> lessons, Duration took);
  void SetTier(privacy::ConsentTier tier);
  void LeaveTier();
  void ReturnToTier();
  // Signs and stores what peers are told about own withdrawn items.
  std::vector<privacy::Withdrawal> SignWithdrawals(const federation::Actions& actions);
  void Keep(const federation::Item& item, bool own);
  void NoteContribution(const federation::Item& item);
  // Whether an own contribution has no noise.
  bool IsPlain(const federation::Item& item) const;
  void Drop(const federation::ItemDropped& dropped);
  void Hold(const Digest& id, bool held);
  void NoteHandshake(federation::LinkId link, const federation::v1::WireFrame& frame);
  // Counts an action. Returns false if the process died before it.
  bool Survives();
  void Die();
  void EndProcess();

  // What this node put into its share of a set.
  struct PutIn {
    Digest set{};
    std::vector<int32_t> units;
    std::vector<std::string> lessons;
  };
  // A share to be made up: for a set that the node signed, and under which name.
  struct FalseShare {
    uint64_t round = 0;
    Digest set{};
    Digest named{};
    bool commits = true;  // to it
  };

  NodeSetup setup_;
  EventQueue* queue_;
  SimNetwork* network_;
  Audit* audit_;
  std::unique_ptr<Adversary> adversary_;
  Random random_;
  SimDisk disk_;
  std::optional<SimLedger> ledger_;
  // The clocks of the node's machine
  class OwnClock final : public Clock {
   public:
    explicit OwnClock(const SimNode& node) : node_(node) {}
    TimePoint Now() const override { return node_.OwnTime().now; }
    int64_t WallMillis() const override { return node_.OwnTime().wall_ms; }

   private:
    const SimNode& node_;
  };
  const OwnClock own_clock_{*this};
  std::optional<federation::ClusterClock> clock_;  // of the process
  std::unique_ptr<federation::GossipCore> core_;   // null while there is no process
  std::optional<RoundsCheck> rounds_check_;        // of all processes
  std::optional<SimRounds> rounds_;                // of this process
  std::vector<std::string> made_from_;             // lessons of what is being offered
  privacy::ConsentRecord consent_;
  std::optional<PutIn> put_in_;
  std::optional<FalseShare> false_share_;
  bool keeps_share_ = false;  // it commits to a share that it does not give
  std::optional<size_t> steps_to_live_;
  bool doomed_ = false;
  size_t deaths_in_shares_ = 0;
  size_t deaths_in_contributions_ = 0;
  std::vector<federation::Item> withdrawn_;  // with forgets_withdrawn false
  std::shared_ptr<const federation::RecordBase> established_;
  uint64_t boot_counter_ = 0;
  bool key_replaced_ = false;
  bool paused_ = false;
  std::vector<Input> inbox_;  // while paused
  void WaitForDisk(uint64_t syncs_before);
  Duration slow_sync_{};
  std::set<Digest> held_;
  uint64_t heads_ = 0;
  std::set<federation::LinkId> open_links_;
  TimePoint last_sync_{};
  uint64_t earlier_payload_bytes_ = 0;
  std::optional<size_t> actions_to_live_;
  bool dies_by_power_cut_ = false;
  SimDisk::Loss lost_;
};

}  // namespace ruvd::test
