import { type NextFunction, type Request, type RequestHandler, type Response, Router } from 'express';
import { type Assets, loadAssets } from '../console/assets.ts';
import { type NavigationEntry, fault, layout } from '../console/layout.ts';
import { type Html, html, link, markupOf } from '../console/html.ts';
import {
  type Download,
  type FormRequest,
  type Form,
  type Page,
  type PageRequest,
  type Person,
  type Redirect,
  type View,
  mayUse,
} from '../console/page.ts';
import { noRolesPage, signInPage } from '../console/sign-in/pages.ts';
import type { RequestFacts } from '../console/sign-in/proxy.ts';
import { CountersignError, messageOf, usageError } from '../errors.ts';
import { bodyReader } from './body.ts';
import { cookiesOf } from './cookies.ts';
import { type PasskeySignIn, type ShowView, createSignInRoutes } from './console-sign-in.ts';
import { type OnFailed, requestName } from './api.ts';

export interface ConsoleParts {
  readonly pages: readonly Page[];
  readonly forms: readonly Form[];
  /** The person who sends the request; undefined for somebody who has not signed in. */
  readonly identify: (request: RequestFacts) => Promise<Person | undefined>;
  /** Undefined if people are named by a proxy alone. */
  readonly passkeys?: PasskeySignIn | undefined;
  /** Whether a proxy names people. They call the console by a name of its own. */
  readonly hasProxy?: boolean | undefined;
  /** Why nothing is approved now, a sentence for each freeze. */
  readonly frozen: () => Promise<readonly string[]>;
  /** How acts wait for a second person; undefined if none does. */
  readonly fourEyes: FormRequest['fourEyes'];
}

/** The bytes of a form, such as a list that is imported. */
const FORM_BYTES = 1_048_576;

/**
 * The console, to be mounted at `/console`. Without JavaScript everything reads. A page of another origin can
 * neither read it, frame it, nor send its forms.
 */
export function createConsole(parts: ConsoleParts, onFailed: OnFailed): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const assets = loadAssets();
  const hasPasskeys = parts.passkeys !== undefined;
  const readForm = bodyReader(FORM_BYTES, 'application/x-www-form-urlencoded');
  const send = createSender(parts, assets);

  router.use(setHeaders);
  for (const { path, contentType, content } of assets.files) {
    router.get(path.slice('/console'.length), (_request, response) => {
      response.set({ 'Cache-Control': 'public, max-age=31536000, immutable', 'Content-Type': contentType });
      response.send(content);
    });
  }
  router.use(requireSameOrigin(parts));
  if (parts.passkeys !== undefined) {
    const show: ShowView = (request, response, view, status) =>
      send.view(request, response, undefined, view, status);
    router.use(createSignInRoutes(parts.passkeys, show));
  }
  router.use(async (request, response, next) => {
    const person = await parts.identify(factsOf(request));
    const outside = (view: View, status: number) => send.view(request, response, undefined, view, status);
    if (person === undefined) await outside(signInPage(parts.passkeys?.origin, wantedBy(request)), 401);
    else if (!mayUse(person, 'read')) await outside(noRolesPage(person, hasPasskeys), 403);
    else {
      response.locals['person'] = person;
      next();
    }
  });
  router.get(FIRST, async (_request, response, next) => {
    const [first] = await navigationOf(parts.pages, personOf(response));
    if (first === undefined || first.path === FIRST) next();
    else response.redirect(303, `/console${first.path}`);
  });
  for (const page of parts.pages) {
    router.get(page.path, async (request, response) => {
      const asked = pageRequest(request, response);
      const answer = await page.show(asked);
      if ('chunks' in answer) await sendFile(response, answer);
      else await send.view(request, response, asked.person, answer);
    });
  }
  for (const form of parts.forms) {
    router.post(form.path, async (request, response) => {
      const asked = pageRequest(request, response);
      const { person } = asked;
      if (!mayUse(person, form.role) && form.alsoFor?.(person) !== true)
        throw new Forbidden(person, form.role);
      const body = await readForm(request, response);
      if (!(body instanceof Uint8Array)) throw usageError(body.because);
      const fields = new URLSearchParams(Buffer.from(body).toString('utf8'));
      const done = await form.submit({ ...asked, form: fields, fourEyes: parts.fourEyes });
      if ('to' in done) redirect(request, response, done, parts);
      else await send.view(request, response, person, done);
    });
  }
  router.use((request, response) => send.view(request, response, personOf(response), NOT_FOUND, 404));
  router.use(async (thrown: unknown, request: Request, response: Response, next: NextFunction) => {
    if (response.headersSent) {
      next(thrown);
      return;
    }
    const { status, because } = refusalOf(thrown);
    if (thrown instanceof CountersignError && thrown.code === 'BUSY') response.set('Retry-After', '1');
    if (status === 500) onFailed(requestName(request), messageOf(thrown));
    const person: Person | undefined = response.locals['person'];
    await send.view(request, response, person, faultView(because), status);
  });
  return router;
}

