import { describe, expect, it } from 'vitest';
import { plainAnswer } from '../../src/callback/answer.ts';
import { type RecordedText, recordedText } from '../../src/journal/recorded.ts';
import { createMapping } from '../../src/replay/mapping.ts';
import { type CosignerSender, type PaymentSender, expectSendable, resend } from '../../src/replay/resend.ts';
import { compileSigner } from '../../src/signature/schemes.ts';

const NOW_MS = 1_790_000_000_123;
const ADDRESS = '0x52908400098527886E0F7030069857D2E4169EE7';
const OTHER = '0x00000000000000000000000000000000000000aa';

const shop: PaymentSender = {
  callback: 'payment',
  name: 'shop',
  path: '/pay',
  appKey: 'staging',
  answer: plainAnswer,
  signer: () => compileSigner({ scheme: 'md5', secret: 'secret of staging', emptyValues: 'keep' }),
};
const vault: CosignerSender = {
  callback: 'cosigner',
  name: 'vault',
  answer: plainAnswer,
  headers: { 'x-token': 'token' },
  path: (kind) => `/${kind}`,
};
const senderOf = (source: string) => (source === 'shop' ? shop : vault);

type Table = Readonly<Record<string, Readonly<Record<string, string>>>>;
const mappingOf = (table: Table = {}, prefix = '') =>
  createMapping({
    tables: new Map(Object.entries(table).map(([name, texts]) => [name, new Map(Object.entries(texts))])),
    prefix,
  });

function again(
  sent: Partial<RecordedText>,
  mapping = mappingOf(),
): { readonly body: string; readonly queue: string } {
  const { kind = 'payment' } = sent;
  const resent = resend(
    kind === 'payment' ? 'shop' : 'vault',
    { scheme: 'md5', body: '', ...sent, kind },
    { senderOf, mapping, nowMs: NOW_MS },
  );
  if (typeof resent === 'string') throw new Error(resent);
  return resent;
}

const unsigned = (body: string): string => body.replace(/,"sign":"[0-9a-f]{32}"\}$/, '}');

describe('a payment that is sent again', () => {
  it('has its members in order and spelling; appKey, time and sign are new', () => {
    const body =
      '{"sign":"00","orderAmount":100.50,"appKey":"live","time":"1700000000","userId":12345678901234567890,"appOrderId":"\\u0041-1"}';
    expect(unsigned(again({ body }).body)).toBe(
      '{"orderAmount":100.50,"appKey":"staging","time":"1790000000","userId":12345678901234567890,"appOrderId":"A-1"}',
    );
  });

  it.each([
    ['"time":1700000000', '"time":1790000000'],
    ['"time":1700000000000', '"time":1790000000123'],
    ['"time":"1700000000000"', '"time":"1790000000123"'],
    ['"time":null', '"time":null'],
    ['"time":""', '"time":""'],
  ])('keeps how the time is written: %s', (time, expected) => {
    expect(again({ body: `{"appKey":"live",${time},"sign":"00"}` }).body).toContain(expected);
  });

  it('is rebuilt from what an envelope held', () => {
    const plaintext = '{"appOrderId":"A-1","orderAmount":"7"}';
    const detail = { scheme: 'md5', body: '{"app_id":"live","data":"","sign":""}', plaintext };
    const recorded = recordedText({ subject: 'payment:A-1', detail: JSON.stringify(detail) });
    if (typeof recorded === 'string') throw new Error(recorded);
    expect(unsigned(again(recorded).body)).toBe('{"appOrderId":"A-1","orderAmount":"7","appKey":"staging"}');
  });
});

describe('a co-signer’s callback that is sent again', () => {
  const body = ` {"type": "sign_start",\n"request_id":"w-1", "to":"${ADDRESS}", "amount":1e1, "x":[ 1 ]}`;

  it('is the same byte for byte', () => {
    expect(again({ kind: 'transfer', body })).toEqual({
      path: '/transfer',
      headers: { 'x-token': 'token' },
      body,
      queue: 'vault transfer:w-1',
      answer: plainAnswer,
    });
    expect(again({ kind: 'transfer', body }, mappingOf({ to: { [OTHER]: ADDRESS } })).body).toBe(body);
  });

  it('differs in what is mapped alone, an address in whatever case', () => {
    const mapping = mappingOf({ to: { [ADDRESS.toLowerCase()]: OTHER } }, 'again-');
    const { body: mapped, queue } = again({ kind: 'transfer', body }, mapping);
    expect(mapped).toBe(
      `{"type":"sign_start","request_id":"again-w-1","to":"${OTHER}","amount":1e1,"x":[ 1 ]}`,
    );
    expect(queue).toBe('vault transfer:again-w-1');
  });

  it('maps addresses in outputs as well, and keeps numbers numbers', () => {
    const outputs = JSON.stringify(
      JSON.stringify([
        { address_to: ADDRESS, amount: 1.1 },
        { address_to: OTHER, amount: '2' },
      ]),
    );
    const mapping = mappingOf({ to: { [ADDRESS]: 'new' }, transfer_id: { 17: '18' }, trans_id: { 5: 'x' } });
    const { body: mapped } = again(
      { kind: 'transfer', body: `{"request_id":7,"transfer_id":17,"trans_id":5,"outputs":${outputs}}` },
      mapping,
    );
    const written = `[{"address_to":"new","amount":1.1},{"address_to":"${OTHER}","amount":"2"}]`;
    expect(mapped).toBe(
      `{"request_id":7,"transfer_id":18,"trans_id":"x","outputs":${JSON.stringify(written)}}`,
    );
  });

  it.each(['"no JSON"', '"[{]"', '7', 'null', '[]'])(
    'leaves outputs that can’t be read as they are: %s',
    (outputs) => {
      const mapping = mappingOf({ to: { [ADDRESS]: OTHER } });
      const odd = `{"request_id":"w","outputs": ${outputs}}`;
      expect(again({ kind: 'transfer', body: odd }, mapping).body).toBe(odd);
    },
  );
});

describe('what can’t be sent again', () => {
  it.each([
    ['no detail', 'payment:1', '', "its detail can't be read"],
    ['no body', 'payment:1', '{"scheme":"md5"}', "its detail can't be read: body"],
    ['another kind', 'refund:1', '{"body":"{}"}', 'its subject has no kind'],
  ])('is told by its entry: %s', (_, subject, detail, said) => {
    expect(recordedText({ subject, detail })).toContain(said);
  });

  it('is a body that the decoder would refuse', () => {
    const parts = { senderOf, mapping: mappingOf(), nowMs: NOW_MS };
    expect(resend('shop', { kind: 'payment', scheme: 'md5', body: '{"a":1,"a":2}' }, parts)).toContain(
      'its body can\'t be read: the member "a" appears twice',
    );
    expect(resend('vault', { kind: 'transfer', scheme: '', body: '' }, parts)).toContain("can't be read");
  });

  it.each([
    ['shop', 'transfer', 'takes only payments'],
    ['vault', 'payment', 'takes only callbacks of a co-signer'],
  ] as const)('is, to %s, a %s', (source, kind, said) => {
    const sent: RecordedText = { kind, scheme: 'md5', body: '{}' };
    expect(() => expectSendable(source, sent, senderOf)).toThrow(said);
    expect(resend(source, sent, { senderOf, mapping: mappingOf(), nowMs: NOW_MS })).toContain(said);
  });
});
