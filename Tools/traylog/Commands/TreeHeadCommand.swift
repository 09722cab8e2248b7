import ArgumentParser
@_spi(Operations) @_spi(JSON) import Traylog
@_spi(JSON) import TraylogJSON

struct TreeHeadCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "tree-head",
        abstract: "Show size and root hash of the Merkle tree over the log.",
        discussion: """
            Whoever keeps a tree head elsewhere can prove later that no event up to it was changed, dropped, added or \
            moved: 'traylog verify --tree-head FILE'. With --sign it is a checkpoint (a C2SP signed note), signed with \
            the log's key.

            It is a query and writes nothing. Events that the stored tree lacks are hashed anew each time: about a \
            second for a million. --save stores the tree first, so it opens the store for writing.

            EXAMPLES
              traylog tree-head
              traylog tree-head --json > /mnt/elsewhere/head.json
              traylog tree-head --sign audit.key > /mnt/elsewhere/checkpoint
              traylog tree-head --sign audit.key --append /mnt/elsewhere/heads
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var moment: MomentOption

    @Option(help: ArgumentHelp("Sign it with the private key in this file.", valueName: "keyfile"), completion: .file())
    var sign: String?

    @Option(
        help: ArgumentHelp("Append it to a file that 'verify' reads whole.", valueName: "file"),
        completion: .file())
    var append: String?

    @Flag(help: "Store the tree first, so that heads and proofs are quick from then on.")
    var save = false

    func run() throws {
        let key = try sign.map { try KeyFile.privateKey($0) }
        if save {
            try withReader { _ in }
            try writing { store throws(TraylogError) in _ = try store.storeTree() }
        }
        let head = try withReader { try $0.treeHead(asOf: moment.asOf) }
        let checkpoint = try key.map { try KeyFile.checkpoint(of: head, with: $0, from: sign ?? "") }
        if let append { try addLine(head, checkpoint, to: append) }
        try printing { output in
            if global.json {
                try output.json { $0.write(head, checkpoint: checkpoint) }
            } else if let checkpoint {
                for line in checkpoint.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
                    try output.line(String(line))
                }
            } else {
                try output.lines(
                    FactsText([("tree size", Cell("\(head.size)")), ("root hash", Cell(head.root.hex))])
                        .lines(on: Terminal(.standardOutput)))
            }
        }
    }

    private func addLine(_ head: TreeHead, _ checkpoint: String?, to path: String) throws {
        var writer = JSONWriter()
        writer.write(head)
        try FileText.append(path, checkpoint ?? String(decoding: writer.bytes, as: UTF8.self) + "\n")
    }
}
