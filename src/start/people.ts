import { type FourEyes, createFourEyes } from '../approvals/acts.ts';
import { approvalOf, askPeople } from '../approvals/callbacks.ts';
import type { Signature, SigningScope } from '../approvals/signers.ts';
import { messageOf } from '../errors.ts';
import { readByChain } from '../policy/chain-reading.ts';
import type { Log } from '../observe/log.ts';
import type { AskPeople } from '../pipeline/decide.ts';
import { originOf } from '../settings/console.ts';
import type { Settings } from '../settings/schema.ts';
import type { ApprovalRequests } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';

/** For which signatures count. Undefined if the settings have no `deployment`. */
export function signingScope({ deployment, console }: Settings): SigningScope | undefined {
  if (deployment === undefined) return undefined;
  const site = console?.passkeys && { host: console.passkeys.host, origin: originOf(console.passkeys) };
  return { deployment, site };
}

/** How acts wait for a second person. Undefined if none does. */
export function fourEyesOf(
  { fourEyes: acts, deployment = '' }: Settings,
  parts: {
    readonly store: () => Promise<ApprovalRequests>;
    readonly clock: Clock;
    readonly sign?: ((statement: string) => Promise<Signature>) | undefined;
  },
): FourEyes | undefined {
  return acts.length === 0 ? undefined : createFourEyes({ acts, deployment, ...parts });
}

/** How the pipeline asks people. Without a log, it asks nobody, and only reads what they have said. */
export function peopleOf(
  settings: Settings,
  { store, clock, log }: { readonly store: ApprovalRequests; readonly clock: Clock; readonly log?: Log },
): AskPeople {
  const parts = { store, clock, scope: signingScope(settings) };
  return {
    said: (callback, scheme, { assets, people }) =>
      approvalOf(parts, { callback: readByChain(callback, assets), scheme }, people),
    async ask(asked) {
      if (log === undefined) return false;
      const { source, id } = asked.callback;
      try {
        const isNew = await askPeople(parts, asked);
        if (isNew) log.info('approval-requested', { source, subject: id, because: asked.because });
        return isNew;
      } catch (thrown) {
        log.error('approval-not-requested', { source, subject: id, because: messageOf(thrown) });
        return false;
      }
    },
  };
}
