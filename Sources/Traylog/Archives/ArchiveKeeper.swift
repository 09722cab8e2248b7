import TraylogArchive
@_spi(Operations) import TraylogDomain
import TraylogPlatform

/// Copies the segments of an archive elsewhere by an operator's command, and joins small ones.
///
/// It works on what the directory says, so a kill at any moment costs one copy more at most. For one thread at a time.
struct ArchiveKeeper {
    private static let mergeNanoseconds: Int64 = 60_000_000_000

    private let segments: SegmentDirectory
    private let options: ArchiveOptions
    private var merger: SegmentMerger
    /// By the monotonic clock.
    private var nextMerge: Int64 = 0
    private var nextCopy: Int64 = 0
    /// When a failed command is run again.
    private var backoff = Backoff(from: .seconds(1), to: .seconds(60))
    /// What is wrong with copying, and with joining.
    private var (copyProblem, mergeProblem): (String?, String?) = (nil, nil)
    /// What keeps it from its work; nil for nothing.
    var problem: String? { copyProblem ?? mergeProblem }

    init(_ segments: SegmentDirectory, _ options: ArchiveOptions) {
        (self.segments, self.options) = (segments, options)
        merger = SegmentMerger(segments)
    }

    /// How long to wait before the next step.
    var pauseMilliseconds: Int64 { options.ship == nil ? 10_000 : 250 }

    /// Does what there is to do now.
    ///
    /// - Parameter isOver: asked now and then whether to stop.
    mutating func step(isOver: () -> Bool = { false }) {
        let now = SystemClock.monotonicNanoseconds()
        var hasChanged = false
        if let ship = options.ship, now >= nextCopy {
            do {
                hasChanged = try copy(ship, isOver)
            } catch {
                note("no copies are made: \(error)")
            }
        }
        guard hasChanged || now >= nextMerge, !isOver() else { return }
        do {
            if now >= nextMerge {
                nextMerge = now + Self.mergeNanoseconds
                try merger.run(now: .now, isOver: isOver)
            }
            let deletes = options.shipDelete != nil
            try segments.exclusively { try segments.removeCovered(deletesElsewhere: deletes) }
            mergeProblem = nil
        } catch {
            mergeProblem = "small files are not joined: \(error)"
        }
    }

    /// Remembers why copies are not made, and tries again later.
    private mutating func note(_ reason: String) {
        copyProblem = reason
        nextCopy = SystemClock.monotonicNanoseconds() + Int64(backoff.pause() / .nanoseconds(1))
    }

    /// Copies what has no copy, and then deletes copies that have to go.
    ///
    /// - Returns: whether there is a new copy.
    private mutating func copy(_ ship: String, _ isOver: () -> Bool) throws -> Bool {
        let contents = try segments.contents()
        if !contents.isShipping { try segments.noteShipping() }
        var copies = 0
        // In the order of their events, so that the copies are a log without gaps.
        for name in contents.toShip {
            guard !isOver(), run(ship, "--ship", name, isOver) else { return copies > 0 }
            try segments.noteShipped(name)
            copies += 1
        }
        for name in contents.toDelete {
            guard let command = options.shipDelete, !isOver() else { break }
            guard run(command, "--ship-delete", name, isOver) else { return copies > 0 }
            try segments.noteDeleted(name)
        }
        copyProblem = nil
        backoff.reset()
        return copies > 0
    }

    private mutating func run(_ command: String, _ option: String, _ name: SegmentName, _ isOver: () -> Bool) -> Bool {
        let words = Self.filled(command, path: segments.path(of: name), name: name.text)
        guard let reason = ShellCommand.run(words, seconds: options.shipSeconds, isOver: isOver) else { return true }
        guard !isOver() else { return false }
        note("the command of \(option) failed for \(name.text): \(reason); the file is kept, and it is tried again")
        return false
    }

    /// The command with a file's path and name in their places.
    static func filled(_ command: String, path: String, name: String) -> String {
        var (result, isAfterPercent) = ("", false)
        for character in command {
            switch (isAfterPercent, character) {
            case (false, "%"): isAfterPercent = true
            case (false, _): result.append(character)
            case (true, "p"): (result, isAfterPercent) = (result + path, false)
            case (true, "f"): (result, isAfterPercent) = (result + name, false)
            case (true, "%"): (result, isAfterPercent) = (result + "%", false)
            case (true, _): (result, isAfterPercent) = (result + "%\(character)", false)
            }
        }
        return isAfterPercent ? result + "%" : result
    }
}
