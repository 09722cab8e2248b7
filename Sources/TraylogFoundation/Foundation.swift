import Foundation
import Traylog
import TraylogAudit

extension Timestamp {
    /// The time to the millisecond, rounded down.
    ///
    /// A date that is too far away becomes the earliest or latest time, and one whose seconds are not a number (NaN) the earliest.
    /// Commands refuse both (`invalid`).
    public init(_ date: Date) {
        let milliseconds = (date.timeIntervalSince1970 * 1_000).rounded(.down)
        self.init(milliseconds: Int64(exactly: milliseconds) ?? (milliseconds > 0 ? .max : .min))
    }
}

extension Date {
    /// The moment of a time of the store.
    public init(_ time: Timestamp) { self.init(timeIntervalSince1970: Double(time.milliseconds) / 1_000) }
}

extension Store {
    /// Opens the store in a directory, as the form that takes a path does.
    ///
    /// - Throws: ``TraylogError/failed(_:)``, with `unusableTarget` for a URL that names no file.
    public static func open(
        _ directory: URL, options: StoreOptions = StoreOptions()
    ) throws(TraylogError) -> Store {
        try open(directory.storePath(), options: options)
    }

    /// Opens the store in a directory while the task waits, as the form that takes a path does.
    ///
    /// - Throws: ``TraylogError/failed(_:)``, with `unusableTarget` for a URL that names no file.
    public static func opened(
        _ directory: URL, options: StoreOptions = StoreOptions()
    ) async throws(TraylogError) -> Store {
        try await opened(directory.storePath(), options: options)
    }
}

extension StoreReader {
    /// Opens the store in a directory for reading.
    ///
    /// - Throws: ``TraylogError/failed(_:)``, with `unusableTarget` for a URL that names no file.
    public static func open(
        _ directory: URL, options: StoreOptions = StoreOptions()
    ) throws(TraylogError) -> StoreReader {
        try open(directory.storePath(), options: options)
    }

    /// Opens the store in a directory for reading while the task waits.
    ///
    /// - Throws: ``TraylogError/failed(_:)``, with `unusableTarget` for a URL that names no file.
    public static func opened(
        _ directory: URL, options: StoreOptions = StoreOptions()
    ) async throws(TraylogError) -> StoreReader {
        try await opened(directory.storePath(), options: options)
    }
}

extension URL {
    fileprivate func storePath() throws(TraylogError) -> String {
        guard isFileURL else {
            throw .failed(
                StoreFailure(
                    code: .unusableTarget, message: "\(self) names no directory on this machine: give a file URL"))
        }
        return path(percentEncoded: false)
    }
}

extension Content {
    /// Puts a value into ``data``, as JSON with its members sorted by name: the same value gives the same text in every process.
    ///
    /// An encoder that you give decides on the order itself. Contents with other orders are equal all the same.
    ///
    /// ```swift
    /// var content = Content(title: "Build 17 failed")
    /// try content.encodeData(["number": 17])
    /// ```
    ///
    /// - Throws: the encoder's errors.
    public mutating func encodeData(_ value: some Encodable, with encoder: JSONEncoder? = nil) throws {
        let encoder = encoder ?? .sortingMembers
        data = String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// Reads a value from ``data``; nil when there is none.
    ///
    /// ```swift
    /// print(try item.content.decodeData(as: [String: Int].self) ?? [:])
    /// ```
    ///
    /// - Throws: `DecodingError` when it is another value.
    public func decodeData<Value: Decodable>(
        as type: Value.Type = Value.self, with decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value? {
        try data.map { try decoder.decode(type, from: Data($0.utf8)) }
    }
}

extension JSONEncoder {
    fileprivate static var sortingMembers: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}

extension Command {
    /// Reads a command from a request's body: a line of `append`.
    ///
    /// - Throws: ``TraylogError/refused(_:)``: `invalid` with the member at fault.
    public init(json: Data) throws(TraylogError) { try self.init(json: [UInt8](json).span) }
}

extension JSONForm {
    /// The value as JSON, for a response's body: exactly as the program prints it.
    public var jsonData: Data { Data(json.utf8) }
}

// The text of an error in an alert, a log or a test: the same as `"\(error)"`.

extension TraylogError: LocalizedError {
    /// The error's description: the code of a refusal, what happened, and what to do next.
    public var errorDescription: String? { description }
}

extension Refusal: LocalizedError {
    /// The refusal's description.
    public var errorDescription: String? { description }
}

extension StoreFailure: LocalizedError {
    /// The failure's description.
    public var errorDescription: String? { description }
}

extension NoteError: LocalizedError {
    /// The error's description.
    public var errorDescription: String? { description }
}
