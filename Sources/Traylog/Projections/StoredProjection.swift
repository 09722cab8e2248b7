import TraylogDomain

/// What a store says of a stored projection, without knowing its fold.
public struct StoredProjection: Hashable, Sendable {
    public var name: String
    /// Its ``Projection/version`` when it was stored.
    public var version: UInt32 = 0
    /// The newest event that the stored value holds.
    public var position: Seq = .zero
    /// What the value takes, encoded.
    public var bytes: UInt64 = 0
    /// What is wrong with the record that says all this; nil when nothing is.
    public var damage: String?

    public init(name: String) {
        self.name = name
    }
}
