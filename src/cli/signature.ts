import { PAYMENT_MEMBERS, PAYMENT_OPTIONAL } from '../callback/payment.ts';
import { type Failure, usageError } from '../errors.ts';
import type { SourceSettings } from '../settings/schema.ts';
import { type SignatureExplanation, explainSignature } from '../signature/explain.ts';
import type { Explanation } from '../signature/scheme.ts';
import type { CommandRow } from './command.ts';
import { columns, printable } from './print.ts';
import type { Session } from './session.ts';
import { knownSource } from './sources.ts';

export const signatureExplain: CommandRow = {
  path: 'signature explain',
  summary:
    'Explain why the signature of a payment confirmation on standard input is valid or not. Nothing is sent.',
  example: 'signature explain < callback.json\nsignature explain --source shop --json < callback.json',
  define: (command) =>
    command.option(
      '--source <name>',
      'try only this source of the settings (default: the source with its appKey)',
    ),
  async run(session, call) {
    const sources = paymentSources(session, call.option('source'));
    const body = await session.input();
    if (body.toString().trim() === '') {
      throw usageError(
        'standard input is empty. Give the body of a callback, as in `countersign signature ' +
          'explain < callback.json`',
      );
    }
    const readSecret = session.secrets().read;
    const parts = { readSecret, grammar: PAYMENT_MEMBERS, optional: PAYMENT_OPTIONAL };
    const explained = await explainSignature(body, sources, parts);
    const verifies = explained.ok && explained.refusal === undefined;
    session.print(explained.ok ? explanationText(explained) : failureText(explained), {
      ...explained,
      ok: undefined,
      verifies,
    });
    return verifies ? 0 : 1;
  },
};

function paymentSources(session: Session, name: string | undefined): readonly SourceSettings[] {
  const { sources } = session.settings();
  if (name === undefined) return sources;
  const wanted = sources.filter((source) => source.name === knownSource(session, name));
  if (wanted.every((source) => source.callback === 'payment')) return wanted;
  throw usageError(
    `${name} is a co-signer, whose callbacks are not signed. The log says which credentials were missing`,
  );
}

const failureText = ({ code, because }: Failure): string => `${code}: ${printable(because)}`;

function explanationText({ source, scheme, tried, refusal, next }: SignatureExplanation): string {
  const end =
    refusal === undefined
      ? 'The signature is valid.'
      : `The signature is refused: ${failureText(refusal)}\nFix first: ${printable(next ?? refusal.because)}`;
  return [
    columns([
      ['source', source],
      ['scheme', scheme],
    ]),
    ...tried.map(triedText),
    end,
  ].join('\n\n');
}

function triedText(tried: Explanation | Failure): string {
  if (!tried.ok) return failureText(tried);
  const { keys, signed, signedBytes, signedSha256, hashed, expected, received, verifies } = tried;
  const name = tried.scheme === 'rsa-envelope' ? 'plaintext' : 'string';
  const texts =
    hashed === undefined
      ? [
          ['signed', printable(signed)],
          ['length', `${signedBytes} bytes`],
          ['SHA-256', signedSha256],
        ]
      : [
          [name, printable(hashed.text)],
          ['length', `${hashed.bytes} bytes`],
          ['SHA-256', hashed.sha256],
          ['signed', `${signed}  (the MD5 of the ${name}, in lower-case hexadecimal)`],
        ];
  return columns([
    ...keys.map(({ role, fingerprint }) => [role, fingerprint]),
    ...texts,
    ['expected', expected ?? 'only the sender can compute it'],
    ['received', printable(received)],
    ['verifies', verifies ? 'yes' : 'no'],
  ]);
}
