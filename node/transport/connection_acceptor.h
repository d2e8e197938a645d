// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "node/transport/connection_table.h"
#include "node/transport/descriptor.h"
#include "node/transport/listeners.h"

namespace ruvd::transport {

// Accepts connections in front of a server. gRPC 1.51 accepts without limit, and never again after
// the process once had no descriptor left. This keeps a descriptor in reserve, holds every
// connection within ConnectionLimits, and hands it over with its socket, of which it keeps a second
// descriptor to see the connection end, or to end it. One thread accepts and watches; gRPC may
// parse what has arrived on a socket before it returns from taking it, and goes on while more
// arrives, so another thread hands them over, and a connection that keeps it busy while others wait
// is ended after ConnectionLimits::hand_over. Thread-safe.
class ConnectionAcceptor {
 public:
  struct Counts {
    size_t connections = 0;                         // open now
    size_t unproven = 0;                            // among them
    uint64_t accepted = 0;                          // since the start
    std::array<uint64_t, kConnectionEnds> ended{};  // by ConnectionEnd, since the start
    // Signs that the port works, since the start: connections that came, whether or not they were
    // refused; that the server took over; and whose other end has proved itself
    uint64_t arrived = 0;
    uint64_t handed_over = 0;
    uint64_t proven = 0;
  };
  // How far a connection of the node to its own port has come.
  enum class OwnStage : uint8_t { kExpected, kAccepted, kHandedOver };

  // Listens on all addresses of a host as ListenOnTcp does, or at "unix:PATH" as ListenOnUnix does,
  // with their errors. `clock` is borrowed. Over a unix socket only processes of the node's own
  // user and of root are accepted, by what the kernel says of them; that is their proof.
  static absl::StatusOr<std::unique_ptr<ConnectionAcceptor>> Listen(const std::string& address,
                                                                    const ConnectionLimits& limits,
                                                                    const Clock& clock);
  ~ConnectionAcceptor();  // Stop()
  ConnectionAcceptor(const ConnectionAcceptor&) = delete;
  ConnectionAcceptor& operator=(const ConnectionAcceptor&) = delete;

  // Returns the address with the real port.
  const std::string& address() const { return address_; }
  size_t most_connections() const { return limits_.connections; }
  const ConnectionLimits& limits() const { return limits_; }

  // Takes over a connected, non-blocking socket; may take long. `listener` is the socket that
  // accepted it.
  using Take = std::function<void(int listener, int socket)>;
  // Hears of each connection that another user opened to the unix socket, after its end. Called on
  // the accepting thread; set it before Start.
  using HearForeign = std::function<void(uid_t user)>;
  void OnForeignUser(HearForeign hear) { hear_foreign_ = std::move(hear); }
  // Begins to accept. Call it once.
  void Start(Take take);
  // Accepts no connection any more, ends unproven ones and the one that is handed over, and no
  // longer watches the others.
  // Idempotent.
  void Stop();
  // Notes that the other end of a connection may use the port, or has to prove that anew. `peer` is
  // named as gRPC does.
  void Prove(std::string_view peer);
  void Prove(const PeerAddress& peer);
  void Unprove(std::string_view peer);
  Counts counts() const;

  // Returns where a program of this machine reaches the port.
  sockaddr_storage local_address() const { return LocalAddressOf(listeners_.front().get()); }
  // Returns HasRoomInQueue of its socket.
  bool has_room_in_queue() const { return HasRoomInQueue(listeners_.front().get()); }
  // Expects a connection of this process from the address `own`, to which a socket of it is bound,
  // so that no other program can have it. The server gets this connection before all that wait,
  // and it counts against no limit and in no count.
  void ExpectOwn(const PeerAddress& own);
  // Expects it no more, and returns how far it came.
  OwnStage EndOwn();

 private:
  ConnectionAcceptor(Listeners listeners, const ConnectionLimits& limits, const Clock& clock);
  absl::Status Prepare();
  void Run();
  void HandOverAll();
  void OnEvent(int fd, uint32_t events);
  void Accept(int listener);
  // Returns whether a caller over the unix socket may use it, and sets its user.
  bool IsAllowedUser(int socket, uid_t* user);
  void OnAccepted(int listener, Descriptor socket, PeerAddress peer);
  // Takes the connection that ExpectOwn announced; counts any other one, and returns false.
  bool TakeOwn(int listener, const PeerAddress& peer, Descriptor* socket);
  // Adds a connection with the second descriptor of its socket; false if there is no room.
  bool Admit(const PeerAddress& peer, Descriptor watched) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Accepts and closes one connection with the descriptor that is kept in reserve; false if even
  // that is not there.
  bool TurnAway(int listener);
  void EndOverdue();
  void End(const std::vector<ConnectionTable::Ended>& ended) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the connection that the server has been taking over for too long while others wait.
  void EndHeldHandOver() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Count(ConnectionEnd why) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    ++counts_.ended[static_cast<size_t>(why)];
  }
  void OnHangUp(int fd);
  void OnBytes(int fd);

  const std::string address_;
  const std::vector<Descriptor> listeners_;
  SocketFile file_;
  const bool is_unix_;
  const ConnectionLimits limits_;
  const Clock& clock_;
  Take take_;
  HearForeign hear_foreign_ = [](uid_t) {};
  uint64_t users_calls_ = 0;  // over the unix socket; used by the accepting thread only
  Descriptor poll_;
  Descriptor wake_;
  Descriptor reserve_;  // used by the accepting thread only
  std::thread thread_;
  std::thread handing_over_;

  mutable Mutex mutex_;
  CondVar accepted_;
  struct Accepted {
    int listener = -1;
    int watched = -1;  // the second descriptor of the socket; -1: is_own
    bool is_own = false;
    PeerAddress peer;
    Descriptor socket;
  };
  std::deque<Accepted> waiting_ ABSL_GUARDED_BY(mutex_);  // to be handed over
  // The connection that is handed over now, and since when; nullopt: none, or an own one
  struct HandOver {
    PeerAddress peer;
    int watched = -1;
    TimePoint since;
  };
  std::optional<HandOver> handing_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  ConnectionTable table_ ABSL_GUARDED_BY(mutex_);
  // The second descriptors of connections, those that were just ended included, and whose they are
  std::map<int, PeerAddress> peers_ ABSL_GUARDED_BY(mutex_);
  std::map<PeerAddress, int> sockets_ ABSL_GUARDED_BY(mutex_);
  Counts counts_ ABSL_GUARDED_BY(mutex_);
  std::optional<PeerAddress> own_
      ABSL_GUARDED_BY(mutex_);  // nullopt: no own connection is expected
  OwnStage own_stage_ ABSL_GUARDED_BY(mutex_) = OwnStage::kExpected;
};

}  // namespace ruvd::transport
