import ArgumentParser
import Traylog

struct AppendCommand: StoreCommand {
    static let configuration = CommandConfiguration(
        commandName: "append",
        abstract: "Store commands that come as lines of JSON.",
        discussion: """
            Stops at the first refusal with exit status 65 and its line number on standard error; the commands \
            before it stay. With --skip-refused it goes on. Blank lines are skipped but counted in line numbers. \
            The summary comes last, also after a refusal. Answers of --ack: {"line","result","seq","error"}.

            EXAMPLES
              traylog append commands.jsonl
              gzip -dc commands.jsonl.gz | traylog append - --json
              traylog append - --ack --skip-refused < commands.jsonl
              echo '{"kind":"notify","user":"alice","title":"Hello"}' | traylog append
            """)

    @OptionGroup var global: GlobalOptions
    @OptionGroup var options: AppendOptions

    @Argument(help: "Lines of JSON, or - for standard input.", completion: .file())
    var file = "-"

    var wantsJSONRefusals: Bool { global.json || options.ack }

    func run() throws {
        // Opened before the store, which is not created when there is nothing to read.
        let source = file == "-" ? Descriptor.standardInput : try Descriptor.reading(file)
        let store = try openForWriting()
        defer { store.close() }
        var appender = Appender(from: source, to: store, options, isJSON: wantsJSONRefusals)
        try appender.run()
    }
}
