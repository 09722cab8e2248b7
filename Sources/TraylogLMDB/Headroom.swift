import TraylogPlatform

/// The room behind the last page of a data file, made ready before small commits are written there.
///
/// A file that grows with each commit makes each sync wait for its new length and blocks as well. So the file is longer
/// than its last page says while it is open for writing, and small commits find blocks that were written before, with
/// zeros. Large ones have their blocks allocated together, so that writing them twice would cost more.
@safe
final class Headroom: @unchecked Sendable {
    // @unchecked: used in the writer's turn, which the gate gives to one thread at a time, and by the thread that closes the
    // file after the last one.
    private let file: FileDescriptor
    private let pageSize: Int
    /// Whether writing over a block costs less than allocating it: not where each write goes to a new place.
    private let isUseful: Bool
    /// The bytes that commits need, and a running mean of how many more each one takes.
    private var end = 0
    private var growth = 0
    /// Behind ``end``, blocks hold zeros up to here.
    private var filledThrough = 0

    /// The number of commits, like the last ones, that the room is for.
    private static let commits = 32
    private static let roomBytes = (64 << 10)...(1 << 20)
    private static let smallCommitBytes = 32 << 10
    private static let zeros = [UInt8](repeating: 0, count: 128 << 10)

    init(file: FileDescriptor, pageSize: Int) {
        self.file = file
        self.pageSize = pageSize
        isUseful = FileSystem.overwritesInPlace(file)
    }

    /// Makes the room larger, after a commit, when little of it is left.
    ///
    /// A failure costs nothing: the next commit then does the work itself, and tells if it cannot.
    ///
    /// - Parameter mapBytes: the file is not made longer than its map.
    func extend(behind lastPage: Int, mapBytes: Int) {
        let needed = (lastPage + 1) * pageSize
        let grown = end == 0 ? 0 : max(needed - end, 0)
        growth += (grown - growth) / 8
        end = needed
        guard isUseful, growth <= Headroom.smallCommitBytes else { return cover() }
        // After large commits the mean comes down slowly: zeros for more of them would be written for nothing.
        let next = min(growth, grown) * Headroom.commits
        let room = min(max(next, Headroom.roomBytes.lowerBound), Headroom.roomBytes.upperBound)
        guard filledThrough < end + room / 2 else { return }
        fill(through: min((end + room) & ~(pageSize - 1), mapBytes, FileSystem.sizeLimit))
        if filledThrough < end { cover() }
    }

    /// Gives the room back: the file ends with its last page.
    func trim(behind lastPage: Int) {
        let needed = Int64(lastPage + 1) * Int64(pageSize)
        guard let size = file.size, size > needed else { return }
        try? file.setSize(needed)
    }

    /// LMDB leaves out pages that one transaction took and gave up again, so that a healthy file can be shorter than
    /// its last page.
    ///
    /// Readers take a short file for a truncated one, so it is made longer, without using space.
    private func cover() {
        guard let size = file.size, size < end else { return }
        // A failure does no harm: the next opening looks closer at a short file.
        try? file.setSize(Int64(end))
    }

    /// Nothing is in use behind ``end``.
    private func fill(through target: Int) {
        var position = max(filledThrough, end)
        while position < target {
            let count = min(target - position, Headroom.zeros.count)
            let zeros = RawSpan(_elements: Headroom.zeros.span).extracting(first: count)
            guard (try? file.write(zeros, at: Int64(position))) != nil else { return }
            position += count
            filledThrough = position
        }
    }
}
