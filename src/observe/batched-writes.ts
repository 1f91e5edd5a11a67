import { Writable } from 'node:stream';

/** For how long a line may wait for others. */
const WAIT_MS = 10;

/**
 * Writes to `destination` together what lines came within 10 ms, and at the end or when the process exits
 * what is left. Standard output is written in the foreground, and a write of its own for each line would cost
 * as much as half of the policies.
 */
export function batchWrites(destination: Writable): Writable {
  let lines = '';
  const flush = (): void => {
    if (lines !== '') destination.write(lines);
    lines = '';
  };
  process.once('exit', flush);
  return new Writable({
    decodeStrings: false,
    write(line: string | Buffer, _encoding, done) {
      if (lines === '') setTimeout(flush, WAIT_MS).unref();
      lines += line.toString();
      done();
    },
    final(done) {
      process.off('exit', flush);
      flush();
      done();
    },
  });
}
