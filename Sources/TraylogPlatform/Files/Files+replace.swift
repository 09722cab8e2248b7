extension Files {
    /// Puts a small file in the place of the one before: whole, and safe against power loss, as its name is, when this returns.
    ///
    /// - Parameters:
    ///   - mode: its permissions; until it is complete only its owner may read it.
    ///   - owner: who gets a file that root makes, so that root's visit does not lock out the application.
    /// - Throws: ``SystemError``; the file before stays, and no draft is left.
    package static func replace(
        _ path: String, with bytes: [UInt8], mode: UInt32 = 0o600, owner: FileStatus? = nil
    ) throws(SystemError) {
        let draft = draft(of: path)
        // What a killed process left may have another mode and owner.
        if exists(draft) { try remove(draft) }
        do throws(SystemError) {
            try write(bytes, toDraft: draft, mode: mode, owner: owner)
            try publish(draft, as: path)
        } catch {
            try? remove(draft)
            throw error
        }
    }

    /// Where a file is written that ``replace(_:with:mode:owner:)`` puts there: its name is hidden, and ends in `.new`.
    package static func draft(of path: String) -> String {
        "\(parent(of: path))/.\(path.split(separator: "/").last ?? "").new"
    }

    /// Writes a whole file that is to be ``publish(_:as:replacing:)``ed, and makes its content safe against power loss.
    package static func write(
        _ bytes: [UInt8], toDraft draft: String, mode: UInt32 = 0o600, owner: FileStatus?
    ) throws(SystemError) {
        let file = try FileDescriptor(openingOrCreating: draft, owner: owner)
        defer { file.close() }
        try file.setSize(0)
        try file.append(RawSpan(_elements: bytes.span))
        try file.setMode(mode)
        try file.sync()
    }

    /// Gives what is complete and synced its final name, and makes the name safe against power loss.
    ///
    /// - Parameter replacing: as for ``rename(_:to:replacing:)``.
    package static func publish(_ draft: String, as path: String, replacing: Bool = true) throws(SystemError) {
        try rename(draft, to: path, replacing: replacing)
        try sync(parent(of: path))
    }

    /// Gives a file another name in one step.
    ///
    /// - Parameter replacing: whether it takes the place of a file that has the name.
    /// - Throws: ``SystemError``; ``SystemError/exists`` for a name that is taken and may not be replaced.
    package static func rename(_ path: String, to newPath: String, replacing: Bool) throws(SystemError) {
        guard !replacing else { return try rename(path, to: newPath) }
        do throws(SystemError) {
            try link(path, to: newPath)
            // Where that fails, a leftover stays.
            try? remove(path)
        } catch {
            // A file system without second names, such as a removable disk's.
            guard [.notPermitted, .notSupported, .notImplemented].contains(error) else { throw error }
            guard !exists(newPath) else { throw .exists }
            try rename(path, to: newPath)
        }
    }
}
