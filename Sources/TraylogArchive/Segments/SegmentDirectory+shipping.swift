import TraylogPlatform

/// What is known of copies of segments elsewhere: empty files beside them, so that each step is one that a kill cannot divide.
///
/// `NAME.shipped` says that a copy is safe elsewhere, `NAME.delete` that a copy there has to be deleted, and `shipping` that copies
/// are made at all.
extension SegmentDirectory {
    private static let shipping = "shipping"
    private static let shippedEnding = ".shipped"
    private static let deleteEnding = ".delete"

    /// The segments, and what is known of their copies.
    package struct Contents {
        package var segments: [SegmentName] = []
        package var shipped: Set<SegmentName> = []
        /// Copies elsewhere that have to be deleted.
        package var toDelete: [SegmentName] = []
        /// Whether copies are made.
        package var isShipping = false

        package init() {}

        /// Those that have to be copied, in the order of their events.
        package var toShip: [SegmentName] { segments.filter { !shipped.contains($0) } }
    }

    package func contents() throws(ArchiveError) -> Contents {
        var contents = Contents()
        contents.segments = try segments()
        for name in try directory.names() {
            if name == Self.shipping { contents.isShipping = true }
            if name.hasSuffix(Self.shippedEnding),
                let segment = SegmentName(String(name.dropLast(Self.shippedEnding.count)))
            {
                contents.shipped.insert(segment)
            }
            if name.hasSuffix(Self.deleteEnding),
                let segment = SegmentName(String(name.dropLast(Self.deleteEnding.count)))
            {
                contents.toDelete.append(segment)
            }
        }
        return contents
    }

    package func noteShipping() throws(ArchiveError) { try mark(Self.shipping) }
    package func noteShipped(_ name: SegmentName) throws(ArchiveError) { try mark(name.text + Self.shippedEnding) }
    package func noteDeleted(_ name: SegmentName) throws(ArchiveError) { try unmark(name.text + Self.deleteEnding) }

    /// Removes a segment that others have taken the place of.
    ///
    /// - Parameter isDeletedElsewhere: whether its copies have to go, too.
    func remove(_ name: SegmentName, isDeletedElsewhere: Bool) throws(ArchiveError) {
        if isDeletedElsewhere { try mark(name.text + Self.deleteEnding) }
        try ArchiveError.attempt(path(of: name), Files.remove(path(of: name)))
        try unmark(name.text + Self.shippedEnding)
    }

    private func mark(_ name: String) throws(ArchiveError) {
        let path = directory.path(of: name)
        guard !Files.exists(path) else { return }
        try ArchiveError.attempt(path, FileDescriptor(opening: path, [.readingAndWriting, .creating, .refusingLinks]))
            .close()
        try directory.sync()
    }

    private func unmark(_ name: String) throws(ArchiveError) {
        let path = directory.path(of: name)
        if Files.exists(path) { try ArchiveError.attempt(path, Files.remove(path)) }
        try directory.sync()
    }

    /// Removes the segments that larger or rewritten ones have taken the place of; only within ``exclusively(_:)``.
    ///
    /// Where copies are made, one goes once its successor has a copy, but at once where an erasure has rewritten it.
    ///
    /// - Parameter deletesElsewhere: whether copies of what was merged have to be deleted; those of what was erased have to in any case.
    package func removeCovered(deletesElsewhere: Bool) throws(ArchiveError) {
        let contents = try contents()
        let present = Set(contents.segments)
        for name in contents.shipped where !present.contains(name) { try unmark(name.text + Self.shippedEnding) }
        for (_, names) in Dictionary(grouping: contents.segments, by: \.history) {
            var cover: SegmentName?
            for name in names.sorted(by: { ($0.first, $1.last, $1.rewrites) < ($1.first, $0.last, $0.rewrites) }) {
                guard let successor = cover, successor.last >= name.last else {
                    cover = name
                    continue
                }
                let isRewritten = successor.first == name.first && successor.last == name.last
                guard isRewritten || !contents.isShipping || contents.shipped.contains(successor) else { continue }
                try remove(name, isDeletedElsewhere: contents.isShipping && (isRewritten || deletesElsewhere))
            }
        }
    }
}
