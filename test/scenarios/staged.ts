import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { explainJournalEntry } from '../../src/journal/explanation.ts';
import { subjectOf } from '../../src/callback/callback.ts';
import { callbackKinds } from '../../src/callback/kinds.ts';
import {
  type AskPeople,
  type AskPlugin,
  type DecideParts,
  type AuthenticatedCallback,
  decide,
} from '../../src/pipeline/decide.ts';
import { createTrace } from '../../src/pipeline/outcome.ts';
import { proposalFromJson } from '../../src/policy/proposal.ts';
import type { Release } from '../../src/policy/release.ts';
import type { GivenState, PolicyTest, TestCallback } from '../../src/policy/suite/suite.ts';
import { type Found, approvalsOf } from '../../src/simulation/run-tests.ts';
import { createFollower } from '../../src/release/follow.ts';
import { openEmbeddedStore } from '../../src/store/embedded/open.ts';
import { openRedisStore } from '../../src/store/redis/open.ts';
import type { Store } from '../../src/store/store.ts';
import { membersJson } from '../../src/values/members.ts';
import { type RedisServerProcess, startRedisServer } from '../redis-server.ts';
import { UNHURRIED } from '../store/redis-under-test.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/*
 * Runs a test of policies as production would: on a store of its own through the store's verbs, each callback
 * decided by the pipeline's last two steps under the release as it is read back from the store.
 */

const SOURCES = ['shop', 'vault'] as const;
const SCHEMES = ['md5', 'rsa', 'rsa-envelope'] as const;
const NO_ANSWER = 'no answer came';
const WHO = { by: 'test', message: '' } as const;

/** A store that nobody has used, and its clock. */
export interface Staging {
  readonly store: Store;
  readonly setClock: (nowMs: number) => void;
  readonly clock: () => number;
}

/**
 * What gives a test a store that nobody has used, which is closed when the test is over. To be called in a
 * `describe`.
 */
export function stagingOn(kind: 'embedded' | 'redis'): () => Promise<Staging> {
  let redis: RedisServerProcess | undefined;
  beforeAll(async () => {
    redis = kind === 'redis' ? await startRedisServer() : undefined;
  });
  afterAll(() => redis?.stop());
  return async () => {
    let nowMs = 0;
    const clock = (): number => nowMs;
    const store = await (redis === undefined
      ? openEmbeddedStore({ path: join(temporaryFolder(), 'store.db'), clock })
      : openRedisStore({ url: redis.url, prefix: randomUUID(), clock, ...UNHURRIED }));
    onTestFinished(() => store.close());
    const setClock = (atMs: number): void => {
      nowMs = atMs;
    };
    return { store, clock, setClock };
  };
}

/** What came of each callback of the test, in order. */
export async function runOn(
  staging: Staging,
  release: Release,
  { nowMs, given, callbacks }: PolicyTest,
): Promise<readonly Found[]> {
  const { store, clock, setClock } = staging;
  const sources = [...new Set([...SOURCES, ...callbacks.map(({ source }) => source)])];
  await setStage(staging, { release, given, sources }, nowMs);
  const policies = createFollower({ store, pollMs: 60_000, clock });
  await policies.refresh();
  const groupOf: DecideParts['groupOf'] = (source) => given.groups.get(source);
  const ask = answering(given);
  const base: DecideParts = { store, policies, ask, groupOf, clock, answerTimeoutMs: 30_000 };
  const found: Found[] = [];
  const approvalOf = approvalsOf();
  let atMs = nowMs;
  for (const callback of callbacks) {
    atMs += callback.afterMs;
    setClock(atMs);
    found.push(await decided({ ...base, people: approving(staging, callback, approvalOf) }, callback));
  }
  return found;
}

/** In order of time, since a store's own never runs backwards. */
async function setStage(
  { store, setClock }: Staging,
  {
    release,
    given,
    sources,
  }: { readonly release: Release; readonly given: GivenState; readonly sources: readonly string[] },
  nowMs: number,
): Promise<void> {
  setClock(0);
  await store.register(sources);
  const changes = given.lists.flatMap(({ source, list, values }) => [
    { source, list, add: [], atMs: 0 },
    ...values.map(({ value, addedMs }) => ({ source, list, add: [value], atMs: addedMs })),
  ]);
  for (const { atMs, ...change } of changes.toSorted((a, b) => a.atMs - b.atMs)) {
    setClock(atMs);
    await store.changeList({ ...change, remove: [], ...WHO });
  }
  setClock(nowMs);
  const { revision, document } = release;
  const { outcome } = await store.push({ revision, document, expected: '', ...WHO });
  if (outcome !== 'in-force') throw new Error('the store was used before');
  if (given.prices.length > 0) await store.changePrices({ set: given.prices, remove: [], by: WHO.by });
  for (const { source, subject, members, expiresMs } of given.orders) {
    await store.expectOrder({ source, subject, members, expiresAtMs: expiresMs, by: WHO.by });
  }
}

