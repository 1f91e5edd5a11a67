import { describe, expect, it } from 'vitest';
import { SHOP, refuses, settingsOf } from './written.ts';

const receiver = (rest = '', url = 'https://relay.example/a'): string =>
  `{ url: '${url}', secret: { env: R }, events: [freeze, alarm]${rest} }`;
const written = (receivers: string): string => `${SHOP}notifications: [${receivers}]`;

describe('notifications', () => {
  it('default to none', () => {
    expect(settingsOf(SHOP).notifications).toEqual([]);
  });

  it('name a URL, a secret and events', () => {
    expect(settingsOf(written(receiver())).notifications).toEqual([
      { url: 'https://relay.example/a', secret: { env: 'R' }, events: ['freeze', 'alarm'] },
    ]);
    expect(
      settingsOf(written(`${receiver()}, ${receiver('', 'https://relay.example/b')}`)).notifications,
    ).toHaveLength(2);
  });

  describe('are refused', () => {
    refuses(
      `
${receiver().replace('[freeze, alarm]', '[]')}
! FILE:2:71: notifications[0].events has an invalid value; write a list of 1 to 5 events
${receiver().replace('alarm', 'alarms')}
! FILE:2:88: notifications[0].events[1] has an invalid value; write one of request, expiring, decided, freeze, alarm
${receiver().replace('{ env: R }', 'hush')}
! FILE:2:51: notifications[0].secret has an invalid value; write { file: PATH } or { env: NAME }; settings must not contain the secret itself
${receiver('', 'https://ada:hush@relay.example/')}
! FILE:2:19: notifications[0].url has an invalid value; write a URL such as https://risk.example/ask, without user, password or fragment; http is for a service on this machine
${receiver()}, ${receiver()}
! FILE:2:100: notifications[1].url is also the url of notifications[0]; list all events of a receiver in one entry
${receiver(', timeoutMs: 5')}
! FILE:2:96: notifications[0].timeoutMs is not a setting; delete it, or see docs/settings.md
${receiver(', ca: a.pem')}
! FILE:2:96: notifications[0].ca is not a setting; delete it, or see docs/settings.md
{ url: 'https://relay.example/a' }
! FILE:2:17: notifications[0].secret is missing; write { file: PATH } or { env: NAME }; settings must not contain the secret itself
! FILE:2:17: notifications[0].events is missing; write a list of 1 to 5 events
`,
      written,
    );
  });
});
