/** What a stored text says as JSON; the text itself if it is none, so that nobody is kept from seeing it. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
