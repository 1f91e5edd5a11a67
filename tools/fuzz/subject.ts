import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PAYMENT_MEMBERS, PAYMENT_OPTIONAL } from '../../src/callback/payment.ts';
import { approvalOf, askPeople } from '../../src/approvals/callbacks.ts';
import { subjectOf, termsOf } from '../../src/callback/callback.ts';
import { plainAnswer } from '../../src/callback/answer.ts';
import { createPipeline } from '../../src/pipeline/pipeline.ts';
import { readPolicyFiles } from '../../src/policy/compile.ts';
import { proposalToJson } from '../../src/policy/proposal.ts';
import type { Release } from '../../src/policy/release.ts';
import { createFollower } from '../../src/release/follow.ts';
import { pushRelease } from '../../src/release/push.ts';
import { compileAuthenticator } from '../../src/signature/authenticate.ts';
import { createDecryptionThreads } from '../../src/signature/decryption.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { explainedDetail } from '../../src/store/explanation.ts';
import { isKeptDecision } from '../../src/store/kept-decision.ts';
import type { SettleRequest, Store } from '../../src/store/store.ts';
import { DEPLOYMENT } from './people.ts';
import type { Sent } from './reference/reading.ts';
import { POLICY_FILES, environment, sources } from './settings.ts';

/*
 * The pipeline under test, wired as the service wires it, on an embedded store and with real keys.
 */

/** All that can be seen of one callback: what was answered, reported and asked of the store. */
export interface Observed {
  readonly body: string;
  readonly contentType: string;
  readonly reports: readonly {
    readonly verdict: string;
    readonly outcome: string;
    readonly code: string;
    readonly because: string;
  }[];
  /** What was settled, if anything was. */
  readonly settled: Settled | undefined;
}

export interface Settled {
  readonly source: string;
  readonly subject: string;
  /** The digest by which the store compares terms. */
  readonly terms: string;
  /** The detail of its journal entry, with the proposal computed again. */
  readonly detail: string;
  /** The proposal computed again is the one that was settled, character by character. */
  readonly explainsItself: boolean;
}

export interface Subject {
  /** Rejects only if the pipeline does, which it must not. */
  send(sent: Sent): Promise<Observed>;
  readonly store: Store;
  /** Stands still between two calls of `advance`. */
  readonly clock: () => number;
  readonly advance: (byMs: number) => void;
  close(): Promise<void>;
}

/** A pipeline that nobody has used. */
export async function openSubject(): Promise<Subject> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-fuzz-'));
  let nowMs = 1_790_000_000_000;
  const clock = (): number => nowMs;
  const store = await openEmbeddedStore({ path: join(folder, 'store.db'), clock });
  await putInForce(store);
  const policies = createFollower({ store, pollMs: 3_600_000, clock });
  await policies.refresh();
  const settled = new Map<string, Settled>();
  const reports = new Map<string, Observed['reports'][number][]>();
  const threads = createDecryptionThreads();
  const authenticator = compileAuthenticator(sources, {
    threads,
    readSecret: (reference) => environment['env' in reference ? reference.env : ''] ?? '',
    grammar: PAYMENT_MEMBERS,
    optional: PAYMENT_OPTIONAL,
  });
  const approving = { store, clock, scope: { deployment: DEPLOYMENT } };
  const pipeline = createPipeline({
    store: watched(store, settled, () => policies.current()),
    authenticator: () => authenticator,
    policies,
    people: {
      said: (callback, scheme, { people }) => approvalOf(approving, { callback, scheme }, people),
      ask: (asked) => askPeople(approving, asked),
    },
    ask: () => Promise.reject(new Error('no rule here asks anybody')),
    notReady: () => undefined,
    onTurnedAway: () => undefined,
    budgets: { report: () => undefined, excessReason: () => undefined },
    capacity: () => 1,
    callbacks: 1000,
    held: 100,
    isStopping: () => false,
    outputs: 200,
    answerFormat: () => plainAnswer,
    report: (report) => void reports.get(report.requestId)?.push(report),
    clock,
    answerTimeoutMs: 60_000,
  });
  let count = 0;
  return {
    store,
    clock,
    advance: (byMs) => void (nowMs += byMs),
    async send({ body, ...arrival }) {
      const requestId = `fuzz-${count++}`;
      const own: Observed['reports'][number][] = [];
      reports.set(requestId, own);
      const { answer, delivered } = await pipeline.receive({
        ...arrival,
        requestId,
        path: '/callback',
        arrivedMs: performance.now(),
        fromProxy: false,
        certificate: undefined,
        body: () => Promise.resolve(body),
        isConnected: () => true,
      });
      delivered(true);
      const mine = settled.get(requestId);
      settled.delete(requestId);
      reports.delete(requestId);
      return { ...answer, reports: own, settled: mine };
    },
    async close() {
      await pipeline.idle();
      await threads.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function putInForce(store: Store): Promise<void> {
  await store.register(sources.map(({ name }) => name));
  const files = Object.entries(POLICY_FILES).map(([name, text]) => ({ name, text }));
  const compiled = readPolicyFiles(files, () => undefined);
  if (!compiled.ok) throw new Error(compiled.faults.map(({ message }) => message).join('\n'));
  await pushRelease(store, {
    release: compiled.release,
    expected: '',
    by: 'fuzz',
    message: 'all below a limit',
  });
}

/** The store itself, and what it was asked to settle, by the id of the request. */
function watched(store: Store, settled: Map<string, Settled>, release: () => Release | undefined): Store {
  const note = (
    { callback, detail }: Pick<SettleRequest, 'callback' | 'detail'>,
    explainsItself: (detail: string) => boolean = () => true,
  ): void => {
    const id = /"(fuzz-\d+)"/.exec(detail)?.[1];
    if (id === undefined) return;
    const { source } = callback;
    const subject = subjectOf(callback);
    const explained = isKeptDecision(detail)
      ? explainedDetail({ source, subject, detail }, release())
      : detail;
    settled.set(id, {
      detail: explained,
      explainsItself: explainsItself(explained),
      source,
      subject,
      terms: termsOf(callback),
    });
  };
  return {
    ...store,
    settle: (request) => {
      const proposal = `,"proposal":${JSON.stringify(proposalToJson(request.proposal))}}`;
      note(request, (detail) => detail.endsWith(proposal) && !detail.includes('"note":'));
      return store.settle(request);
    },
    recordNotification: (request) => {
      note(request);
      return store.recordNotification(request);
    },
  };
}
