import {
  type PublicKeyCredentialCreationOptionsJSON,
  type PublicKeyCredentialRequestOptionsJSON,
  type RegistrationResponseJSON,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  verifyRegistrationResponse,
} from '@simplewebauthn/server';
import { z } from 'zod';
import { CountersignError, messageOf } from '../../errors.ts';
import {
  PASSKEY_ALGORITHMS,
  type PasskeySite,
  verifyPasskeyAnswer,
} from '../../signature/passkey-statement.ts';
import type { Clock } from '../../values/clock.ts';
import type { Invitation, Invitations } from './invitations.ts';
import {
  type AccessStore,
  type KnownAs,
  type Member,
  type Passkey,
  type People,
  digest,
  newMember,
  peopleLines,
} from './people.ts';
import type { Sessions } from './sessions.ts';

/** How long a person may take to answer the browser's question. */
const CHALLENGE_MS = 300_000;
const PASSKEYS_MAX = 20;

export interface Passkeys {
  signInOptions(): Promise<PublicKeyCredentialRequestOptionsJSON>;
  /** Resolves with the token of a session. Throws SIGN_IN_REFUSED. */
  signIn(response: unknown): Promise<SignedIn>;
  /** The invitation of a link, if it can still be used. */
  invitation(token: string): Promise<Invitation | undefined>;
  enrolmentOptions(token: string): Promise<PublicKeyCredentialCreationOptionsJSON>;
  /** Uses the invitation up, and signs the person in. Throws SIGN_IN_REFUSED. */
  enrol(token: string, response: unknown): Promise<SignedIn>;
}

export interface SignedIn {
  readonly name: string;
  /** Of the session, for the cookie. */
  readonly token: string;
}

export interface PasskeyParts extends PasskeySite {
  readonly store: AccessStore;
  readonly people: People;
  readonly sessions: Sessions;
  readonly invitations: Invitations;
  readonly clock: Clock;
  /** Absent if the people in the store count as they are. */
  readonly knownAs?: KnownAs | undefined;
}

const responseShape = z.looseObject({
  id: z.string().min(1).max(2048),
  rawId: z.string().max(2048),
  type: z.literal('public-key'),
  response: z.looseObject({
    clientDataJSON: z.string().max(8192),
    userHandle: z.string().max(128).optional(),
  }),
});
const clientDataShape = z.object({ challenge: z.string().max(1024) });

export function createPasskeys(parts: PasskeyParts): Passkeys {
  const { host, origin, people, sessions, invitations } = parts;
  const challenges = createChallenges(parts.store, parts.clock);
  return {
    async signInOptions() {
      const options = await generateAuthenticationOptions({
        rpID: host,
        userVerification: 'required',
        timeout: CHALLENGE_MS,
      });
      await challenges.keep(options.challenge, 'sign-in');
      return options;
    },
    async signIn(given) {
      const response = readResponse(given);
      const member = await people.findByHandle(response.response.userHandle ?? '');
      const passkey = member?.passkeys.find(({ id }) => id === response.id);
      const known = member && knownIn(parts, member, response.id);
      const challenge = await challenges.take(response, 'sign-in');
      if (member === undefined || passkey === undefined) throw refused('the passkey is not known here');
      const answer = { response, site: { host, origin }, passkey: known ?? passkey };
      const counter = await verifyPasskeyAnswer(answer, challenge, refused);
      // Only now: strangers are told nothing.
      if (known === undefined) throw notSigned(member, passkey);
      await people.change(member.name, (now) => withCounter(now, passkey.id, counter));
      return { name: member.name, token: await sessions.start(member.name) };
    },
    invitation: (token) => invitations.find(token),
    async enrolmentOptions(token) {
      const { name } = await usable(invitations.find(token));
      const member = await people.find(name);
      const { handle } = member ?? newMember(name, []);
      const options = await generateRegistrationOptions({
        rpName: 'Countersign',
        rpID: host,
        userName: name,
        userDisplayName: name,
        userID: Uint8Array.from(Buffer.from(handle, 'base64url')),
        timeout: CHALLENGE_MS,
        attestationType: 'none',
        supportedAlgorithmIDs: PASSKEY_ALGORITHMS,
        excludeCredentials: (member?.passkeys ?? []).map(({ id }) => ({ id })),
        authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      });
      await challenges.keep(options.challenge, `enrol ${digest(token)} ${handle}`);
      return options;
    },
    async enrol(token, given) {
      const response = readResponse(given);
      await usable(invitations.find(token));
      const purpose = `enrol ${digest(token)} `;
      const { challenge, rest: handle } = await challenges.takeWith(response, purpose);
      const passkey = await verifyEnrolment({ host, origin }, response, challenge, parts.clock());
      // Last, so that a mistake of the browser leaves the invitation as it is.
      const invitation = await usable(invitations.take(token));
      const { name } = invitation;
      const enrolled = await people.change(name, (member, lastRemovalMs) => {
        if (invitation.removalMs < lastRemovalMs) throw refused(INVITATION_OVER);
        return invited(member, invitation, { handle, passkey });
      });
      if (enrolled && knownIn(parts, enrolled, passkey.id) === undefined) throw notSigned(enrolled, passkey);
      return { name, token: await sessions.start(name) };
    },
  };
}

