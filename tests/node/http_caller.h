// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace ruvd::test {

// An answer of HTTP, as a caller reads it.
struct HttpAnswer {
  int status = 0;                             // 0: the connection ended before
  std::map<std::string, std::string> fields;  // names in lower case
  std::string body;                           // without the framing of chunks
  bool is_whole = false;
};

// A caller that writes the bytes of its requests itself, over one connection to loopback. Reading
// waits for a minute at most, so that a test fails in place of standing still.
class HttpCaller {
 public:
  // `address` is "127.0.0.1:PORT". With `tls` it shakes hands and trusts any certificate.
  explicit HttpCaller(const std::string& address, bool tls = false) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port =
        htons(static_cast<uint16_t>(std::atoi(address.substr(address.rfind(':') + 1).c_str())));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0) << address;
    const timeval patience{.tv_sec = 60, .tv_usec = 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (tls) {
      context_.reset(SSL_CTX_new(TLS_client_method()));
      ssl_.reset(SSL_new(context_.get()));
      SSL_set_fd(ssl_.get(), socket_);
      shook_hands_ = SSL_connect(ssl_.get()) == 1;
    }
  }
  ~HttpCaller() { Leave(); }
  HttpCaller(const HttpCaller&) = delete;
  HttpCaller& operator=(const HttpCaller&) = delete;

  bool shook_hands() const { return shook_hands_; }
  X509* certificate() const { return SSL_get1_peer_certificate(ssl_.get()); }
  int socket() const { return socket_; }

  void Send(std::string_view bytes) {
    if (ssl_ != nullptr) {
      SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size()));
      return;
    }
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        return;
      }
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  // Sends a request with a body of JSON.
  void Post(const std::string& path, std::string_view body, const std::string& more_fields = "") {
    Send("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
         more_fields + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
         std::string(body));
  }
  void Get(const std::string& path, const std::string& more_fields = "") {
    Send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + more_fields + "\r\n");
  }

  // Reads up to and including a text; returns what was read before, or all if it never came.
  std::string ReadTo(std::string_view end) {
    for (;;) {
      if (const size_t at = unread_.find(end); at != std::string::npos) {
        std::string read = unread_.substr(0, at + end.size());
        unread_.erase(0, at + end.size());
        return read;
      }
      if (!ReadMore()) {
        return std::exchange(unread_, "");
      }
    }
  }
  // Reads the head of an answer.
  HttpAnswer ReadHead() {
    HttpAnswer answer;
    const std::string head = ReadTo("\r\n\r\n");
    if (!head.starts_with("HTTP/1.1 ")) {
      return answer;
    }
    answer.status = std::atoi(head.c_str() + 9);
    for (size_t at = head.find("\r\n") + 2; at < head.size() - 2;) {
      const size_t end = head.find("\r\n", at);
      const size_t colon = head.find(": ", at);
      std::string name = head.substr(at, colon - at);
      std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
      answer.fields[name] = head.substr(colon + 2, end - colon - 2);
      at = end + 2;
    }
    return answer;
  }
  // Reads one piece of a stream in chunks; empty behind the last one.
  std::string ReadChunk() {
    const size_t size = std::strtoul(ReadTo("\r\n").c_str(), nullptr, 16);
    const std::string piece = ReadExactly(size);
    ReadTo("\r\n");
    return piece;
  }
  // Reads a whole answer.
  HttpAnswer Read() {
    HttpAnswer answer = ReadHead();
    if (answer.fields.contains("content-length")) {
      const size_t size = std::strtoul(answer.fields["content-length"].c_str(), nullptr, 10);
      answer.body = ReadExactly(size);
      answer.is_whole = answer.body.size() == size;
    } else if (answer.fields.contains("transfer-encoding")) {
      while (!has_ended_) {
        const std::string piece = ReadChunk();
        answer.is_whole = piece.empty() && !has_ended_;
        if (piece.empty()) {
          break;
        }
        answer.body += piece;
      }
    } else if (answer.status != 0) {
      while (ReadMore()) {
      }
      answer.body = std::exchange(unread_, "");
      answer.is_whole = true;
    }
    return answer;
  }
  // Waits for the end of the connection; returns false if more bytes came instead.
  bool IsEnded() { return unread_.empty() && !ReadMore() && has_ended_; }
  // Ends the connection.
  void Leave() {
    ssl_.reset();
    if (socket_ >= 0) {
      ::close(std::exchange(socket_, -1));
    }
  }

 private:
  std::string ReadExactly(size_t size) {
    while (unread_.size() < size && ReadMore()) {
    }
    std::string read = unread_.substr(0, size);
    unread_.erase(0, size);
    return read;
  }
  bool ReadMore() {
    char bytes[16 << 10];
    const auto count = ssl_ != nullptr
                           ? static_cast<ssize_t>(SSL_read(ssl_.get(), bytes, sizeof bytes))
                           : ::recv(socket_, bytes, sizeof bytes, 0);
    if (count > 0) {
      unread_.append(bytes, static_cast<size_t>(count));
    }
    const bool waited_too_long = count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    EXPECT_FALSE(waited_too_long && ssl_ == nullptr) << "no byte came within a minute";
    has_ended_ = has_ended_ || (count <= 0 && !waited_too_long);
    return count > 0;
  }

  template <auto Free>
  struct Freer {
    template <typename T>
    void operator()(T* object) const {
      Free(object);
    }
  };
  int socket_ = -1;
  std::unique_ptr<SSL_CTX, Freer<SSL_CTX_free>> context_;
  std::unique_ptr<SSL, Freer<SSL_free>> ssl_;
  bool shook_hands_ = false;
  bool has_ended_ = false;
  std::string unread_;
};

}  // namespace ruvd::test
