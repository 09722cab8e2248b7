/// Turns the strings that the fold only compares (threads, categories, summary arguments, keys) into identities.
///
/// SipHash-2-4 (Aumasson, Bernstein, 2012) under a secret key of the store, so that nobody can choose strings
/// that collide. No string has the identity of "none".
package struct IdentityHasher: Hashable, Sendable {
    package let key0: UInt64
    package let key1: UInt64

    package init(key0: UInt64, key1: UInt64) {
        self.key0 = key0
        self.key1 = key1
    }

    /// The use of a string.
    ///
    /// Equal strings in different roles have unrelated identities.
    package enum Role: UInt64, Sendable {
        case thread = 1
        case category = 2
        case summaryArgument = 3
        case collapseKey = 4
        case key = 5
        case user = 6
        case topic = 7
    }

    package func identity(of text: borrowing String, as role: Role) -> Identity {
        identity(of: text.utf8Span.span, as: role)
    }

    package func identity(of bytes: Span<UInt8>, as role: Role) -> Identity {
        let hash = SipHash24.hash(bytes, key0: key0, key1: key1 ^ (role.rawValue << 56))
        return Identity(rawValue: hash == 0 ? 1 : hash)
    }

    /// The identity of an optional string.
    package func identity(of text: borrowing String?, as role: Role) -> Identity {
        switch text {
        case .none: .absent
        case .some(let text): identity(of: text, as: role)
        }
    }
}

/// SipHash with two rounds a block and four at the end.
package enum SipHash24 {
    package static func hash(_ bytes: Span<UInt8>, key0: UInt64, key1: UInt64) -> UInt64 {
        var state = State(key0: key0, key1: key1)
        let count = bytes.count
        var offset = 0
        while offset &+ 8 <= count {
            state.compress(bytes.word(at: offset))
            offset &+= 8
        }
        var last = UInt64(truncatingIfNeeded: count) << 56
        var shift: UInt64 = 0
        while offset < count {
            last |= UInt64(bytes[offset]) << shift
            shift &+= 8
            offset &+= 1
        }
        state.compress(last)
        return state.finish()
    }

    private struct State {
        var v0: UInt64
        var v1: UInt64
        var v2: UInt64
        var v3: UInt64

        init(key0: UInt64, key1: UInt64) {
            v0 = key0 ^ 0x736f_6d65_7073_6575
            v1 = key1 ^ 0x646f_7261_6e64_6f6d
            v2 = key0 ^ 0x6c79_6765_6e65_7261
            v3 = key1 ^ 0x7465_6462_7974_6573
        }

        @inline(__always)
        mutating func round() {
            v0 &+= v1
            v1 = (v1 << 13) | (v1 >> 51)
            v1 ^= v0
            v0 = (v0 << 32) | (v0 >> 32)
            v2 &+= v3
            v3 = (v3 << 16) | (v3 >> 48)
            v3 ^= v2
            v0 &+= v3
            v3 = (v3 << 21) | (v3 >> 43)
            v3 ^= v0
            v2 &+= v1
            v1 = (v1 << 17) | (v1 >> 47)
            v1 ^= v2
            v2 = (v2 << 32) | (v2 >> 32)
        }

        @inline(__always)
        mutating func compress(_ block: UInt64) {
            v3 ^= block
            round()
            round()
            v0 ^= block
        }

        @inline(__always)
        mutating func finish() -> UInt64 {
            v2 ^= 0xff
            round()
            round()
            round()
            round()
            return v0 ^ v1 ^ v2 ^ v3
        }
    }
}