async function usable(found: Promise<Invitation | undefined>): Promise<Invitation> {
  const invitation = await found;
  if (invitation !== undefined) return invitation;
  throw refused(INVITATION_OVER);
}

const INVITATION_OVER = 'the invitation was used, or is over. Ask for another one';

/** Somebody who has made a passkey with an invitation. Throws SIGN_IN_REFUSED. */
function invited(
  member: Member | undefined,
  { name, roles }: Invitation,
  { handle, passkey }: { readonly handle: string; readonly passkey: Passkey },
): Member {
  if (member === undefined && roles.length === 0) {
    throw refused(`${name} was removed. Ask for an invitation with a role`);
  }
  const before = member ?? { ...newMember(name, roles), handle };
  if (before.handle !== handle) throw refused('somebody else has used the invitation meanwhile');
  return {
    ...before,
    roles: roles.length === 0 ? before.roles : roles,
    passkeys: [...before.passkeys, passkey].slice(-PASSKEYS_MAX),
  };
}

/** A passkey of somebody, as it counts. */
function knownIn({ knownAs = (all) => all }: PasskeyParts, member: Member, id: string): Passkey | undefined {
  return knownAs(member)?.passkeys.find((each) => each.id === id);
}

const notSigned = (member: Member, passkey: Passkey): CountersignError =>
  refused(
    'your passkey is not in people.yaml of the policies in force. Have these lines added there, and signed:\n' +
      peopleLines({ ...member, passkeys: [passkey] }),
  );

function refused(because: string): CountersignError {
  return new CountersignError('SIGN_IN_REFUSED', `You are not signed in: ${because}`);
}

type Response = z.output<typeof responseShape>;

function readResponse(given: unknown): Response {
  const read = responseShape.safeParse(given);
  if (read.success) return read.data;
  throw refused('what the browser sent can’t be read');
}

/** Challenges are kept in the store, so that any replica can take the answer, and are taken once. */
function createChallenges(store: AccessStore, clock: Clock) {
  const shape = z.object({ purpose: z.string(), expiresAtMs: z.number() });
  const idOf = (challenge: string): string => `challenge:${digest(challenge)}`;

  async function takeWith(response: Response, prefix: string): Promise<{ challenge: string; rest: string }> {
    const { challenge } = clientData(response);
    const record = await store.access(idOf(challenge));
    const taken =
      record !== undefined &&
      (await store.changeAccess({ id: idOf(challenge), expected: record.version, keepMs: 0 }));
    const kept = record && shape.safeParse(JSON.parse(record.value)).data;
    if (!taken || kept === undefined || kept.expiresAtMs <= clock() || !kept.purpose.startsWith(prefix)) {
      throw refused('the question was answered before, or too late. Try again');
    }
    return { challenge, rest: kept.purpose.slice(prefix.length) };
  }

  return {
    async keep(challenge: string, purpose: string): Promise<void> {
      const value = JSON.stringify({ purpose, expiresAtMs: clock() + CHALLENGE_MS });
      await store.changeAccess({ id: idOf(challenge), expected: 0, value, keepMs: CHALLENGE_MS });
    },
    async take(response: Response, purpose: string): Promise<string> {
      const { challenge, rest } = await takeWith(response, purpose);
      if (rest === '') return challenge;
      throw refused('the question was another one');
    },
    takeWith,
  };
}

function clientData({ response }: Response): { readonly challenge: string } {
  try {
    const json: unknown = JSON.parse(Buffer.from(response.clientDataJSON, 'base64url').toString('utf8'));
    return clientDataShape.parse(json);
  } catch {
    throw refused('what the browser sent can’t be read');
  }
}

async function verifyEnrolment(
  { host, origin }: PasskeySite,
  response: Response,
  challenge: string,
  createdAtMs: number,
): Promise<Passkey> {
  const { verified, registrationInfo } = await verifyRegistrationResponse({
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the library checks what it reads
    response: response as unknown as RegistrationResponseJSON,
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: host,
    requireUserVerification: true,
    supportedAlgorithmIDs: PASSKEY_ALGORITHMS,
  }).catch((thrown: unknown) => {
    throw refused(messageOf(thrown));
  });
  if (!verified || registrationInfo === undefined) throw refused('the passkey can’t be verified');
  const { id, publicKey, counter, transports = [] } = registrationInfo.credential;
  return { id, publicKey: Buffer.from(publicKey).toString('base64url'), counter, transports, createdAtMs };
}

/**
 * A counter that does not grow tells of a copied passkey; many devices have none, which is 0. The signature
 * was verified against an earlier state: another sign-in, or a removal, may have come in between.
 */
function withCounter(member: Member | undefined, id: string, counter: number): Member {
  const passkey = member?.passkeys.find((each) => each.id === id);
  if (member === undefined || passkey === undefined) throw refused('the passkey is not known here');
  if (counter <= passkey.counter && (counter !== 0 || passkey.counter !== 0)) {
    throw refused('the counter of the passkey did not grow, as if there were a copy of it');
  }
  return {
    ...member,
    passkeys: member.passkeys.map((each) => (each.id === id ? { ...each, counter } : each)),
  };
}
