/// What zstd says went wrong.
struct ZstdFailure: Error {
    let reason: String
}
