import type { z } from 'zod';
import { type Act, type Author, type Role, overtaken, perform } from '../act/act.ts';
import { CountersignError, type ErrorCode } from '../errors.ts';
import { type Html, link } from './html.ts';

/** Somebody who has signed in. */
export interface Person {
  readonly name: string;
  readonly roles: readonly Role[];
}

export function mayUse({ roles }: Person, role: Role): boolean {
  return role === 'read' ? roles.length > 0 : roles.includes(role);
}

/** The author that the store records for a change by a person: `console:ada`. */
export const authorOf = ({ name }: Person): string => `console:${name}`;

export interface PageRequest {
  readonly person: Person;
  /** The parts of the path that the page's `path` names, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
}

export interface FormRequest extends PageRequest {
  /** The fields of the form. */
  readonly form: URLSearchParams;
  readonly fourEyes: Author['fourEyes'];
}

/** What a page shows below its heading. */
export interface View {
  readonly title: string;
  readonly content: Html;
  /** 200 if it is left out. */
  readonly status?: 400 | 404 | 409 | 422 | 503;
  /** The page above this one, for the way back. */
  readonly up?: { readonly to: string; readonly label: string };
  /** Seconds after which the browser asks again, while something goes on. */
  readonly refreshS?: number;
  /** Where it asks then, a path of `link`; the same page if it is left out. */
  readonly refreshTo?: string;
}

/** A file to download. */
export interface Download {
  readonly name: string;
  readonly contentType: string;
  readonly chunks: AsyncIterable<string>;
}

/** After a form, the browser goes to `to`, a path of `link`, and shows the notice there once. */
export interface Redirect {
  readonly to: string;
  readonly notice: string;
}

/** A page that reads. It works without JavaScript. */
export interface Page {
  /** Below `/console`, such as `/decisions/:source/:id`. */
  readonly path: string;
  /** Its entry in the navigation. Absent for pages below others. */
  readonly navigation?: string;
  /** How much waits there for people, such as `3` or `50+`; the empty text for nothing. The navigation says so. */
  readonly waiting?: () => Promise<string>;
  /** Whether it is the first page of a person, in place of Now, while something waits there. */
  readonly isFirstOf?: (person: Person) => boolean;
  show(request: PageRequest): Promise<View | Download>;
}

/** What a person sends: a POST to `path`, which may be that of a page. */
export interface Form {
  readonly path: string;
  readonly role: Role;
  /** Who else may send it. */
  readonly alsoFor?: ((person: Person) => boolean) | undefined;
  /** Throws a CountersignError for what the person can mend: it is shown with status 422. */
  submit(request: FormRequest): Promise<Redirect | View>;
}

/** The pages and forms of a file of `pages/`. */
export interface Pages {
  readonly pages: readonly Page[];
  readonly forms?: readonly Form[];
}

/** What is no fault of what a person typed. */
const NOT_TYPED = /^(?:STORE_|BUSY$|NOT_FOUND$)/;

/**
 * Shows a page `again` for a fault that the person can mend, so that what was typed is not lost. `also` is a
 * code that the person can mend on this page, although that is not so on others.
 */
export async function orAgain<T>(
  submit: () => Promise<T>,
  again: (fault: string) => View | Promise<View>,
  also?: ErrorCode,
): Promise<T | View> {
  try {
    return await submit();
  } catch (thrown) {
    if (!(thrown instanceof CountersignError)) throw thrown;
    if (NOT_TYPED.test(thrown.code) && thrown.code !== also) throw thrown;
    return { ...(await again(`${thrown.message}.`)), status: 422 };
  }
}

interface FormOf<P, I extends z.ZodObject, R> {
  readonly path: string;
  readonly parts: () => P;
  /** What the person has typed, as the act takes it. Throws a CountersignError. */
  readonly read: (request: FormRequest) => z.input<I> | Promise<z.input<I>>;
  /** Where the browser goes afterwards, a path of `link`. */
  readonly to: (request: FormRequest, result: R) => string;
  /** What the act would change, for forms that show that before they do it. */
  readonly preview?: (request: FormRequest) => Promise<View>;
  readonly alsoFor?: Form['alsoFor'];
  /** The page for a fault that the person can mend. */
  readonly again?: (request: FormRequest, fault: string) => View | Promise<View>;
}

/** The value of the button `do` that performs an act after its preview. */
export const CONFIRM = 'change';

/** What a form without a readable version has seen. No version is below zero, so the act is refused. */
const NO_VERSION = -1;

/**
 * The form of an act. With a preview, only the button {@link CONFIRM} performs it, on the version that was
 * shown.
 */
export function formOf<P, I extends z.ZodObject, R>(
  act: Act<P, I, R>,
  { path, parts, read, to, preview, alsoFor, again }: FormOf<P, I, R>,
): Form {
  async function done(request: FormRequest): Promise<Redirect> {
    const version = request.form.get('version') ?? '';
    const seen = act.version && (/^\d{1,15}$/.test(version) ? Number(version) : NO_VERSION);
    const { person, fourEyes } = request;
    const given = parts();
    const result = await perform(act, given, await read(request), { by: authorOf(person), seen, fourEyes });
    const late = seen === undefined ? '' : await overtaken(act, given, result, seen);
    return { to: to(request, result), notice: `${(act.notice ?? act.text)(result)}${late}` };
  }
  return {
    path,
    role: act.role,
    alsoFor,
    async submit(request) {
      const isPreview = preview !== undefined && request.form.get('do') !== CONFIRM;
      const submit = async (): Promise<Redirect | View> => {
        try {
          return await (isPreview ? preview(request) : done(request));
        } catch (thrown) {
          if (!(thrown instanceof CountersignError && thrown.code === 'AWAITS_SIGNATURES')) throw thrown;
          return {
            to: link`/approvals/${String(thrown.data['request'])}`,
            notice: `It waits: ${thrown.message}.`,
          };
        }
      };
      if (again === undefined) return submit();
      return orAgain(submit, (fault) => again(request, fault), isPreview ? undefined : 'NOT_FOUND');
    },
  };
}
