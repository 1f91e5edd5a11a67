import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../src/values/clock.ts';
import { eventually } from '../eventually.ts';
import { SECRET, otherSide } from '../plugins/other-side.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { answers, notifying, takes } from './rig.ts';

/** Where the program of docs/notifications.md listens, which passes on to a chat or by mail. */
async function runningReceiver(to: 'chat' | 'mail', env: Readonly<Record<string, string>>): Promise<string> {
  const folder = temporaryFolder();
  const written = readFileSync('docs/notifications.md', 'utf8').matchAll(/```js\n(\/\/ (\S+):[\s\S]*?)```/g);
  for (const [, code = '', name = ''] of written) writeFileSync(join(folder, name), code);
  const argv = [join(folder, 'receiver.mjs'), `./${to}.mjs`];
  const child = spawn(process.execPath, argv, { env: { SECRET, PORT: '0', ...env }, stdio: 'pipe' });
  onTestFinished(async () => {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => (said += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  return eventually('it listens', () => {
    if (child.exitCode !== null) return new Error(said);
    return /notified at (http:\S+)\n/.exec(said)?.[1];
  });
}

const NOW = { clock: systemClock, deployment: 'staging', consoleOrigin: 'https://ops.example' };

describe('the receiver in the documentation', () => {
  it('passes the text on to a chat, each once, and again if the chat failed', async () => {
    const chat = await otherSide(answers(500));
    const url = await runningReceiver('chat', { CHAT_URL: `${chat.url}/hooks/T0` });
    const { notify, state } = notifying(url, {}, NOW);
    notify('a', { text: 'All <b>approvals</b> are frozen', page: '' });
    await eventually('it has failed', () => ((state()?.failed ?? 0) > 0 ? true : undefined));
    expect(state()).toMatchObject({ sent: 0, waiting: 1 });
    chat.answerWith(takes);
    await eventually('it is sent', () => (state()?.sent === 1 ? true : undefined));
    const { length } = chat.asked;
    expect(chat.asked.at(-1)).toMatchObject({
      path: '/ask/hooks/T0',
      json: { text: 'staging All ‹b›approvals‹/b› are frozen https://ops.example/console/' },
    });
    notify('a');
    notify('b');
    await eventually('all is sent', () => (state()?.sent === 3 ? true : undefined));
    expect(chat.asked.slice(length).map(({ json }) => json)).toEqual([{ text: 'staging It is b' }]);
  });

  it('passes the text on by mail', async () => {
    const folder = temporaryFolder();
    const [sendmail, kept] = [join(folder, 'sendmail'), join(folder, 'mail')];
    writeFileSync(sendmail, `#!/bin/sh\n{ echo "$@"; cat; } > ${kept}\n`);
    chmodSync(sendmail, 0o700);
    const url = await runningReceiver('mail', { MAIL_TO: 'oncall@example.com', SENDMAIL: sendmail });
    const { notify, state } = notifying(url, {}, NOW);
    notify('a', { text: 'It is\nBcc: all@example.com', page: 'journal', atMs: 0 });
    await eventually('it is sent', () => (state()?.sent === 1 ? true : undefined));
    expect(existsSync(kept) && readFileSync(kept, 'utf8').split('\n')).toEqual([
      '-i oncall@example.com',
      'To: oncall@example.com',
      'Subject: Countersign staging: freeze',
      'MIME-Version: 1.0',
      'Content-Type: text/plain; charset=utf-8',
      '',
      'It is Bcc: all＠example.com',
      'https://ops.example/console/journal',
      '',
      '1970-01-01T00:00:00.000Z a',
      '',
    ]);
  });

  it('tries again what sendmail did not take', async () => {
    const folder = temporaryFolder();
    const [sendmail, kept] = [join(folder, 'sendmail'), join(folder, 'mail')];
    writeFileSync(sendmail, `#!/bin/sh\ncat > /dev/null\n[ -e ${kept} ] || { : > ${kept}; exit 75; }\n`);
    chmodSync(sendmail, 0o700);
    const url = await runningReceiver('mail', { MAIL_TO: 'oncall@example.com', SENDMAIL: sendmail });
    const { notify, state, told } = notifying(url, {}, NOW);
    notify('a');
    await eventually('it is sent', () => (state()?.sent === 1 ? true : undefined));
    expect(state()).toMatchObject({ failed: 1, dropped: 0 });
    expect(told()[0]).toContain('it answered with HTTP status 503');
  });

  it('refuses another secret, and what is old', async () => {
    const chat = await otherSide(takes);
    const other = notifying(
      await runningReceiver('chat', { SECRET: 'another', CHAT_URL: chat.url }),
      {},
      NOW,
    );
    const late = notifying(
      await runningReceiver('chat', { CHAT_URL: chat.url }),
      {},
      {
        ...NOW,
        clock: () => systemClock() - 61_000,
      },
    );
    for (const { notify, state, told } of [other, late]) {
      notify('a');
      await eventually('it has failed', () => ((state()?.failed ?? 0) > 0 ? true : undefined));
      expect(told()[0]).toContain('it answered with HTTP status 401');
    }
    expect(chat.asked).toEqual([]);
  });
});
