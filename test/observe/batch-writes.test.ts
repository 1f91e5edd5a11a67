import { Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { eventually } from '../eventually.ts';
import { batchWrites } from '../../src/observe/log.ts';

function destination(): { readonly writes: string[]; readonly stream: Writable } {
  const writes: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      writes.push(chunk.toString());
      done();
    },
  });
  return { writes, stream };
}

describe('batched lines', () => {
  it('that arrive together are one write, in order and complete', async () => {
    const { writes, stream } = destination();
    const lines = batchWrites(stream);
    lines.write('a\n');
    lines.write('b\n');
    expect(writes).toEqual([]);
    await eventually('the first write', () => writes[0]);
    lines.write('c\n');
    await eventually('the second write', () => writes[1]);
    expect(writes).toEqual(['a\nb\n', 'c\n']);
  });

  it('are written at the end of the stream and when the process exits', async () => {
    const { writes, stream } = destination();
    const lines = batchWrites(stream);
    lines.end('a\n');
    await turn();
    expect(writes).toEqual(['a\n']);
    const other = batchWrites(stream);
    other.write('b\n');
    process.listeners('exit').at(-1)?.call(process, 0);
    expect(writes).toEqual(['a\n', 'b\n']);
  });
});
