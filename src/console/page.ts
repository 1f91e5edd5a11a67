import { CountersignError } from '../errors.ts';
import type { Html } from './html.ts';

/** What a person may do. `operate` includes `read`. */
export const ROLES = ['read', 'operate'] as const;
export type Role = (typeof ROLES)[number];

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

export interface ActRequest extends PageRequest {
  /** The fields of the form. */
  readonly form: URLSearchParams;
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

/** After an act, the browser goes to `to`, a path of `link`, and shows the notice there once. */
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
  show(request: PageRequest): Promise<View | Download>;
}

/** Something that a person does by a form: a POST to `path`, which may be that of a page. */
export interface Act {
  readonly path: string;
  readonly role: Role;
  /** Throws a CountersignError for what the person can mend: it is shown with status 422. */
  perform(request: ActRequest): Promise<Redirect | View>;
}

/** The pages and acts of a file of `pages/`. */
export interface Pages {
  readonly pages: readonly Page[];
  readonly acts?: readonly Act[];
}

/** What is no fault of what a person typed. */
const NOT_TYPED = /^(?:STORE_|BUSY$|NOT_FOUND$)/;

/** Shows a page `again` for a fault that the person can mend, so that what was typed is not lost. */
export async function orAgain<T>(
  perform: () => Promise<T>,
  again: (fault: string) => View | Promise<View>,
): Promise<T | View> {
  try {
    return await perform();
  } catch (thrown) {
    if (!(thrown instanceof CountersignError) || NOT_TYPED.test(thrown.code)) throw thrown;
    return { ...(await again(`${thrown.message}.`)), status: 422 };
  }
}
