#ifndef QUERY_CCURL_SHIM_H
#define QUERY_CCURL_SHIM_H

// The checks of the header are macros around the functions that Swift could not see anyway.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

// Swift imports no variadic function, so each kind of option has a function of its own here.

/// Sets an option that is a number or a switch.
static inline CURLcode ccurl_set_number(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}

/// Sets an option that is a size in bytes.
static inline CURLcode ccurl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(handle, option, value);
}

/// Sets an option that is a text, which libcurl copies.
static inline CURLcode ccurl_set_text(CURL *handle, CURLoption option, const char *value) {
  return curl_easy_setopt(handle, option, value);
}

/// Sets an option that is an address: what callbacks are given, or a list. It must stay good.
static inline CURLcode ccurl_set_pointer(CURL *handle, CURLoption option, void *value) {
  return curl_easy_setopt(handle, option, value);
}

/// Sets the callback that takes the header, or the body.
static inline CURLcode ccurl_set_writer(
    CURL *handle, CURLoption option, curl_write_callback callback) {
  return curl_easy_setopt(handle, option, callback);
}

/// Sets the callbacks that give the body that is sent.
static inline CURLcode ccurl_set_reader(
    CURL *handle, curl_read_callback read, curl_seek_callback seek) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_READFUNCTION, read);
  return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, seek) : code;
}

/// Sets the callback that is told how far it is.
static inline CURLcode ccurl_set_progress(CURL *handle, curl_xferinfo_callback callback) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, callback);
  return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L) : code;
}

/// Sets the callbacks that open and close sockets.
static inline CURLcode ccurl_set_sockets(
    CURL *handle, curl_opensocket_callback opened, curl_closesocket_callback closed) {
  CURLcode code = curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, opened);
  return code == CURLE_OK ? curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, closed) : code;
}

/// Sets the callback that is asked before a request is sent, whether it may be.
static inline CURLcode ccurl_set_gate(CURL *handle, curl_prereq_callback callback) {
  return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, callback);
}

/// Sets how many connections are kept for a next request.
static inline CURLMcode ccurl_set_kept_connections(CURLM *multi, long count) {
  return curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, count);
}

/// How the transfer of a message has ended.
static inline CURLcode ccurl_result(const CURLMsg *message) { return message->data.result; }

/// What a proxy answered to the request for a tunnel; 0 if none was asked.
static inline long ccurl_proxy_status(CURL *handle) {
  long status = 0;
  curl_easy_getinfo(handle, CURLINFO_HTTP_CONNECTCODE, &status);
  return status;
}

#endif
