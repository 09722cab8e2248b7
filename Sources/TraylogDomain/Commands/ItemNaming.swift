/// A way to name an item in a call: its seq, the item itself, or the key of its `notify`.
///
/// ```swift
/// try await store.wake(item, of: "ann")
/// try await store.wake(item.seq, of: "ann")
/// try await store.wake("build-17", of: "ann")
/// ```
///
/// ``Seq``, ``Item``, ``ItemReference`` and `String` (a key) conform, and so does `Int`, for literals.
public protocol ItemNaming: Sendable {
    // swift-format-ignore: NoLeadingUnderscores
    /// The same as a value.
    var _reference: ItemReference { get }
}

// swift-format-ignore: NoLeadingUnderscores
extension ItemReference: ItemNaming {
    /// The same as a value.
    public var _reference: ItemReference { self }
}

// swift-format-ignore: NoLeadingUnderscores
extension Seq: ItemNaming {
    /// The same as a value.
    public var _reference: ItemReference { .seq(self) }
}

// swift-format-ignore: NoLeadingUnderscores
extension Item: ItemNaming {
    /// The same as a value.
    public var _reference: ItemReference { .seq(seq) }
}

// swift-format-ignore: NoLeadingUnderscores
extension String: ItemNaming {
    /// The same as a value.
    public var _reference: ItemReference { .key(self) }
}

// swift-format-ignore: NoLeadingUnderscores
extension Int: ItemNaming {
    /// The same as a value; no item has a number below 1.
    public var _reference: ItemReference { .seq(Seq(UInt64(clamping: self))) }
}

extension ItemNaming where Self == ItemReference {
    /// The item with a seq.
    @_disfavoredOverload
    public static func seq(_ seq: Seq) -> ItemReference { ItemReference.seq(seq) }
    /// The user's own item with a key.
    @_disfavoredOverload
    public static func key(_ key: String) -> ItemReference { ItemReference.key(key) }
}
