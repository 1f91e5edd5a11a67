import { CountersignError } from '../errors.ts';
import { type Html, type Renderable, html, verbatim } from './html.ts';

/** What a person has written, without blanks around it; undefined for nothing. */
export function written(values: URLSearchParams, name: string): string | undefined {
  const value = values.get(name)?.trim() ?? '';
  return value === '' ? undefined : value;
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
  throw new CountersignError('USAGE', `${name} ${value} is not known. Choose one of ${allowed.join(', ')}`);
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

/** A field with choices; the first one stands for nothing chosen. */
export const choiceField = (
  label: Renderable,
  name: string,
  value: string | undefined,
  choices: readonly string[],
  nothing = 'any',
): Html =>
  html`<label
    >${label}<select name="${name}">
      <option value="">${nothing}</option>
      ${choices.map(
        (choice) => html`<option value="${choice}" ${choice === value && html` selected`}>${choice}</option>`,
      )}
    </select></label
  >`;
