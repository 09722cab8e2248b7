/// Something that rows are read from; each call of ``read(_:)`` sees one commit.
///
/// An environment begins a transaction for each call, a snapshot uses the same one for all.
package protocol RowReader: Sendable {
    func read<R: ~Copyable>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R
}
