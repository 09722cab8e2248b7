#pragma once
#include <curl/curl.h>

// Swift calls no C function with a variable number of arguments: each kind of argument has a function here.

static inline CURLcode traylog_curl_set_text(CURL *transfer, CURLoption option, const char *text) {
    return curl_easy_setopt(transfer, option, text);
}

static inline CURLcode traylog_curl_set_number(CURL *transfer, CURLoption option, long number) {
    return curl_easy_setopt(transfer, option, number);
}

static inline CURLcode traylog_curl_set_pointer(CURL *transfer, CURLoption option, void *pointer) {
    return curl_easy_setopt(transfer, option, pointer);
}

typedef size_t (*traylog_curl_receiver)(char *bytes, size_t size, size_t count, void *context);

static inline CURLcode traylog_curl_set_receiver(CURL *transfer, CURLoption option, traylog_curl_receiver receiver) {
    return curl_easy_setopt(transfer, option, receiver);
}

static inline CURLcode traylog_curl_status(CURL *transfer, long *status) {
    return curl_easy_getinfo(transfer, CURLINFO_RESPONSE_CODE, status);
}

/// Whether a transfer of `multi` has ended, and how.
static inline int traylog_curl_ended(CURLM *multi, CURLcode *result) {
    int left = 0;
    CURLMsg *message = curl_multi_info_read(multi, &left);
    if (message == NULL || message->msg != CURLMSG_DONE) return 0;
    *result = message->data.result;
    return 1;
}
