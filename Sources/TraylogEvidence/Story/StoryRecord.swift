import TraylogAudit
import TraylogDomain
import TraylogJSON

/// What happened to an item, with the proof of each event that the sentences rest on.
///
/// ``StoryCheck`` checks its page without a store. The form is in Docs/reference/json.md, "Stories".
@_spi(Operations) public struct StoryRecord: Sendable {
    private let proved: ProvedStory
    private let head: TreeHead
    private let proofs: [[UInt8]]

    /// The sentences.
    public var story: ItemStory { proved.story }

    package init(
        _ proved: ProvedStory, _ proofs: [(proof: EventProof, disclosure: EventDisclosure)], in head: TreeHead
    ) {
        (self.proved, self.head) = (proved, head)
        self.proofs = proofs.map { proof, disclosure in
            var writer = JSONWriter()
            writer.write(proof, salt: disclosure.salt, payload: disclosure.payload)
            return writer.bytes
        }
    }

    /// The page for a receiver: a tree head that the log's key signs for this story alone, and the proofs that lead to it.
    ///
    /// - Throws: ``NoteError``.
    public func page(signedBy key: NotePrivateKey) throws(NoteError) -> String {
        let stated = StoryForm.stated(proved.user, proved.item, proofs)
        let checkpoint = Checkpoint(origin: key.publicKey.name, head: head, extensions: [StoryForm.mark(stated)])
        let note = try checkpoint.signed(with: key).text
        return StoryForm.page(proved, checkpoint, json: StoryForm.json(stated, checkpoint: note))
    }
}