/** The page that is shown after a sign-in. What a form was to do is not done: it leads to the first page. */
function wantedBy({ method, originalUrl }: Request): string | undefined {
  const { pathname, search } = new URL(originalUrl, 'http://console');
  return method === 'GET' && pathname.startsWith('/console/') ? `${pathname}${search}` : undefined;
}

/** Nothing is loaded from elsewhere, nothing inline runs, and no page frames this one. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

function setHeaders(_request: Request, response: Response, next: NextFunction): void {
  response.set({
    'Content-Security-Policy': CONTENT_SECURITY_POLICY,
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Cache-Control': 'no-store',
  });
  next();
}

/**
 * Refuses a form that a page of another origin sends. Browsers say where a request comes from
 * (`Sec-Fetch-Site`); older ones send at least `Origin` with a POST. A request with neither is refused.
 */
function requireSameOrigin(parts: ConsoleParts): RequestHandler {
  return (request, _response, next) => {
    if (request.method === 'GET' || request.method === 'HEAD') {
      next();
      return;
    }
    const site = request.get('sec-fetch-site');
    const sameOrigin = site === undefined ? isOwnOrigin(request, parts) : site === 'same-origin';
    if (request.method === 'POST' && sameOrigin) next();
    else next(new CrossOrigin());
  };
}

/** The settings say the origin of people with passkeys. A proxy may speak TLS when this port does not. */
function isOwnOrigin(request: Request, { passkeys, hasProxy = false }: ConsoleParts): boolean {
  const origin = request.get('origin') ?? '';
  if (passkeys !== undefined && (origin === passkeys.origin || !hasProxy)) return origin === passkeys.origin;
  const schemes = request.secure ? ['https'] : ['http', 'https'];
  return schemes.some((scheme) => {
    const own = `${scheme}://${request.get('host') ?? ''}`;
    return URL.canParse(own) && origin === new URL(own).origin;
  });
}

class CrossOrigin extends Error {}

class Forbidden extends Error {
  constructor({ name, roles }: Person, role: string) {
    super(
      `This needs the role ${role}. ${name} has ${roles.join(', ')}. Ask an administrator to run ` +
        `countersign console invite ${name} --role ${role}`,
    );
  }
}

function refusalOf(thrown: unknown): { readonly status: number; readonly because: string } {
  if (thrown instanceof Forbidden) return { status: 403, because: thrown.message };
  if (thrown instanceof CrossOrigin) {
    return {
      status: 403,
      because: 'The form was not sent by a page of this console. Open it here, and try again',
    };
  }
  if (thrown instanceof URIError) return { status: 400, because: 'The path has an invalid percent-encoding' };
  if (!(thrown instanceof CountersignError)) {
    return { status: 500, because: 'It failed. The log of the service says why' };
  }
  const { code, message } = thrown;
  if (code === 'NOT_FOUND') return { status: 404, because: message };
  return { status: code === 'BUSY' || code.startsWith('STORE_') ? 503 : 422, because: message };
}

const faultView = (because: string): View => ({
  title: 'That did not work',
  content: html`${fault(`${because}.`)}
    <p><a href="${link`/now`}">Go to Now</a></p>`,
});

const NOT_FOUND: View = {
  title: 'There is no such page',
  content: html`<p>
    The address has a mistake, or its record is gone. <a href="${link`/now`}">Go to Now</a>
  </p>`,
};

function personOf(response: Response): Person {
  const person: Person | undefined = response.locals['person'];
  if (person === undefined) throw new Error('a page was reached without a person');
  return person;
}

