import type { Approved } from './rules.ts';

/*
 * What people were asked about callbacks, and what they did: docs/approvals.md once more, as plainly as can be.
 */

interface Request {
  readonly terms: string;
  readonly askedAtMs: number;
  readonly untilMs: number;
  /** Whose signatures hold. */
  readonly by: Set<string>;
  ended: 'no' | 'rejected' | 'used';
  /** What people are asked to sign is no longer about the callback. */
  isSpoilt: boolean;
}

/** The requests about callbacks, by a name of each subject. */
export class RequestsModel {
  readonly #requests = new Map<string, Request>();
  readonly #withinMs: number;

  constructor(withinMs: number) {
    this.#withinMs = withinMs;
  }

  /** A callback was refused only for lack of approval. Those who rejected or approved are not asked again. */
  ask(subject: string, terms: string, atMs: number): void {
    const before = this.#requests.get(subject);
    if (before !== undefined && (before.ended !== 'no' || atMs < before.untilMs)) return;
    const untilMs = atMs + this.#withinMs;
    const by = new Set<string>();
    this.#requests.set(subject, { terms, askedAtMs: atMs, untilMs, by, ended: 'no', isSpoilt: false });
  }

  /** Whether people can still approve or reject it. */
  isOpen(subject: string, atMs: number): boolean {
    const request = this.#requests.get(subject);
    return request?.ended === 'no' && atMs < request.untilMs;
  }

  /** Whether what people are asked to sign is still about the callback. Nobody can sign anything else. */
  isWhole(subject: string): boolean {
    return this.#requests.get(subject)?.isSpoilt === false;
  }

  hasSigned(subject: string, person: string): boolean {
    return this.#requests.get(subject)?.by.has(person) === true;
  }

  /** A signature of this request by a key of the person. A second one, with whatever key, adds nothing. */
  sign(subject: string, person: string): void {
    this.#requests.get(subject)?.by.add(person);
  }

  end(subject: string, how: 'rejected' | 'used'): void {
    const request = this.#requests.get(subject);
    if (request !== undefined) request.ended = how;
  }

  /** What was signed before is no signature of what people are asked to sign now. */
  spoil(subject: string): void {
    const request = this.#requests.get(subject);
    if (request === undefined) return;
    request.isSpoilt = true;
    request.by.clear();
  }

  /** What the rule counts. Undefined: nothing. */
  approved(subject: string, terms: string): Approved | undefined {
    const request = this.#requests.get(subject);
    if (request === undefined || request.terms !== terms) return undefined;
    const { ended, isSpoilt, by, askedAtMs, untilMs } = request;
    return isSpoilt || ended === 'rejected' ? undefined : { by: [...by], askedAtMs, untilMs };
  }
}
