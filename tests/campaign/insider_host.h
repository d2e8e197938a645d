// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/random.h"
#include "base/thread_pool.h"
#include "federation/core/gossip_core.h"
#include "node/admission/link_tls.h"
#include "node/api/link.h"
#include "node/api/link_counts.h"
#include "node/api/server.h"
#include "node/sharing/federation.h"
#include "privacy/identity/node_key.h"
#include "tests/sim/adversary.h"
#include "tests/sim/adversary_host.h"

namespace ruvd::campaign {

struct InsiderOptions {
  std::string data_dir;              // as `ruvd join` left it
  std::string model;                 // path of the cluster's model
  std::string listen;                // host:port of its own link service
  std::vector<std::string> victims;  // addresses of link services, dialled from the start
  uint64_t seed = 0;
};

// What an insider did and what became of it, since its start.
struct InsiderCounts {
  uint64_t frames_sent = 0;     // given to links, which may have ended before
  uint64_t bytes_sent = 0;      // of these frames
  uint64_t frames_dropped = 0;  // its links were too slow for them
  uint64_t not_frames = 0;      // bytes that a stream of frames cannot carry
  uint64_t items_signed = 0;    // without its core
  uint64_t patterns_offered = 0;
  uint64_t patterns_refused = 0;  // by its own core
  uint64_t dials = 0;
  uint64_t dials_failed = 0;
  uint64_t links_opened = 0;                   // whose other end proved that it is a member
  uint64_t links_closed = 0;                   // of all links, by either end
  size_t links = 0;                            // open now
  size_t members_alive = 0;                    // that it sees now, itself included
  std::map<std::string, uint64_t> own_closes;  // links that its core closed, by reason
};

// A member of a real cluster in which an adversary is the owner: a gossip core that ships, over the
// link transport that ships, in a process that has nothing else of a node. All that the adversary
// sends reaches the gossip cores of real nodes. Public methods are thread-safe.
class InsiderHost final : private sharing::LinkHandler, private test::AdversaryHost {
 public:
  // Opens its port, dials the victims and begins the attack. Errors are those of loading the
  // configuration, key and certificate of the data folder (FILE_NOT_FOUND for one that did not
  // join), of MakePeerConfig, of OpenServer and of GossipCore::Create.
  static absl::StatusOr<std::unique_ptr<InsiderHost>> Start(
      const InsiderOptions& options, std::unique_ptr<test::Adversary> adversary);
  // Ends all links without a goodbye.
  ~InsiderHost() override;
  InsiderHost(const InsiderHost&) = delete;
  InsiderHost& operator=(const InsiderHost&) = delete;

  // Where its link service listens
  const std::string& address() const { return server_.address; }
  // Waits for the counts of this moment.
  InsiderCounts Counts();

 private:
  using FramePtr = test::Adversary::FramePtr;
  // One link, and the frames for which its stream has no room yet.
  struct Link {
    std::shared_ptr<sharing::LinkSink> sink;
    std::deque<FramePtr> waiting;
    size_t frames_in_sink = 0;
    size_t bytes_in_sink = 0;
  };

  InsiderHost(privacy::NodeKey key, std::unique_ptr<test::Adversary> adversary,
              const InsiderOptions& options);
  absl::Status Listen(const std::string& listen);
  absl::Status Begin();

  // ---- LinkHandler, on gRPC's threads
  federation::LinkId OpenLink(std::shared_ptr<sharing::LinkSink> sink, std::string address,
                              federation::LinkChannel channel) override;
  void OnDialFailed(std::string address) override;
  bool OnFrame(federation::LinkId link, FramePtr frame) override;
  void OnClosed(federation::LinkId link) override;

  // ---- AdversaryHost; all that follows runs on the strand
  const privacy::NodeKey& key() const override { return key_; }
  const federation::GossipConfig& config() const override { return config_; }
  uint64_t boot_counter() const override { return config_.boot_counter; }
  const federation::LearnerPlan& plan() const override { return *config_.plan; }
  federation::Instant now() const override { return federation::Instant::Of(SystemClock()); }
  Random& random() override { return random_; }
  const federation::GossipCore& core() const override { return *core_; }
  const std::set<federation::LinkId>& open_links() const override { return open_links_; }
  std::optional<std::string> SomeAddress() override;
  void DialAddress(const std::string& address) override;
  void SendFrame(federation::LinkId link, FramePtr frame) override;
  void SendBytes(federation::LinkId link, const std::string& bytes) override;
  federation::SharedPattern SomePattern() override;
  absl::Status OfferPattern(const federation::SharedPattern& pattern) override;
  void NoteSigned(const Digest& id, const std::string& payload) override;

  void Tick();
  void Apply(const federation::Actions& actions);
  // Gives the stream of a link as many frames as it has room for.
  void Fill(federation::LinkId id);
  // A frame left the stream of a link, or was lost with it.
  void Left(federation::LinkId id, size_t bytes);
  void Forget(federation::LinkId id);

  const privacy::NodeKey key_;
  const std::unique_ptr<test::Adversary> adversary_;
  const std::vector<std::string> victims_;
  federation::GossipConfig config_;  // complete before the core is made
  Random random_;
  std::unique_ptr<federation::GossipCore> core_;
  std::map<federation::LinkId, Link> links_;
  std::set<federation::LinkId> open_links_;  // whose other end proved that it is a member
  InsiderCounts counts_;
  std::atomic<federation::LinkId> next_link_{1};

  ThreadPool strand_{{.name = "insider", .threads = 1}};
  std::unique_ptr<admission::LinkTls> tls_;
  std::unique_ptr<grpc::Service> service_;
  transport::ConnectionAcceptor* acceptor_ = nullptr;
  api::LinkCounts link_counts_;
  api::LinkDialer dialer_;
  api::RunningServer server_;
};

}  // namespace ruvd::campaign
