import { z } from 'zod';
import { type ActContent, actOfRequest } from '../approvals/acts.ts';
import { type ApprovalRequest, createRequests } from '../approvals/requests.ts';
import {
  type Signer,
  type SigningScope,
  signature as signatureShape,
  signersOf,
} from '../approvals/signers.ts';
import { CountersignError, messageOf, usageError } from '../errors.ts';
import type { OrderSource } from '../orders/orders.ts';
import { type People, SIGNERS_NEEDED } from '../policy/people.ts';
import type { Release } from '../policy/release.ts';
import { refused } from '../signature/statement.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from '../values/clock.ts';
import { isoTime } from '../values/text.ts';
import { type Act, requireSeen } from './act.ts';
import { acceptClock } from './clock.ts';
import { unfreeze } from './freezes.ts';
import { changeList } from './lists.ts';
import { liftLockout } from './lockouts.ts';
import { expectOrder } from './orders.ts';
import { type PricesParts, setPrices } from './prices.ts';
import { releaseApproval } from './release.ts';

/*
 * The second half of four eyes: people sign a request, and the signature that completes it performs the act.
 */

/** What all these acts need. */
interface Parts extends Pick<PricesParts, 'onPricesChanged'> {
  readonly store: Store;
  readonly sources: readonly OrderSource[];
  readonly clock: Clock;
  readonly deployment?: string | undefined;
  readonly release: Release | undefined;
}

interface Performed {
  readonly text: string;
  readonly notice: string;
  readonly json: object;
  readonly isDone: boolean;
  readonly followed: { readonly sequence?: number } | undefined;
}

/** An act, as a request has it. */
interface Row {
  /**
   * What it would undo now. Throws what it would throw, if that can be seen before; USAGE if it is more than
   * was asked for.
   */
  readonly look: (parts: Parts, content: ActContent) => Promise<readonly string[]>;
  readonly run: (parts: Parts, content: ActContent, by: string) => Promise<Performed>;
}

function rowOf<I extends z.ZodObject, R>(act: Act<Parts, I, R>): readonly [string, Row] {
  const read = async (parts: Parts, { input, seen }: ActContent): Promise<z.output<I>> => {
    const found = act.input.safeParse(input);
    if (!found.success)
      throw refused(`this version of the program can't read the act ${act.name}; make it again`);
    await requireSeen(act, parts, found.data, seen);
    return found.data;
  };
  const row: Row = {
    async look(parts, content) {
      const judged = await act.fourEyes?.judge(parts, await read(parts, content));
      const now = judged?.is === 'looser' ? (judged.about ?? []) : [];
      // A freeze can join another one, and then has its id.
      const other = now.find((line) => !content.about.includes(line));
      if (other === undefined) return now;
      throw usageError(`${act.name} would now end something else, ${other}; make the request again`);
    },
    async run(parts, content, by) {
      const result = await act.perform(parts, await read(parts, content), by);
      return {
        text: act.text(result),
        notice: (act.notice ?? act.text)(result),
        json: act.json(result),
        isDone: act.isDone?.(result) ?? true,
        followed: act.followed?.(result),
      };
    },
  };
  return [act.name, row];
}

const ROWS: ReadonlyMap<string, Row> = new Map([
  rowOf(unfreeze),
  rowOf(changeList),
  rowOf(setPrices),
  rowOf(expectOrder),
  rowOf(releaseApproval),
  rowOf(liftLockout),
  rowOf(acceptClock),
]);

function rowOfRequest({ act }: ActContent): Row {
  const row = ROWS.get(act);
  if (row !== undefined) return row;
  throw new CountersignError(
    'NOT_FOUND',
    `this version of the program has no act ${act} that a second person signs`,
  );
}

/** What the act of a request would undo now, for the person who is to sign it. */
export async function lookAtAct(parts: Parts, content: ActContent): Promise<readonly string[]> {
  return rowOfRequest(content).look(parts, content);
}

const input = z.strictObject({ request: z.string(), signature: signatureShape });

interface ApproveActParts extends Parts {
  /** Those who may sign now. */
  readonly people: () => Promise<People>;
  readonly scope: SigningScope;
}

export interface ActApproved {
  readonly request: ApprovalRequest;
  readonly signers: readonly Signer[];
  /** Undefined as long as signatures are missing. */
  readonly performed: Performed | undefined;
}

/**
 * Signs an act that waits. The signature that completes it performs the act: the request is over first, so
 * that it is never performed twice. If the program ends between, it was not performed, and the request says
 * that it was begun.
 */
export const approveAct: Act<ApproveActParts, typeof input, ActApproved> = {
  name: 'approvals approve',
  summary: 'Sign what another person wants to do.',
  role: 'operate',
  input,
  async perform(parts, { request: id, signature }) {
    const { clock, scope } = parts;
    const requests = createRequests(parts.store, clock);
    let signers: readonly Signer[] = [];
    const request = await requests.change(id, async (waiting) => {
      const { statement } = waiting;
      await lookAtAct(parts, actOfRequest(waiting, scope.deployment));
      const signed = { statement, signatures: [...waiting.signatures, signature] };
      const found = await signersOf(signed, await parts.people(), { role: 'operate', scope });
      // Who may no longer sign doesn't stop the others.
      if (!found.signers.some((each) => each.signature === signature)) {
        throw refused(found.refused.at(-1) ?? 'the signature does not count');
      }
      ({ signers } = found);
      const signatures = signers.map((each) => each.signature);
      // Who asked with an SSH key is one of them.
      if (signers.length < SIGNERS_NEEDED) return { signatures };
      const endedBy = signers.at(-1)?.person ?? '';
      return { signatures, state: 'done', endedBy, reason: `begun at ${isoTime(clock())}` };
    });
    if (request.state !== 'done') return { request, signers, performed: undefined };
    const others = signers.map(({ person }) => person).filter((person) => person !== request.by);
    const content = actOfRequest(request, scope.deployment);
    const by = `${request.by}, approved by ${others.join(', ')}`;
    const performed = await rowOfRequest(content)
      .run(parts, content, by)
      .catch(async (thrown: unknown) => {
        await requests.conclude(id, `failed: ${messageOf(thrown)}`);
        if (!(thrown instanceof CountersignError)) throw thrown;
        const { code, message, data } = thrown;
        throw new CountersignError(code, `${message}. Request ${id} is over: make it again`, data);
      });
    await requests.conclude(id, 'performed');
    return { request, signers, performed };
  },
  text: (result) => signedText(result, `\n${result.performed?.text}`),
  notice: (result) => signedText(result, ` ${result.performed?.notice}`),
  json: ({ request: { id }, signers, performed }) => ({
    request: id,
    signers: signers.map(({ person }) => person),
    performed: performed?.json ?? null,
  }),
  isDone: ({ performed }) => performed?.isDone === true,
  followed: ({ performed }) => performed?.followed ?? {},
};

function signedText({ request, signers, performed }: ActApproved, done: string): string {
  const names = signers.map(({ person }) => person).join(', ');
  const waits = ` Another person signs it until ${isoTime(request.expiresAtMs)}.`;
  return `Request ${request.id} is signed by ${names}.${performed === undefined ? waits : done}`;
}
