import TraylogDomain

/// A storage whose values carry checksums of themselves and of their places.
struct CheckedStorage: Sendable {
    let storage: any DeviceStorage

    func value(_ key: UInt64, in table: DeviceTable) throws(DeviceFailure) -> [UInt8]? {
        guard let value = try storage.value(key, in: table) else { return nil }
        return try Self.open(value, key, table)
    }

    func row(atOrBelow key: UInt64, in table: DeviceTable) throws(DeviceFailure) -> DeviceRow? {
        guard let row = try storage.row(atOrBelow: key, in: table) else { return nil }
        return DeviceRow(key: row.key, value: try Self.open(row.value, row.key, table))
    }

    /// The rows from a key on, ascending.
    ///
    /// A damaged one comes with the failure in place of the value, so that the others are not lost.
    func forEach(
        in table: DeviceTable, from key: UInt64 = 0, _ body: (UInt64, Result<[UInt8], DeviceFailure>) -> Void
    ) throws(DeviceFailure) {
        try storage.forEach(in: table, from: key) { row in
            do throws(DeviceFailure) {
                body(row.key, .success(try Self.open(row.value, row.key, table)))
            } catch {
                body(row.key, .failure(error))
            }
            return true
        }
    }

    func write(_ changes: [DeviceChange]) throws(DeviceFailure) {
        try storage.write(changes.map(Self.seal))
    }

    private static func seal(_ change: DeviceChange) -> DeviceChange {
        guard case .put(let table, let key, let value) = change else { return change }
        return .put(table, key: key, value: seal(value, key, table))
    }

    static func seal(_ value: [UInt8], _ key: UInt64, _ table: DeviceTable) -> [UInt8] {
        var sealed: [UInt8] = []
        sealed.reserveCapacity(value.count + 8)
        sealed.appendFixed64(sum(value.span, key, table))
        sealed.append(contentsOf: value)
        return sealed
    }

    static func open(_ sealed: [UInt8], _ key: UInt64, _ table: DeviceTable) throws(DeviceFailure) -> [UInt8] {
        guard sealed.count >= 8, sealed.span.word(at: 0) == sum(sealed.span.extracting(8...), key, table) else {
            throw DeviceFailure(.damaged, "Row \(key) of \(table.rawValue) is not what was written.")
        }
        return Array(sealed[8...])
    }

    private static func sum(_ value: Span<UInt8>, _ key: UInt64, _ table: DeviceTable) -> UInt64 {
        SipHash24.hash(value, key0: key, key1: UInt64(table.rawValue.utf8.reduce(7) { $0 &* 31 &+ UInt64($1) }))
    }
}
