import type { Findings, Tally } from './tally.ts';

/**
 * What a run came to, as text: counts by answer, code and mutation, and each finding with what repeats it.
 */
export function reportText(tally: Tally, seed: number, tookMs: number): string {
  const { answered, overHttp, slowBatches } = tally;
  const seconds = Math.round(tookMs / 1000);
  return [
    `${answered} callbacks in ${seconds} s, ${overHttp} of them over HTTP as well; seed ${seed}`,
    table('answers', tally.answers),
    table('outcomes', tally.codes),
    table('mutations', tally.mutations),
    `batches that kept the process busy for long, none of whose callbacks did alone: ${slowBatches}`,
    findings('wrong', tally.wrong, seed),
    findings('refused, though the reference would let it pass', tally.refused, seed),
    '',
  ].join('\n');
}

function table(title: string, counts: ReadonlyMap<string, number>): string {
  const rows = [...counts].toSorted(([, a], [, b]) => b - a);
  return `\n${title}\n${rows.map(([name, count]) => `${String(count).padStart(9)}  ${name}`).join('\n')}\n`;
}

function findings(title: string, found: ReadonlyMap<string, Findings>, seed: number): string {
  if (found.size === 0) return `${title}: none`;
  const blocks = [...found].map(([what, { count, examples }]) => {
    const shown = examples.map(
      ({ round, labels, path, headers, body, code }) =>
        `    --seed ${seed} --round ${round}, ${code}, by ${labels.join(' + ')}\n` +
        `    ${path} ${JSON.stringify(headers)}\n` +
        `    ${textOf(body)}`,
    );
    return `${String(count).padStart(9)}  ${what}\n${shown.join('\n')}`;
  });
  return `${title}\n${blocks.join('\n')}`;
}

const SHOWN = 2000;

/** As text where it is that, else as base64, which can be read back. */
function textOf(body: Uint8Array): string {
  const text = Buffer.from(body).toString('utf8');
  const exact = Buffer.from(text).equals(body) && !/\p{Cc}/u.test(text);
  const shown = exact ? text : `base64 ${Buffer.from(body).toString('base64')}`;
  return shown.length > SHOWN ? `${shown.slice(0, SHOWN)}… (${body.length} bytes)` : shown;
}
