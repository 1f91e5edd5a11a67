/** Throws an error whose message ends with `because`, such as `is cut off. Copy it whole`. */
export type Refuse = (because: string) => never;

/** Reads the wire format of SSH (RFC 4251, section 5) from its first byte to its last. */
export interface SshReader {
  bytes(count: number): Buffer;
  byte(): number;
  uint32(): number;
  string(): Buffer;
  /** A string as text, a character for each byte. */
  name(): string;
  /** A whole number above zero, big-endian, without zeros in front. */
  positive(): Buffer;
  /** Refuses further bytes. */
  end(): void;
}

export function readSsh(given: Buffer, refuse: Refuse): SshReader {
  let at = 0;
  const bytes = (count: number): Buffer => {
    if (count > given.length - at) refuse('is cut off. Copy it again, whole');
    return given.subarray(at, (at += count));
  };
  const byte = (): number => bytes(1).readUInt8();
  const uint32 = (): number => bytes(4).readUInt32BE();
  const string = (): Buffer => bytes(uint32());
  return {
    bytes,
    byte,
    uint32,
    string,
    name: () => string().toString('latin1'),
    positive() {
      const number = string();
      const [first = 0, second = 0] = number;
      // One form only: a zero in front keeps a number positive, and is there for nothing else.
      if (first >= 128 || (first === 0 && second < 128)) {
        refuse('has a number that is zero, negative or not in its shortest form. Copy it again, unchanged');
      }
      return first === 0 ? number.subarray(1) : number;
    },
    end() {
      if (at < given.length) refuse('has further bytes after its end. Copy it again, unchanged');
    },
  };
}

/** A string of the wire format: its length, and its bytes. */
export function sshString(value: string | Uint8Array): Buffer {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
