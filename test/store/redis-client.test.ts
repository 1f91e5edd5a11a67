import { describe, expect, it } from 'vitest';
import { connectorFor } from '../../src/store/redis/client.ts';

describe('the connector of a client', () => {
  it('rejects if node:tls refuses the options, so that the client counts a failed connection', async () => {
    const Connector = connectorFor({});
    const connector = new Connector!({
      host: '127.0.0.1',
      port: 1,
      tls: { key: 'no key', cert: 'no certificate' },
    });
    let connecting: Promise<unknown> | undefined;
    expect(() => (connecting = connector.connect(() => undefined))).not.toThrow();
    await expect(connecting).rejects.toThrow(/PEM|DECODER|unsupported/);
  });
});
