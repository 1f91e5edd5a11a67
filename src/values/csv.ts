/** The fields of a CSV line (RFC 4180), or what is wrong with it. A field can't have a line break. */
export function readCsvLine(text: string): readonly string[] | string {
  if (!text.includes('"')) return text.split(',');
  const fields: string[] = [];
  for (let at = 0; ;) {
    const end = text[at] === '"' ? closingQuote(text, at) : nextComma(text, at);
    if (end === -1) return 'a quoted field has no closing quote';
    const field = text.slice(at, end);
    if (field.startsWith('"')) fields.push(field.slice(1, -1).replaceAll('""', '"'));
    else if (field.includes('"')) return 'a quote is within a field that does not begin with one';
    else fields.push(field);
    if (end === text.length) return fields;
    if (text[end] !== ',') return 'text follows the closing quote of a field';
    at = end + 1;
  }
}

const nextComma = (text: string, from: number): number => {
  const found = text.indexOf(',', from);
  return found === -1 ? text.length : found;
};

/** The place after the quote that closes the field, or -1. */
function closingQuote(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] !== '"') continue;
    if (text[at + 1] !== '"') return at + 1;
    at++;
  }
  return -1;
}

/** Also what may be a formula, so that a program that takes quoted fields for text takes it for text. */
const NEEDS_QUOTES = /[",\r\n]|^[=+@\t]|^-(?!\d+(?:\.\d+)?$)/;

/** A line without its line break. No field is changed: an id with another character is another id. */
export function csvLine(fields: readonly string[]): string {
  return fields
    .map((field) => (NEEDS_QUOTES.test(field) ? `"${field.replaceAll('"', '""')}"` : field))
    .join(',');
}
