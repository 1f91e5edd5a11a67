import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { type Signature, type SigningScope, signersOf } from '../approvals/signers.ts';
import { CountersignError, messageOf } from '../errors.ts';
import type { People } from '../policy/people.ts';
import { namespaceOf, refused } from '../signature/statement.ts';

/**
 * Signs a statement with an SSH key, by `ssh-keygen`, which asks for a passphrase, or for a touch of a
 * security key. A file that ends in .pub names a key of the agent. Throws SIGNATURE_REFUSED.
 */
export async function signBySsh(statement: string, deployment: string, keyFile: string): Promise<Signature> {
  const args = ['-Y', 'sign', '-n', namespaceOf(deployment), '-f', keyFile];
  try {
    const child = spawn('ssh-keygen', args, { stdio: ['pipe', 'pipe', 'pipe'] });
    child.stdin.on('error', () => undefined).end(statement);
    const [signature, said, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'close'),
    ]);
    if (code === 0) return { method: 'ssh', signature };
    throw new Error(said.trim() || `exit code ${code}`);
  } catch (thrown) {
    throw new CountersignError(
      'SIGNATURE_REFUSED',
      `\`ssh-keygen ${args.join(' ')}\` did not sign: ${messageOf(thrown)}; name the file of your private key, or the ` +
        '.pub file of a key that the agent has',
    );
  }
}

/**
 * Signs what an operator asks for. Throws SIGNATURE_REFUSED too if the key is of nobody with the role
 * `operate`.
 */
export async function signAsOperator(
  statement: string,
  keyFile: string,
  { people, scope }: { readonly people: People; readonly scope: SigningScope | undefined },
): Promise<Signature> {
  if (scope === undefined) throw refused('the settings have no deployment, so nobody can sign; set it');
  const signature = await signBySsh(statement, scope.deployment, keyFile);
  const found = await signersOf({ statement, signatures: [signature] }, people, { role: 'operate', scope });
  const [because] = found.refused;
  if (because !== undefined) throw refused(because);
  return signature;
}
