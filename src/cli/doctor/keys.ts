import { X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { authenticatorOf } from '../../start/sources.ts';
import type { PortName } from '../../start/files.ts';
import { messageOf } from '../../errors.ts';
import { demoCredentials, readPem } from '../../settings/secrets.ts';
import type { Settings, SourceSettings } from '../../settings/schema.ts';
import type { ReadSecret } from '../../values/secret.ts';
import { sharedKeys } from '../../signature/authenticate.ts';
import { type Finding, guarded } from './finding.ts';
import { isoTime } from '../print.ts';
import type { Session } from '../session.ts';

/** Checks the keys of each source alone, so that a fault of one hides no other. Then reports weaknesses. */
export async function checkKeys(session: Session, settings: Settings): Promise<readonly Finding[]> {
  const secrets = session.secrets();
  const findings: Finding[] = [];
  for (const source of settings.sources) {
    findings.push(...(await guarded('keys', () => checkSource(settings, source, secrets.read))));
  }
  if (findings.every(({ state }) => state !== 'fault')) {
    findings.push(...sharedKeys(authenticatorOf(settings, secrets.read).describe()).map(warning));
  }
  for (const port of ['public', 'ops'] as const) {
    const check = () => checkTls(port, settings[port].tls, secrets.read, session.clock());
    findings.push(...(await guarded('keys', check)));
  }
  const weak = [...demoCredentials(settings, secrets.read), ...secrets.warnings()];
  return [...findings, ...weak.map(warning)];
}

function checkSource(settings: Settings, source: SourceSettings, readSecret: ReadSecret): readonly Finding[] {
  const described = authenticatorOf({ ...settings, sources: [source] }, readSecret).describe();
  return described.flatMap(({ source: name, accepts, keys, warnings }) => {
    const lines = keys.map(({ role, fingerprint }) => `\n  ${role} ${fingerprint}`).join('');
    const ok: Finding = {
      check: 'keys',
      state: 'ok',
      because: `${name} authenticates by ${accepts.join(', ')}${lines}`,
    };
    return [ok, ...warnings.map((because) => warning(`${name}: ${because}`))];
  });
}

const EXPIRES_SOON_MS = 30 * 86_400_000;

function checkTls(
  port: PortName,
  tls: Settings['public']['tls'],
  readSecret: ReadSecret,
  nowMs: number,
): readonly Finding[] {
  if (tls === undefined) return [];
  const cert = readPem(tls.certificate, `${port}.tls.certificate`);
  const fault = (because: string): readonly Finding[] => [{ check: 'keys', state: 'fault', because }];
  try {
    const ca = tls.clientCa === undefined ? undefined : readPem(tls.clientCa, `${port}.tls.clientCa`);
    createSecureContext({ cert, key: readSecret(tls.key), ca });
  } catch (thrown) {
    return fault(
      `${port}.tls: ${messageOf(thrown)}; the certificate and the key must be PEM and belong together`,
    );
  }
  const untilMs = Date.parse(new X509Certificate(cert).validTo);
  const because = `the certificate of ${port}.tls is valid until ${isoTime(untilMs)}`;
  if (untilMs <= nowMs) return fault(`${because}; replace it`);
  return untilMs - nowMs < EXPIRES_SOON_MS
    ? [warning(`${because}; replace it soon`)]
    : [{ check: 'keys', state: 'ok', because }];
}

const warning = (because: string): Finding => ({ check: 'keys', state: 'warning', because });
