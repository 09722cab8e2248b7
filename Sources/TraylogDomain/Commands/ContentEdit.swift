/// What an edit does to one field.
public enum Change<Value: Hashable & Sendable>: Hashable, Sendable {
    case keep
    /// Takes the value away; a field with a default returns to it.
    case clear
    case set(Value)
}

/// What a publisher changes of an item in place: any of its fields, each kept, cleared or set.
public struct ContentEdit: Hashable, Sendable {
    public var title: Change<String> = .keep
    public var body: Change<String> = .keep
    public var summaryArgument: Change<String> = .keep
    public var summaryCount: Change<UInt32> = .keep
    public var level: Change<InterruptionLevel> = .keep
    public var expiresAt: Change<Timestamp> = .keep
    /// JSON text, as in ``Content/data``.
    public var data: Change<String> = .keep

    public init() {}
}
