import ArgumentParser

/// How `append` goes about its input.
struct AppendOptions: ParsableArguments {
    @Flag(help: "Report refused commands and go on; they do not change the exit status.")
    var skipRefused = false

    @Flag(help: "Answer each command with a JSON line as soon as it is durable, in order; implies --json.")
    var ack = false
}