/** Production asks whomever a rule asks, also whom the test does not name, and gets no answer then. */
function answering({ answers }: GivenState): AskPlugin {
  return ({ type, name }) => {
    const answer = answers.find((each) => each.type === type && each.name === name);
    const because = answer === undefined ? NO_ANSWER : `${answer.verdict}, says the test`;
    return Promise.resolve({ verdict: answer?.verdict ?? 'failed', because });
  };
}

/** People who have approved the callback, in a request that the store has. */
function approving(
  { store, clock }: Staging,
  test: TestCallback,
  approvalOf: ReturnType<typeof approvalsOf>,
): AskPeople {
  return {
    ask: () => Promise.resolve(false),
    async said(callback) {
      const approval = approvalOf(test, subjectOf(callback), clock());
      if (approval === undefined) return undefined;
      const request = { scope: callback.source, id: approval.id, expected: 0, value: '{}', isOpen: true };
      await store.changeApprovalRequest({ ...request, keepMs: 30 * 86_400_000 });
      return approval;
    },
  };
}

async function decided(parts: DecideParts, test: TestCallback): Promise<Found> {
  const parsed = callbackKinds[test.kind].parse(test.members, test.source);
  if (!parsed.ok) {
    const { code, because } = parsed;
    return { verdict: 'FAILURE', code, rule: undefined, values: {}, because };
  }
  const { callback } = parsed;
  const question = {
    callback,
    body: membersJson(test.members),
    sender: senderOf(test),
    address: '127.0.0.1',
  };
  const { outcome } = await decide(parts, createTrace(arrivalOf(test)), question);
  const { report } = outcome;
  const { verdict } = report;
  const entry = await parts.store.entry(callback.source, report.decision ?? '');
  if (entry?.subject !== subjectOf(callback) || entry.verdict !== verdict) {
    throw new Error(`the journal does not say that ${subjectOf(callback)} got ${verdict}`);
  }
  const first = entry.of === '' ? undefined : await parts.store.entry(callback.source, entry.of);
  const { because, deciding } = explainJournalEntry(entry, first);
  const rule = deciding && `${deciding.policy}/${deciding.rule}`;
  if (because !== report.because || rule !== report.rule) {
    throw new Error(`the log says ${report.rule}: ${report.because}, and the journal ${rule}: ${because}`);
  }
  const suffix = ` (decided before, as ${callback.source}/${entry.of})`;
  return {
    verdict,
    code: report.code,
    rule: report.rule,
    values: valuesIn(entry.detail, report.rule),
    because: report.because.replace(suffix, '').replace(`did not answer: ${NO_ANSWER}`, 'was not asked'),
  };
}

/** What a rule looked at, as an auditor finds it in the journal. */
function valuesIn(detail: string, name: string | undefined): Found['values'] {
  if (name === undefined) return {};
  const { proposal } = JSON.parse(detail) as { readonly proposal: unknown };
  const result = proposalFromJson(proposal).results.find(({ policy, rule }) => `${policy}/${rule}` === name);
  return result?.values ?? {};
}

function senderOf({ source, scheme: named, members }: TestCallback): AuthenticatedCallback['sender'] {
  const scheme = SCHEMES.find((each) => each === named);
  return { ok: true, source, scheme, by: 'the test', members, plaintext: undefined };
}

/** Only its id matters from here on. */
function arrivalOf({ line, source }: TestCallback): Parameters<typeof createTrace>[0] {
  return {
    requestId: `line-${line}`,
    arrivedMs: performance.now(),
    route: { callback: 'cosigner', source, expected: [] },
    path: '/callback',
    address: '127.0.0.1',
    header: () => undefined,
    fromProxy: false,
    pathSecret: undefined,
    certificate: undefined,
    body: () => Promise.reject(new Error('it was decoded before')),
    isConnected: () => true,
  };
}