function pageRequest(request: Request, response: Response): PageRequest {
  const parameters = Object.entries(request.params).filter(
    (each): each is [string, string] => typeof each[1] === 'string',
  );
  return {
    person: personOf(response),
    parameters: Object.fromEntries(parameters),
    query: new URL(request.originalUrl, 'http://console').searchParams,
  };
}

function factsOf(request: Request): RequestFacts {
  return {
    cookies: cookiesOf(request),
    rawHeaders: request.rawHeaders,
    address: request.ip ?? '',
  };
}

const NOTICE_COOKIE = 'countersign-notice';
const NOTICE_CHARACTERS = 500;

const NOTICE_ATTRIBUTES = 'Path=/console; HttpOnly; SameSite=Strict';

/** The notice goes along in a cookie that the next page shows once. */
function redirect(
  request: Request,
  response: Response,
  { to, notice }: Redirect,
  { passkeys }: ConsoleParts,
): void {
  const value = encodeURIComponent(notice.slice(0, NOTICE_CHARACTERS).toWellFormed());
  // A proxy may speak TLS when this port does not: the browser says so with its form.
  const overTls =
    request.secure ||
    passkeys?.cookie.secure === true ||
    request.get('origin')?.startsWith('https:') === true;
  const attributes = overTls ? `${NOTICE_ATTRIBUTES}; Secure` : NOTICE_ATTRIBUTES;
  response.append('Set-Cookie', `${NOTICE_COOKIE}=${value}; Max-Age=60; ${attributes}`);
  response.redirect(303, to);
}

function takeNotice(request: Request, response: Response): string | undefined {
  const value = cookiesOf(request).get(NOTICE_COOKIE);
  if (value === undefined) return undefined;
  response.append('Set-Cookie', `${NOTICE_COOKIE}=; Max-Age=0; ${NOTICE_ATTRIBUTES}`);
  try {
    return decodeURIComponent(value).slice(0, NOTICE_CHARACTERS);
  } catch {
    return undefined;
  }
}

const FIRST = '/';
/** The same page, where another one comes first. */
const NO_LONGER_FIRST = '/now';

/** The entries of the navigation for a person, in order, with how much waits at each. */
async function navigationOf(pages: readonly Page[], person: Person): Promise<readonly NavigationEntry[]> {
  const first: NavigationEntry[] = [];
  const others: NavigationEntry[] = [];
  for (const { path, navigation: label, waiting, isFirstOf } of pages) {
    if (label === undefined) continue;
    // The page itself says why the store does not answer.
    const waits = (await waiting?.().catch(() => '')) ?? '';
    const entries = waits !== '' && isFirstOf?.(person) === true ? first : others;
    entries.push({ path, label, waits });
  }
  if (first.length === 0) return others;
  return [
    ...first,
    ...others.map((entry) => (entry.path === FIRST ? { ...entry, path: NO_LONGER_FIRST } : entry)),
  ];
}

function createSender({ pages, frozen, passkeys }: ConsoleParts, assets: Assets) {
  return {
    async view(
      request: Request,
      response: Response,
      person: Person | undefined,
      view: View,
      status: number = view.status ?? 200,
    ): Promise<void> {
      const freezes = person === undefined ? [] : await frozen();
      const page: Html = layout({
        view,
        path: new URL(request.originalUrl, 'http://console').pathname.slice('/console'.length),
        navigation: person === undefined ? [] : await navigationOf(pages, person),
        person,
        frozen: freezes,
        // Another host of the site can plant the cookie: nothing of it is shown beside a sign-in.
        notice: person === undefined ? undefined : takeNotice(request, response),
        assets,
        canSignOut: passkeys !== undefined,
      });
      response.status(status).set('Content-Type', 'text/html; charset=utf-8').send(markupOf(page));
    },
  };
}

async function sendFile(response: Response, { name, contentType, chunks }: Download): Promise<void> {
  response.set({
    'Content-Type': contentType,
    'Content-Disposition': `attachment; filename="${name.replaceAll(/[^\w.-]/g, '_')}"`,
  });
  for await (const chunk of chunks) {
    if (response.destroyed) return;
    if (!response.write(chunk)) await drained(response);
  }
  response.end();
}

/** Resolves when the response can take more, or its reader has gone. */
function drained(response: Response): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      response.off('drain', done).off('close', done);
      resolve();
    };
    response.on('drain', done).on('close', done);
  });
}
