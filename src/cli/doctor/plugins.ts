import { X509Certificate } from 'node:crypto';
import { readPem } from '../../settings/secrets.ts';
import { startModule } from '../../plugins/module.ts';
import { messageOf } from '../../errors.ts';
import type { Release } from '../../policy/release.ts';
import type { Settings } from '../../settings/schema.ts';
import { isLoopback } from '../../values/loopback.ts';
import { type ReadSecret, nameOfSecret } from '../../values/secret.ts';
import { type Finding, guarded } from './finding.ts';
import type { Session } from '../session.ts';

type Service = Settings['services'][number];
type Module = Settings['modules'][number];

/** The least number of characters. A shorter secret can be found by brute force. */
const SHORT_SECRET = 16;

/**
 * Checks the secret and certificate of each service, and whether each module loads and has its SHA-256. Sends
 * no question.
 */
export async function checkPlugins(
  session: Session,
  { services, modules }: Settings,
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const service of services) {
    findings.push(...(await guarded('asked', () => checkService(service, session.secrets().read))));
  }
  for (const module of modules) findings.push(...(await guarded('asked', () => checkModule(module))));
  return findings;
}

function checkService({ name, url, secret, ca }: Service, readSecret: ReadSecret): readonly Finding[] {
  const { origin, protocol, hostname } = new URL(url);
  const short = readSecret(secret).length < SHORT_SECRET;
  const open = protocol === 'http:' && !isLoopback(hostname);
  const unused = ca !== undefined && protocol === 'http:';
  if (ca !== undefined) certificateOf(ca, name);
  return [
    finding('ok', `service ${name} is called at ${origin}, with the secret in ${nameOfSecret(secret)}`),
    ...(short
      ? [
          warning(
            `the secret of service ${name} is short; make one with \`openssl rand -hex 32\` for both sides`,
          ),
        ]
      : []),
    ...(open
      ? [
          warning(
            `service ${name} is called at ${origin}, where others on the network can read every ` +
              'callback; use https',
          ),
        ]
      : []),
    ...(unused ? [warning(`service ${name} has a ca, which has no effect on an http URL; delete it`)] : []),
  ];
}

function certificateOf(ca: string, name: string): void {
  const pem = readPem(ca, `the ca of service ${name}`);
  try {
    void new X509Certificate(pem);
  } catch (thrown) {
    throw new Error(`${ca} is not a PEM certificate: ${messageOf(thrown)}`, { cause: thrown });
  }
}

async function checkModule(module: Module): Promise<readonly Finding[]> {
  const loaded = await startModule({ ...module, concurrency: 1 }, () => undefined);
  await loaded.close();
  return [finding('ok', `module ${module.name} is ${module.file}, has the right SHA-256 and loads`)];
}

/**
 * Plugins that enforcing rules ask and that are not in the settings. Every callback that these rules judge is
 * refused.
 */
export function unknownPlugins(settings: Settings, release: Release): readonly Finding[] {
  const known = {
    service: settings.services.map(({ name }) => name),
    module: settings.modules.map(({ name }) => name),
  };
  return release.policies.flatMap((policy) => {
    const asked = policy.rules
      .filter(({ mode }) => mode === 'enforce')
      .flatMap((rule) => rule.pluginQuestions ?? []);
    return (['service', 'module'] as const).flatMap((of) => {
      const names = new Set(asked.filter((question) => question.type === of).map(({ name }) => name));
      return [...names]
        .filter((name) => !known[of].includes(name))
        .map((name): Finding => {
          const others =
            known[of].length === 0 ? `there are no ${of}s` : `the ${of}s are ${known[of].join(', ')}`;
          return {
            check: 'policies',
            state: 'warning',
            because:
              `${policy.name} calls the ${of} ${name}, which the settings do not name under ` +
              `${of}s, so each callback it judges is refused; ${others}`,
          };
        });
    });
  });
}

const finding = (state: Finding['state'], because: string): Finding => ({ check: 'asked', state, because });
const warning = (because: string): Finding => finding('warning', because);
