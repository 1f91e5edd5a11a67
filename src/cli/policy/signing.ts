import type { Command } from 'commander';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { perform } from '../../act/act.ts';
import { signPolicies } from '../../act/policies.ts';
import { createRequests, stateOf } from '../../approvals/requests.ts';
import type { Signature, Signer } from '../../approvals/signers.ts';
import { CountersignError, usageError } from '../../errors.ts';
import { compileRelease } from '../../policy/compile.ts';
import { type PushDiff, diffFrom, diffOrReason } from '../../release/diff-text.ts';
import { invalidPolicies } from '../../release/files.ts';
import { findRevision, shortRevision } from '../../release/push.ts';
import {
  type PutInForce,
  comparedWith,
  requestedRevision,
  signersOfPush,
  statementFor,
} from '../../release/put-in-force.ts';
import { readRevisionStatement, revisionStatement } from '../../release/signed.ts';
import { filesInText } from '../../release/sources.ts';
import { namespaceOf } from '../../signature/statement.ts';
import { type SignerRules, trustedRevision } from '../../release/trust.ts';
import { runTests } from '../../simulation/run-tests.ts';
import { readTests } from '../../simulation/test-files.ts';
import { summaryText } from '../../simulation/test-text.ts';
import { signerRules } from '../../start/trust.ts';
import type { Call, CommandRow } from '../command.ts';
import { byOption } from '../command.ts';
import { checkEmpty } from '../empty-directory.ts';
import { counted, isoTime, printable } from '../print.ts';
import { servicesThatApplied } from '../services.ts';
import type { Session } from '../session.ts';
import { sourceNames } from '../sources.ts';
import { signBySsh } from '../ssh-sign.ts';
import { writeFiles } from './revisions.ts';

const KEY = 'sign with this SSH key, or with the key of the agent whose .pub file this is';

/** `--key`, for what people sign. */
export const keyOption = (command: Command): Command =>
  command
    .option('--key <file>', `${KEY}; needed if the settings have signers`)
    .option(
      '--unsigned',
      'push without signatures over policies that people signed, if no service has signers',
    );

/**
 * What the acts on policies need, of a command's session. The time is the store's: services would refuse a
 * statement that a clock which is far behind has let expire.
 */
export async function policyParts(session: Session) {
  const signers = signerRules(session.settings());
  const store = await session.store();
  const { nowMs } = signers === undefined ? { nowMs: session.clock() } : await store.health();
  return { store, clock: () => nowMs, ...(signers && { signers }) };
}

/**
 * The statement about a release with the signature of whoever runs the command, who is shown what changes;
 * undefined where nobody has to sign. Throws USAGE without --key.
 */
export async function signedByCaller(
  session: Session,
  call: Call,
  { shown, ...given }: Pick<PutInForce, 'release' | 'expected'> & { readonly shown: string },
): Promise<PutInForce['signed']> {
  const { store, clock, signers } = await policyParts(session);
  if (signers === undefined) return undefined;
  session.report(shown);
  const statement = await statementFor({ store, clock }, signers, given);
  return { statement, signatures: [await signatureOf(session, call, { statement, signers })] };
}

/** Shows the statement, and signs it. */
async function signatureOf(
  session: Session,
  call: Call,
  { statement, signers }: { readonly statement: string; readonly signers: SignerRules },
): Promise<Signature> {
  const key = call.option('key');
  if (key === undefined) {
    throw usageError('the settings have signers, so somebody must sign: give your SSH key with --key FILE');
  }
  session.report(`You sign:\n\n${statement}`);
  return signBySsh(statement, signers.deployment, key);
}

function requireSigners(session: Session): SignerRules {
  const signers = signerRules(session.settings());
  if (signers !== undefined) return signers;
  throw usageError('the settings have no signers, so nothing waits for signatures; see docs/signatures.md');
}

export const policySign: CommandRow = {
  path: signPolicies.name,
  summary: signPolicies.summary,
  example: 'policy sign r7k2mqx --key ~/.ssh/id_ed25519\npolicy sign r7k2mqx --show',
  define: (command) =>
    byOption(
      command.argument('<request>', 'the id that `policy push` printed').option('--key <file>', KEY),
    ).option('--show', 'show what would change, and sign nothing'),
  async run(session, call) {
    const signers = requireSigners(session);
    const [id = ''] = call.arguments;
    const parts = await policyParts(session);
    const { store, clock } = parts;
    const request = await createRequests(store, clock).find(id);
    const { document, files, expected } = requestedRevision(request);
    const compiled = compileRelease(document);
    if (!compiled.ok) throw invalidPolicies(`the policies of request ${id}`, compiled.faults);
    const { release } = compiled;
    const { revision } = release;
    if (readRevisionStatement(request.statement).revision !== revision) {
      throw new CountersignError(
        'SIGNATURE_REFUSED',
        `the statement of request ${id} is about another revision; don't sign it`,
      );
    }
    const { revision: before, warning } = await comparedWith(store, signers, expected);
    const diff = await diffFrom(store, { before, release, sources: sourceNames(session) });
    const shown = [
      `Request ${id}, ${stateOf(request, clock())}: ${printable(request.by)} at ${isoTime(request.createdAtMs)}: ${printable(request.message)}`,
      `${shortRevision(expected)} → ${shortRevision(revision)}`,
      ...(warning === '' ? [] : [`! ${warning}`]),
      loosensText(diff),
      diffOrReason(diff),
      await testsOf(session, release, files),
    ].join('\n');
    if (call.flag('show')) {
      session.print(`${shown}\n\n${request.statement}`, {
        request: id,
        state: stateOf(request, clock()),
        statement: request.statement,
        signatures: request.signatures.length,
        diff,
      });
      return 0;
    }
    session.report(shown);
    const { statement } = request;
    const isUseful = async (): Promise<boolean> => {
      if ((await store.control()).revision !== expected) return false;
      const soFar = await signersOfPush({ store, clock, signers }, request, { document, expected });
      return soFar.signers.length < soFar.needed;
    };
    const signature = (await isUseful())
      ? await signatureOf(session, call, { statement, signers })
      : undefined;
    const given = { request: id, signature };
    const result = await perform(signPolicies, { ...parts, signers }, given, session);
    const services = 'control' in result && { services: await servicesThatApplied(session, result.control) };
    session.print(signPolicies.text(result), { ...signPolicies.json(result), ...services });
    return 'control' in result ? 0 : 1;
  },
};

