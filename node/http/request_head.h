// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace ruvd::http {

// The line and the fields of a request, as far as a node reads them.
struct RequestHead {
  std::string method;  // as it was sent, such as "POST"
  std::string path;    // begins with '/'; as it was sent, without the query
  std::string query;   // behind '?'; empty if nothing is there
  std::string host;    // the field Host
  std::string content_type;
  std::string content_encoding;  // empty: the body is as it is
  std::optional<std::string> authorization;
  std::optional<std::string> connect_timeout;  // the field Connect-Timeout-Ms
  std::string fetch_site;                      // the field Sec-Fetch-Site; empty: it is not there
  std::string source;                      // a name of the address that the connection comes from
  std::optional<uint64_t> content_length;  // nullopt: no body, or one of unknown length
  bool has_body = false;
  bool expects_continue = false;  // waits for "100 Continue" before it sends its body
  bool keep_alive = true;         // wants to send more requests over the connection
  bool takes_chunks = true;       // HTTP/1.1 or later
};

}  // namespace ruvd::http
