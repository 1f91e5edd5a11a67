import { Writable } from 'node:stream';

/**
 * Writes to `destination` once a turn of the event loop whatever lines came in it. Standard output is written in the
 * foreground, and a write of its own for each line would cost as much as half of the policies.
 */
export function gathered(destination: Writable): Writable {
  let lines = '';
  const flush = (): void => {
    if (lines !== '') destination.write(lines);
    lines = '';
  };
  process.once('exit', flush);
  return new Writable({
    decodeStrings: false,
    write(line: string | Buffer, _encoding, done) {
      if (lines === '') setImmediate(flush);
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
