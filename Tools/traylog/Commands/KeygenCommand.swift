import ArgumentParser
import Traylog
import TraylogAudit

struct KeygenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keygen",
        abstract: "Make a key pair that signs tree heads.",
        discussion: """
            The private key (Ed25519) goes to FILE, which only its owner can read, and the public one to FILE.pub and \
            to standard output. Neither file may exist. Keep the private key away from the store's machine if you \
            can; verifying takes only the public one. The command needs no store.

            EXAMPLES
              traylog keygen audit.key --name trays.example.org
              traylog tree-head --sign audit.key > checkpoint
              traylog verify --tree-head checkpoint --public-key audit.key.pub
            """)

    @OptionGroup var global: GlobalOptions

    @Argument(help: "The file for the private key.", completion: .file())
    var file: String

    @Option(help: "The name of the log, which each signature carries: no spaces, no plus signs.")
    var name = "traylog"

    func run() throws {
        let key = try KeyFile.using("--name") { () throws(NoteError) in try NotePrivateKey(name: name) }
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
