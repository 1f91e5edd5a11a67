import { usageError } from '../errors.ts';
import { type Html, type Renderable, html, verbatim } from './html.ts';

/** What a person has written, without blanks around it; undefined for nothing. */
export function written(values: URLSearchParams, name: string): string | undefined {
  const value = values.get(name)?.trim() ?? '';
  return value === '' ? undefined : value;
}

/** As long as a reason may be, in characters. */
const REASON_MAX = 1000;

/** The reason that a person gives for a change. Throws USAGE if there is none, or if it is too long. */
export function reasonIn(values: URLSearchParams, name: string, why: string): string {
  const reason = written(values, name) ?? '';
  if (reason === '') throw usageError(`The reason is empty. Say why ${why}`);
  if (reason.length <= REASON_MAX) return reason;
  throw usageError(`The reason has ${reason.length} characters. Write at most ${REASON_MAX}`);
}

/** One of the values, or undefined for nothing. Throws USAGE for anything else. */
export function oneOf<T extends string>(
  values: URLSearchParams,
  name: string,
  allowed: readonly T[],
): T | undefined {
  const value = written(values, name);
  const found = allowed.find((each) => each === value);
  if (value === undefined || found !== undefined) return found;
  throw usageError(`${name} ${value} is not known. Choose one of ${allowed.join(', ')}`);
}

/** A field for text, with what it holds. */
export const textField = (label: Renderable, name: string, value: string | undefined, hint = ''): Html =>
  html`<label
    >${label}<input
      name="${name}"
      value="${verbatim(value ?? '')}"
      autocomplete="off"
      ${hint !== '' && html` placeholder="${hint}"`}
  /></label>`;

/** A field with choices; the first one stands for nothing chosen. `textOf` is what people read of a choice. */
export const choiceField = (
  label: Renderable,
  name: string,
  value: string | undefined,
  choices: readonly string[],
  nothing = 'any',
  textOf: (choice: string) => string = (choice) => choice,
): Html =>
  html`<label
    >${label}<select name="${name}">
      <option value="">${nothing}</option>
      ${choices.map(
        (choice) =>
          html`<option value="${choice}" ${choice === value && html` selected`}>${textOf(choice)}</option>`,
      )}
    </select></label
  >`;

/** The field of {@link reasonIn}. */
export const reasonField = (label: string, name: string, value = '', isRequired = true): Html =>
  html`<label class="wide"
    >${label}
    <input
      name="${name}"
      value="${verbatim(value)}"
      ${isRequired && html` required`}
      maxlength="${REASON_MAX}"
      autocomplete="off"
  /></label>`;

/** What a form sends without showing it. */
export const hiddenFields = (values: Readonly<Record<string, string | number | undefined>>): Html =>
  html`${Object.entries(values).map(
    ([name, value]) =>
      value !== undefined && html`<input type="hidden" name="${name}" value="${verbatim(String(value))}" />`,
  )}`;
