import { type SettingKey, settingKeys, variableOf } from './keys.ts';

/** docs/settings.md: every setting with its meaning, its default and its variable. */
export function settingsReference(): string {
  return [INTRODUCTION, ...settingKeys().map(entry)].join('\n\n') + '\n';
}

const INTRODUCTION = `# Settings

<!-- Generated from the schema of the settings by \`npm run generate\`. -->

One YAML file: the one that \`--config\` names, else the one in \`COUNTERSIGN_CONFIG\`, else \`config/countersign.yaml\`.
\`config/countersign.example.yaml\` has every setting at its default. An editor that knows
\`config/schemas/settings.schema.json\` completes and checks them.

Every setting can also be set by an environment variable, which wins over the file: \`COUNTERSIGN_\` and the path in
capitals, elements of lists by their number from 0 on. A variable that begins so and names no setting is a fault, unless
a secret is referred to by it. Without a file at all, set \`COUNTERSIGN_CONFIG=/dev/null\`.

Secrets never stand in the settings. Where one is needed, it is named: \`{ file: PATH }\` or \`{ env: NAME }\`. A file is read
again when it changes, without a restart.

Relative paths in the settings, those of variables included, begin in the folder of the settings file: every command means
the same files, wherever it is called. Where the settings are no file (\`/dev/null\`), and on the command line, they begin at
the working directory.

Times are in milliseconds where a name ends in \`Ms\`. All faults are reported at once, each with its place and its cure, and
the service does not start with any.`;

function entry(key: SettingKey): string {
  const facts = [`${capitalised(key.types.join(', or '))}.`, defaultOf(key)];
  if (key.variable !== undefined) facts.push(`Variable \`${variableOf(key.path)}\`.`);
  const title = `${key.path.length === 1 ? '##' : '###'} \`${key.path.join('.').replaceAll('.*', '[n]')}\``;
  const paragraphs = [title, key.description, facts.filter((fact) => fact !== '').join(' ')];
  return paragraphs.filter((paragraph) => paragraph !== '').join('\n\n');
}

function defaultOf(key: SettingKey): string {
  if (key.default === undefined) return '';
  return `Default: \`${typeof key.default === 'string' ? key.default : JSON.stringify(key.default)}\`.`;
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
