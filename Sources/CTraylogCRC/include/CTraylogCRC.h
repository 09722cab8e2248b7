#pragma once
#include <stddef.h>
#include <stdint.h>

/// CRC-32C (Castagnoli, RFC 3720 appendix B.4) of `length` bytes, continuing from `crc` (0 to start).
///
/// Uses the processor's instruction where there is one. `traylog_crc32c(traylog_crc32c(0, a), b)` is the
/// checksum of a followed by b.
uint32_t traylog_crc32c(uint32_t crc, const void *bytes, size_t length);

/// The same by table, on any processor; the tests hold the two against each other.
uint32_t traylog_crc32c_portable(uint32_t crc, const void *bytes, size_t length);
