import ArgumentParser
import Traylog
@_spi(Witness) import TraylogAudit

struct KeygenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keygen",
        abstract: "Make a key pair that signs tree heads.",
        discussion: """
            The private key (Ed25519) goes to FILE, which only its owner can read, and the public one to FILE.pub and \
            to standard output. Neither file may exist. Keep the private key away from the store's machine if you \
            can; verifying takes only the public one. The command needs no store.

            With --witness the key is that of a witness ('traylog witness'): it cosigns, and signs no tree heads. Its \
            public key is for policies ('check --witness-policy').

            EXAMPLES
              traylog keygen audit.key --name trays.example.org
              traylog tree-head --sign audit.key > checkpoint
              traylog verify --tree-head checkpoint --public-key audit.key.pub
              traylog keygen witness.key --witness --name witness.example.org
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The file for the private key.", completion: .file())
    var file: String

    @Option(help: "The name of the log, which each signature carries: no spaces, no plus signs.")
    var name = "traylog"

    @Flag(help: "Make the key of a witness, which cosigns the tree heads of other logs.")
    var witness = false

    func run() throws {
        let key = try KeyFile.using("--name") { () throws(NoteError) in
            try NotePrivateKey(name: name, kind: witness ? .cosigner : .signer)
        }
        let publicFile = file + ".pub"
        try FileText.create(file, key.text + "\n", isSecret: true)
        do {
            try FileText.create(publicFile, key.publicKey.text + "\n", isSecret: false)
        } catch {
            FileText.remove(file)
            throw error
        }
        let output = Output(.standardOutput)
        if global.json {
            try output.json { writer in
                writer.beginObject()
                writer.member("name", name)
                writer.member("publicKey", key.publicKey.text)
                writer.member("privateKeyFile", file)
                writer.member("publicKeyFile", publicFile)
                writer.endObject()
            }
        } else {
            try output.line(key.publicKey.text)
        }
        try output.flush()
    }
}
