/**
 * What a page in docs/rules says of a rule besides its parameters. A page has the sections Notes, Example and
 * Tests of the example; after the example, files that it refers to.
 */
export interface RulePage {
  /** Sentences, each with code between backticks. */
  readonly notes: readonly string[];
  /** A whole policy with the rule, as YAML. */
  readonly example: string;
  /** Files that the example refers to, by name: list files, `assets.yaml`, ABIs. */
  readonly files: Readonly<Record<string, string>>;
  /** Tests of the example, as in a test file (`*.test.yaml`). */
  readonly cases: string;
}

/** Reads a page. Throws an Error that names what the page lacks. */
export function readRulePage(page: string): RulePage {
  const example = section(page, 'Example');
  const cases = section(page, 'Tests of the example');
  const files = [...example.matchAll(/^The file `([^`]+)`:\n\n```\w+\n(.*?)^```$/gms)];
  return {
    notes: section(page, 'Notes')
      .split(/^- /m)
      .map((note) => note.trim().replaceAll(/\n\s*/g, ' '))
      .filter((note) => note !== ''),
    example: yamlIn(example, 'Example'),
    files: Object.fromEntries(files.map(([, name = '', text = '']) => [name, text])),
    cases: yamlIn(cases, 'Tests of the example'),
  };
}

function section(page: string, title: string): string {
  const text = page.split(/^## /m).find((each) => each.startsWith(`${title}\n`));
  if (text === undefined) throw new Error(`the page has no section ${title}`);
  return text.slice(title.length + 1);
}

/** The first block of YAML. */
function yamlIn(text: string, title: string): string {
  const [, yaml] = /^```yaml\n(.*?)^```$/ms.exec(text) ?? [];
  if (yaml === undefined) throw new Error(`the section ${title} has no block of YAML`);
  return yaml;
}
