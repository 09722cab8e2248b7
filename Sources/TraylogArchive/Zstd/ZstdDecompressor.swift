import CTraylogZstd
import TraylogLog

/// Reads zstd frames, whatever their bytes are.
@safe final class ZstdDecompressor {
    // Made once, given to nobody, and freed with the object.
    private let context: OpaquePointer

    init() {
        guard let context = unsafe ZSTD_createDCtx() else { preconditionFailure("no memory for a zstd context") }
        unsafe self.context = context
    }

    deinit {
        unsafe _ = ZSTD_freeDCtx(context)
    }

    /// Replaces `output` by what the frame `input` holds, which must be `count` bytes.
    func decompress(_ input: RawSpan, count: Int, into output: inout [UInt8]) throws(ZstdFailure) {
        output.resize(to: count)
        // Sound: both buffers are borrowed during the call, with their lengths; zstd writes no further.
        let written = unsafe input.withUnsafeBytes { source in
            unsafe output.withUnsafeMutableBytes { target in
                unsafe ZSTD_decompressDCtx(
                    context, target.baseAddress, target.count, source.baseAddress, source.count)
            }
        }
        guard ZSTD_isError(written) == 0 else { throw ZstdFailure(code: written) }
        guard written == count else { throw ZstdFailure(reason: "\(written) bytes instead of \(count)") }
    }
}