/** What a person who signs must know first. */
function loosensText(diff: PushDiff | string): string {
  if (typeof diff === 'string') return 'It is not known what gets looser: read the policies before you sign.';
  return diff.loosens.length === 0
    ? 'Nothing gets looser.'
    : `May loosen ${diff.loosens.map(printable).join(', ')}.`;
}

/** Runs the tests that were pushed with the policies, here. */
async function testsOf(
  session: Session,
  release: Parameters<typeof runTests>[0],
  files: string | undefined,
): Promise<string> {
  const written = files === undefined ? undefined : filesInText(files);
  if (written === undefined) return 'The request has no test files.';
  const directory = await mkdtemp(join(tmpdir(), 'countersign-'));
  try {
    await writeFiles(directory, written);
    const report = runTests(release, await readTests(directory), {
      outputs: session.settings().public.limits.outputs,
      progress: () => undefined,
    });
    return report.passed + report.failed === 0 ? 'There are no tests.' : summaryText(report);
  } finally {
    await rm(directory, { recursive: true });
  }
}

export const policyVerify: CommandRow = {
  path: 'policy verify',
  summary:
    'Say whether enough people have signed a revision, and who. Exits 1 if not. --out writes what `ssh-keygen` needs to ' +
    'check it without this program.',
  example: 'policy verify\npolicy verify 3f9a1c04d2b7 --out /tmp/signed',
  define: (command) =>
    command
      .argument('[revision]', 'the revision or its beginning (default: the revision in force)')
      .option('--out <directory>', 'write the statement, the signatures and the allowed signers here'),
  async run(session, call) {
    const rules = requireSigners(session);
    const store = await session.store();
    const [wanted] = call.arguments;
    const revision =
      wanted === undefined ? (await store.control()).revision : await findRevision(store, wanted);
    if (revision === '') throw new CountersignError('NOT_FOUND', 'no policies are in force; push some');
    const parts = { store, rules, forPeople: true };
    const { signers, needed, statement } = await trustedRevision(parts, revision);
    const text = revisionStatement(statement);
    const directory = call.option('out');
    const lines = directory === undefined ? [] : await writeForSshKeygen(directory, rules, { text, signers });
    const who = signers.map(({ person, key }) => `  ${person} with ${key}`);
    const count = counted(signers.length, 'person', 'people');
    session.print(
      [
        `${shortRevision(revision)} has serial ${statement.serial}, and ${count} signed it (needed: ${needed}):`,
        ...who,
        ...lines,
      ].join('\n'),
      {
        revision,
        serial: statement.serial,
        needed,
        signers: signers.map(({ person, key }) => ({ person, key })),
        statement: text,
        commands: lines,
      },
    );
    return 0;
  },
};

/** Writes what `ssh-keygen` needs. Returns the commands that check each signature. */
async function writeForSshKeygen(
  directory: string,
  { deployment }: SignerRules,
  { text, signers }: { readonly text: string; readonly signers: readonly Signer[] },
): Promise<readonly string[]> {
  await checkEmpty(directory);
  await mkdir(directory, { recursive: true });
  const at = (name: string): string => join(directory, name);
  const namespace = namespaceOf(deployment);
  const bySsh = signers.flatMap((each) =>
    each.signature.method === 'ssh' ? [{ ...each, armored: each.signature.signature }] : [],
  );
  await writeFile(at('statement'), text);
  const allowed = bySsh.map(({ person, publicKey }) => `${person} namespaces="${namespace}" ${publicKey}\n`);
  await writeFile(at('allowed_signers'), allowed.join(''));
  for (const { person, armored } of bySsh) await writeFile(at(`${person}.sig`), armored);
  return bySsh.map(
    ({ person }) =>
      `ssh-keygen -Y verify -f ${at('allowed_signers')} -I ${person} -n ${namespace} -s ${at(`${person}.sig`)} < ${at('statement')}`,
  );
}
