import TraylogDomain

/// The value of a projection after a certain event.
public struct Projected<Value: Projection>: Sendable {
    public internal(set) var value: Value
    /// The newest event that the value holds; 0 for none.
    public internal(set) var position: Seq
    /// Where the value comes from.
    public let origin: ProjectionOrigin
}
