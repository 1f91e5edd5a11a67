import { rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { PAYMENT_PATH, VAULT_TOKEN, writeServiceFolder } from '../service.ts';
import type { Asked } from './model-callbacks.ts';
import { scripts } from './model-commands.ts';
import { runScript } from './model-run.ts';
import { describeOnBothStores } from './on-both-stores.ts';

/** Not far from the end of a year, so that calendar windows end as well. */
const START_MS = Date.UTC(2028, 11, 31, 20, 30, 17, 123);
const REPLICAS = [0, 1] as const;
const paths: Readonly<Record<Asked['kind'], string>> = {
  payment: PAYMENT_PATH,
  transfer: '/cosigner/withdraw',
  web3: '/cosigner/web3',
};

describeOnBothStores(
  'through HTTP it is decided as the model says',
  (host) => {
    it('over two replicas', async () => {
      const property = fc.asyncProperty(scripts, async (commands) => {
        let nowMs = START_MS;
        const clock = (): number => nowMs;
        const own = host.kind === 'embedded' ? { clock } : {};
        const folder = writeServiceFolder();
        const options = {
          ...own,
          group: 'all',
          settings: { policies: { directory: join(folder, 'policies'), push: 'never' } },
        };
        const first = await host.start(options);
        let replicas = [first, await host.start(options, first)];
        const of = (index: number): typeof first => replicas[index % replicas.length] ?? first;
        await runScript(
          {
            ask: async (index, { kind, body }) =>
              (await of(index).post(paths[kind], body, { authorization: VAULT_TOKEN })).body,
            store: () => of(0).store,
            advance: (ms) => (nowMs += ms),
            nowMs: () => (host.kind === 'embedded' ? nowMs : undefined),
            async reopen() {
              for (const replica of replicas) await replica.stop({ keep: true });
              replicas = await Promise.all(REPLICAS.map(() => host.start(options, first)));
            },
          },
          commands,
        );
        for (const replica of replicas) await replica.stop({ keep: true });
        rmSync(folder, { recursive: true, force: true });
      });
      await fc.assert(property, { numRuns: 3, endOnFailure: true });
      expect(host.kind).toMatch(/embedded|redis/);
    });
  },
  { timeoutMs: 120_000 },
);
