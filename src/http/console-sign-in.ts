import { type Request, type Response, Router } from 'express';
import { CountersignError, usageError } from '../errors.ts';
import type { Attempts } from '../console/sign-in/attempts.ts';
import { NO_INVITATION, SIGNED_OUT, invitationPage, signInPage } from '../console/sign-in/pages.ts';
import type { Passkeys, SignedIn } from '../console/sign-in/passkeys.ts';
import type { Sessions } from '../console/sign-in/sessions.ts';
import type { View } from '../console/page.ts';
import { bodyReader } from './body.ts';
import { cookiesOf } from './cookies.ts';

/** Signing in by passkeys. */
export interface PasskeySignIn {
  readonly passkeys: Passkeys;
  readonly sessions: Sessions;
  readonly failures: Attempts;
  readonly challenges: Attempts;
  /** Of the console, as browsers say it. */
  readonly origin: string;
  /** The name of the cookie, and whether it is sent only over TLS. */
  readonly cookie: { readonly name: string; readonly secure: boolean };
  /** Called for each sign-in, sign-out and enrolment, and for each attempt that failed. */
  readonly report: (
    event: 'sign-in' | 'enrolment' | 'sign-out' | 'sign-in-refused',
    about: {
      readonly person?: string;
      readonly address: string;
      readonly because?: string;
    },
  ) => void;
}

export type ShowView = (request: Request, response: Response, view: View, status?: number) => Promise<void>;

const ANSWER_BYTES = 65_536;

/** The routes that somebody needs who has not signed in. */
export function createSignInRoutes(signIn: PasskeySignIn, show: ShowView): Router {
  const { passkeys, sessions, challenges, cookie, report } = signIn;
  const router = Router({ caseSensitive: true, strict: true });
  function begin(response: Response, { token }: SignedIn): void {
    setCookie(response, cookie, token);
    response.json({ to: '/console/' });
  }
  const answering = createAnswering(signIn);
  function countChallenge(request: Request): void {
    const address = addressOf(request);
    if (challenges.areTooMany(address)) {
      throw new CountersignError('BUSY', 'too many challenges were asked for. Wait a minute');
    }
    challenges.count(address);
  }

  router.get('/sign-in', (request, response) => show(request, response, signInPage(signIn.origin)));
  router.post(
    '/sign-in/options',
    answering(async (request, response) => {
      countChallenge(request);
      response.json(await passkeys.signInOptions());
    }),
  );
  router.post(
    '/sign-in',
    answering(async (request, response) => {
      const signedIn = await passkeys.signIn(await bodyOf(request, response));
      report('sign-in', { person: signedIn.name, address: addressOf(request) });
      begin(response, signedIn);
    }),
  );
  router.get('/invite/:token', async (request, response) => {
    const { token } = request.params;
    const invitation = await passkeys.invitation(token);
    await show(
      request,
      response,
      invitation === undefined ? NO_INVITATION : invitationPage(invitation, token),
    );
  });
  router.post(
    '/invite/:token/options',
    answering(async (request, response) => {
      countChallenge(request);
      response.json(await passkeys.enrolmentOptions(String(request.params['token'])));
    }),
  );
  router.post(
    '/invite/:token',
    answering(async (request, response) => {
      const signedIn = await passkeys.enrol(String(request.params['token']), await bodyOf(request, response));
      report('enrolment', { person: signedIn.name, address: addressOf(request) });
      begin(response, signedIn);
    }),
  );
  router.post('/sign-out', async (request, response) => {
    const token = cookiesOf(request).get(cookie.name);
    const person = token === undefined ? undefined : await sessions.personOf(token);
    if (token !== undefined) await sessions.end(token);
    setCookie(response, cookie, undefined);
    if (person !== undefined) report('sign-out', { person: person.name, address: addressOf(request) });
    await show(request, response, SIGNED_OUT);
  });
  return router;
}

const addressOf = (request: Request): string => request.ip ?? '';

type Handler = (request: Request, response: Response) => Promise<void>;

/** Answers as JSON. Failures count for the address, which then is refused unread. */
function createAnswering({
  failures,
  report,
}: Pick<PasskeySignIn, 'failures' | 'report'>): (work: Handler) => Handler {
  return (work) => async (request, response) => {
    const address = addressOf(request);
    if (failures.areTooMany(address)) {
      refuse(response, 429, 'SIGN_IN_REFUSED', 'There were too many failed sign-ins. Wait a minute');
      return;
    }
    try {
      await work(request, response);
    } catch (thrown) {
      if (!(thrown instanceof CountersignError)) throw thrown;
      if (thrown.code === 'SIGN_IN_REFUSED') {
        failures.count(address);
        report('sign-in-refused', { address, because: thrown.message });
      }
      refuse(response, statusOf(thrown), thrown.code, thrown.message);
    }
  };
}

function statusOf({ code }: CountersignError): number {
  if (code === 'BUSY') return 429;
  return code.startsWith('STORE_') ? 503 : 403;
}

const readBytes = bodyReader(ANSWER_BYTES);

async function bodyOf(request: Request, response: Response): Promise<unknown> {
  const bytes = await readBytes(request, response);
  if (!(bytes instanceof Uint8Array)) throw usageError(bytes.because);
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    throw usageError('the body is not JSON');
  }
}

/** The browser forgets the cookie when it is closed, and the session ends by itself. */
function setCookie(
  response: Response,
  { name, secure }: PasskeySignIn['cookie'],
  token: string | undefined,
): void {
  const attributes = ['Path=/', 'HttpOnly', 'SameSite=Strict', ...(secure ? ['Secure'] : [])];
  const ended = token === undefined ? ['Max-Age=0'] : [];
  response.append('Set-Cookie', [`${name}=${token ?? ''}`, ...attributes, ...ended].join('; '));
}

function refuse(response: Response, status: number, code: string, message: string): void {
  response.status(status).json({ error: { code, message } });
}
