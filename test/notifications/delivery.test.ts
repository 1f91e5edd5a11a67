import { createHmac } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAuthority } from '../certificates.ts';
import { eventually } from '../eventually.ts';
import { type AnswerWith, type OtherSide, SECRET, otherSide } from '../plugins/other-side.ts';
import { NOW_MS, answers, notifying, takes } from './rig.ts';

const idsOf = ({ asked }: OtherSide): readonly unknown[] => asked.map(({ json }) => json['id']);

const received = (receiver: OtherSide, count: number): Promise<readonly unknown[]> =>
  eventually(`${count} have come`, () => {
    const ids = idsOf(receiver);
    return ids.length > count ? new Error(ids.join()) : ids.length === count ? ids : undefined;
  });

describe('a notification', () => {
  it('is JSON, signed as a question of `ask` is', async () => {
    const receiver = await otherSide(takes);
    const { notify } = notifying(
      receiver.url,
      {},
      { deployment: 'staging', consoleOrigin: 'https://ops.example' },
    );
    notify('frozen:f3:17', { text: 'All approvals are frozen', page: 'journal', data: { freeze: 'f3' } });
    await received(receiver, 1);
    const [asked] = receiver.asked;
    expect(asked).toMatchObject({ method: 'POST', path: '/ask', signed: true });
    expect(asked?.headers).toMatchObject({
      'content-type': 'application/json',
      'countersign-timestamp': String(NOW_MS),
    });
    expect(asked?.nonce).toMatch(/^[\w-]{24}$/);
    expect(asked?.json).toEqual({
      version: 1,
      event: 'freeze',
      id: 'frozen:f3:17',
      at: '2026-03-02T10:00:00.000Z',
      deployment: 'staging',
      text: 'All approvals are frozen',
      link: 'https://ops.example/console/journal',
      data: { freeze: 'f3' },
    });
  });

  it('has no link without the address of the console, no deployment without its name, and the time of the event if it is known', async () => {
    const receiver = await otherSide(takes);
    notifying(receiver.url).notify('a', { page: 'journal', atMs: NOW_MS - 1000 });
    await received(receiver, 1);
    expect(receiver.asked[0]?.json).toEqual({
      version: 1,
      event: 'freeze',
      id: 'a',
      at: '2026-03-02T09:59:59.000Z',
      text: 'It is a',
      data: {},
    });
  });

  it('has a text without mentions, hidden links and control characters, of at most 500 characters', async () => {
    const receiver = await otherSide(takes);
    const { notify } = notifying(receiver.url);
    const text = '<!channel> @here [click](http://a) \u001b[31m\u202e\nnext ';
    notify('a', { text, data: { reason: text } });
    notify('b', { text: '@'.repeat(2000) });
    await received(receiver, 2);
    expect(receiver.asked[0]?.json).toMatchObject({
      text: '‹!channel› ＠here (click)(http://a) (31m next',
      data: { reason: text },
    });
    expect(receiver.asked[0]?.body).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(receiver.asked[1]?.json['text']).toBe(`${'＠'.repeat(499)}…`);
  });

  it('goes only to receivers of its event', async () => {
    const receiver = await otherSide(takes);
    const { notify } = notifying(receiver.url, {}, { settings: { events: ['alarm', 'decided'] } });
    for (const event of ['request', 'freeze', 'decided', 'expiring', 'alarm'] as const)
      notify(event, { event });
    expect(await received(receiver, 2)).toEqual(['decided', 'alarm']);
  });

  it('that can not be made is a line in the log, and throws nothing', () => {
    const { notify, told } = notifying('http://127.0.0.1:1/');
    notify('a', { data: { amount: 1n } });
    expect(told()).toEqual([expect.stringMatching(/^notifications-failed: a notification can't be made: /)]);
  });
});

describe('a receiver that fails', () => {
  const failsAs: readonly (readonly [string, AnswerWith, string])[] = [
    ['answers 500', answers(500), 'it answered with HTTP status 500'],
    ['answers 429', answers(429), 'it answered with HTTP status 429'],
    ['closes the connection', (response) => response.socket?.destroy(), 'socket hang up'],
    ['never answers', () => undefined, 'no answer within 200 ms'],
  ];
  it.each(failsAs)('and %s gets everything later, in order', async (_name, fails, why) => {
    let failures = 0;
    const receiver = await otherSide((response, asked) => {
      if (failures++ < 3) fails(response, asked);
      else takes(response, asked);
    });
    const { notify, state, told } = notifying(receiver.url, { timeoutMs: 200 });
    for (const id of ['a', 'b', 'c']) notify(id);
    expect(await received(receiver, 6)).toEqual(['a', 'a', 'a', 'a', 'b', 'c']);
    expect(new Set(receiver.asked.map(({ nonce }) => nonce)).size).toBe(6);
    expect(new Set(receiver.asked.slice(0, 4).map(({ body }) => body)).size).toBe(1);
    await eventually('all is sent', () => (state()?.waiting === 0 ? true : undefined));
    expect(state()).toEqual({
      receiver: new URL(receiver.url).host,
      sent: 3,
      failed: 3,
      dropped: 0,
      waiting: 0,
    });
    expect(told()).toEqual([
      expect.stringMatching(/^notifications-failed: a notification to http:\S+ waits to be sent again: /),
      expect.stringMatching(/^notifications-resumed: /),
    ]);
    expect(told()[0]).toContain(why);
  });

  it.each([301, 400, 404, 410])('and refuses one with %d gets the others meanwhile', async (status) => {
    let isRefusing = true;
    const receiver = await otherSide((response, { json }) => {
      const refuses = isRefusing && json['id'] === 'a';
      if (refuses) response.setHeader('location', '/elsewhere');
      response.writeHead(refuses ? status : 200).end();
    });
    const { notify, state } = notifying(receiver.url);
    for (const id of ['a', 'b', 'c']) notify(id);
    await eventually('two are sent', () => (state()?.sent === 2 ? true : undefined));
    expect(idsOf(receiver).slice(0, 3)).toEqual(['a', 'b', 'c']);
    isRefusing = false;
    await eventually('the other one too', () => (state()?.sent === 3 ? true : undefined));
    expect(new Set(receiver.asked.map(({ path }) => path))).toEqual(new Set(['/ask']));
  });

  it('at one notification each time gets the others after ten attempts', async () => {
    const receiver = await otherSide((response, { json }) =>
      response.writeHead(json['id'] === 'poison' ? 500 : 200).end(),
    );
    const { notify, state } = notifying(receiver.url);
    for (const id of ['poison', 'b', 'c']) notify(id);
    await eventually('two are sent', () => (state()?.sent === 2 ? true : undefined));
    const ids = idsOf(receiver);
    expect(ids.slice(0, 11)).toEqual([...Array<string>(10).fill('poison'), 'b']);
    expect(state()).toMatchObject({ dropped: 0, waiting: 1 });
  });

  it('loses what has waited for too long', async () => {
    const receiver = await otherSide(answers(503));
    const { notify, state, told } = notifying(receiver.url, { keepMs: 150 });
    notify('a');
    notify('b');
    await eventually('both are dropped', () => (state()?.dropped === 2 ? true : undefined));
    expect(state()).toMatchObject({ sent: 0, waiting: 0 });
    expect(told().at(-1)).toMatch(/^notifications-dropped: .* because they had waited for too long [12]$/);
    receiver.answerWith(takes);
    notify('c');
    await eventually('the next one is sent', () => (state()?.sent === 1 ? true : undefined));
    expect(idsOf(receiver).at(-1)).toBe('c');
  });
});

describe('while a receiver hangs', () => {
  it('a bounded number waits, and the oldest are dropped, but not the one that is being sent', async () => {
    let finish = (): void => undefined;
    const receiver = await otherSide((response) => (finish = () => void response.writeHead(200).end()));
    const { notify, state, told } = notifying(receiver.url, { waiting: 5 });
    notify('0');
    await received(receiver, 1);
    for (let id = 1; id <= 100; id += 1) notify(String(id));
    expect(state()).toMatchObject({ sent: 0, dropped: 96, waiting: 5 });
    expect(told()).toHaveLength(1);
    expect(told()[0]).toMatch(/^notifications-dropped: .* because too many wait 1$/);
    receiver.answerWith(takes);
    finish();
    expect(await received(receiver, 5)).toEqual(['0', '97', '98', '99', '100']);
  });

  it('nothing is sent within the call, and a call waits for nothing', async () => {
    const receiver = await otherSide(() => undefined);
    const { notify, state } = notifying(receiver.url);
    for (let id = 0; id < 500; id += 1) notify(String(id));
    expect(receiver.connections()).toBe(0);
    expect(state()).toMatchObject({ waiting: 500 });
    await received(receiver, 1);
  });
});

describe('when the service stops', () => {
  it('what waits is tried once more, also what was to be tried later', async () => {
    const receiver = await otherSide(answers(500));
    const { notify, notifications, state } = notifying(receiver.url, {
      pauseMs: 600_000,
      pauseMaxMs: 600_000,
    });
    notify('a');
    notify('b');
    await eventually('one has failed', () => (state()?.failed === 1 ? true : undefined));
    receiver.answerWith(takes);
    await notifications.close(20_000);
    expect(idsOf(receiver)).toEqual(['a', 'a', 'b']);
    expect(state()).toMatchObject({ sent: 2, dropped: 0, waiting: 0 });
  });

  it('a receiver that fails again loses what waits, and one that hangs holds nothing up', async () => {
    for (const fails of [answers(500), () => undefined]) {
      const receiver = await otherSide(fails);
      const { notify, notifications, state, told } = notifying(receiver.url);
      for (const id of ['a', 'b', 'c']) notify(id);
      await eventually('one has come', () => (receiver.asked.length > 0 ? true : undefined));
      await notifications.close(100);
      expect(state()).toMatchObject({ sent: 0, dropped: 3, waiting: 0 });
      expect(told().at(-1)).toMatch(/^notifications-dropped: .* because the service stops 3$/);
      const { length } = receiver.asked;
      notify('d');
      await notifications.close(100);
      expect(receiver.asked).toHaveLength(length);
    }
  });
});

describe('the secret', () => {
  const signatureBy = (secret: string, { asked }: OtherSide): string => {
    const last = asked.at(-1);
    const text = `${String(last?.headers['countersign-timestamp'])}.${last?.nonce}.${last?.body}`;
    return `v1=${createHmac('sha256', secret).update(text).digest('hex')}`;
  };

  it('may be two, of which each signs', async () => {
    const receiver = await otherSide(takes);
    const { notify, notifications, setSecret } = notifying(receiver.url);
    setSecret(`${SECRET}\nthe-next-secret`);
    notifications.reload();
    notify('a');
    await received(receiver, 1);
    expect(receiver.asked[0]?.headers['countersign-signature']).toBe(
      `${signatureBy(SECRET, receiver)}, ${signatureBy('the-next-secret', receiver)}`,
    );
  });

  it('is read again, and one that can no longer be read stays in use', async () => {
    const receiver = await otherSide(takes);
    const { notify, notifications, setSecret } = notifying(receiver.url);
    setSecret('another');
    notify('a');
    await received(receiver, 1);
    notifications.reload();
    setSecret(undefined);
    expect(() => notifications.reload()).toThrow('no secret is there');
    notify('b');
    await received(receiver, 2);
    expect(receiver.asked.map(({ signed }) => signed)).toEqual([true, false]);
    expect(receiver.asked[1]?.headers['countersign-signature']).toBe(signatureBy('another', receiver));
  });

  it('is told nobody, and neither is the path of the URL, which may be one', async () => {
    const receiver = await otherSide(answers(500));
    const path = 'T000-hush';
    const { notify, notifications, state, told } = notifying(`${receiver.url}/${path}?key=${path}`);
    notify('a');
    await eventually('one has failed', () => (state()?.failed === 1 ? true : undefined));
    await notifications.close(0);
    expect(notifications.describe()).toEqual([`freeze: sent to ${new URL(receiver.url).origin}`]);
    const all = JSON.stringify([
      told(),
      state(),
      notifications.describe(),
      receiver.asked.map(({ body }) => body),
    ]);
    expect(told()).toHaveLength(2);
    expect(all).not.toContain(path);
    expect(all).not.toContain(SECRET);
  });
});

it('over TLS, a receiver whose authority nobody vouches for gets nothing', async () => {
  const authority = createAuthority();
  onTestFinished(() => authority.close());
  const receiver = await otherSide(takes, { tls: authority.issue('/CN=chat') });
  const { notify, state } = notifying(receiver.url);
  notify('a');
  await eventually('it has failed', () => ((state()?.failed ?? 0) > 0 ? true : undefined));
  expect(receiver.asked).toEqual([]);
  expect(state()).toMatchObject({ sent: 0, waiting: 1 });
});
