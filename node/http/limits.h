// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

// What an HTTP port allows its callers, beside the connections themselves
// (node/api/connection_limits.h).
namespace ruvd::limits {

// The head of a request: its line and its fields. Browsers and clients send one or two KiB; a key
// has at most 256 characters.
inline constexpr size_t kMaxHttpHeadBytes = 32 << 10;
inline constexpr size_t kMaxHttpFields = 100;
inline constexpr size_t kMaxHttpTargetBytes = 2048;
// What may wait in memory of a connection before it is parsed: the largest head, and a part of a
// body.
inline constexpr size_t kMaxHttpUnparsedBytes = 64 << 10;
// The body of a request with text, as over gRPC (kMaxTextRequestBytes). JSON writes most
// characters as they are.
inline constexpr size_t kMaxHttpBodyBytes = 1 << 20;
// All bodies that are arriving or are being worked on, by what has come of them, and those of one
// source. A body that grows above either gets 503.
inline constexpr size_t kMaxHttpBodiesBytes = 64 << 20;
inline constexpr size_t kMaxHttpBodiesOfSourceBytes = 32 << 20;
// What one connection may have waiting for a reader that is slower than the model. A completion of
// the longest context is far smaller, so only a reader that stands still gets there.
inline constexpr size_t kMaxHttpUnsentBytes = 1 << 20;
// Bytes that are thrown away after an answer that ends a connection, so that the answer arrives
// before the reset that unread bytes cause.
inline constexpr size_t kMaxHttpDiscardedBytes = 2 << 20;

// The time for the TLS handshake, for a head, for a body, between two requests of a connection, for
// one write to be taken, and for the other end to close after the last answer.
inline constexpr std::chrono::milliseconds kHttpHandshakeTime{10'000};
inline constexpr std::chrono::milliseconds kHttpHeadTime{10'000};
inline constexpr std::chrono::milliseconds kHttpBodyTime{60'000};
inline constexpr std::chrono::milliseconds kHttpIdleTime{120'000};
inline constexpr std::chrono::milliseconds kHttpWriteTime{30'000};
inline constexpr std::chrono::milliseconds kHttpLingerTime{1'000};
// A stream that is silent for so long sends a comment, so that nothing between takes it for dead.
inline constexpr std::chrono::milliseconds kHttpPingTime{15'000};

}  // namespace ruvd::limits
