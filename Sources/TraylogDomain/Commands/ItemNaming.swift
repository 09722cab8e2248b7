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
    /// The same as a value. No other module sees it, so only the types named above conform.
    @_spi(Internals) var reference: ItemReference { get }
}

extension ItemReference: ItemNaming {
    /// The same as a value.
    @_spi(Internals) public var reference: ItemReference { self }
}

extension Seq: ItemNaming {
    /// The same as a value.
    @_spi(Internals) public var reference: ItemReference { .seq(self) }
}

extension Item: ItemNaming {
    /// The same as a value.
    @_spi(Internals) public var reference: ItemReference { .seq(seq) }
}

extension String: ItemNaming {
    /// The same as a value.
    @_spi(Internals) public var reference: ItemReference { .key(self) }
}

extension Int: ItemNaming {
    /// The same as a value; no item has a number below 1.
    @_spi(Internals) public var reference: ItemReference { .seq(Seq(UInt64(clamping: self))) }
}

extension ItemNaming where Self == ItemReference {
    /// The item with a seq.
    @_disfavoredOverload
    public static func seq(_ seq: Seq) -> ItemReference { ItemReference.seq(seq) }
    /// The user's own item with a key.
    @_disfavoredOverload
    public static func key(_ key: String) -> ItemReference { ItemReference.key(key) }
}
