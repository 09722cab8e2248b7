extension String {
    /// Whether both are the same bytes of UTF-8.
    ///
    /// Swift's `==` calls canonically equivalent texts equal; names and keys are not texts, and are equal only when
    /// their bytes are.
    package func hasSameBytes(as other: String) -> Bool {
        // Equal bytes make equal strings, which Swift compares fastest; the converse holds in ASCII.
        guard self == other else { return false }
        return (utf8Span.isKnownASCII && other.utf8Span.isKnownASCII) || utf8.elementsEqual(other.utf8)
    }

    /// Byte order of UTF-8, which is the order of stored keys.
    package func precedesInBytes(_ other: String) -> Bool {
        utf8.lexicographicallyPrecedes(other.utf8)
    }
}

extension String? {
    package func hasSameBytes(as other: String?) -> Bool {
        switch (self, other) {
        case (nil, nil): true
        case (let left?, let right?): left.hasSameBytes(as: right)
        default: false
        }
    }
}

extension Content {
    /// Whether every field is the same, texts byte for byte.
    package func hasSameBytes(as other: Content) -> Bool {
        summaryCount == other.summaryCount && silent == other.silent && level == other.level
            && expiresAt == other.expiresAt && title.hasSameBytes(as: other.title)
            && body.hasSameBytes(as: other.body) && summaryArgument.hasSameBytes(as: other.summaryArgument)
            && data.hasSameBytes(as: other.data) && thread.hasSameBytes(as: other.thread)
            && category.hasSameBytes(as: other.category) && collapseKey.hasSameBytes(as: other.collapseKey)
    }
}
