/// Why a key, a note or a checkpoint cannot be used.
public enum NoteError: Error, Hashable, Sendable {
    /// The text is no key of this form.
    case malformedKey(String)
    /// The text is no signed note, or its text no checkpoint.
    case malformedNote(String)
    /// No signature of this key is under the note.
    case unsigned(by: String)
    /// The key's signature is not one of this text: the text, the signature or the key is another one.
    case wrongSignature(of: String)
    /// A name is empty, or has a space or a plus sign in it.
    case badName(String)
}

extension NoteError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .malformedKey(let what): "not a key: \(what)"
        case .malformedNote(let what): "not a signed tree head: \(what)"
        case .unsigned(let name): "the key \(name) has not signed it"
        case .wrongSignature(let name): "the signature of \(name) does not fit the text"
        case .badName(let name):
            "a key cannot have the name \"\(name)\": no spaces and no plus signs, and at least a letter"
        }
    }
}
