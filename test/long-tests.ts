import { globSync, readFileSync } from 'node:fs';

/** Prints which tests `npm test` leaves to `npm run test:long`. */
const files = globSync('test/**/*.long.test.ts').toSorted();
const lines = files.map((file) => {
  const title = /describe[\w.]*(?:\([^)]*\)(?: as const\))?)?\(\s*['"`](.*?)['"`],/s.exec(
    readFileSync(file, 'utf8'),
  )?.[1];
  return `  ${file.padEnd(62)} ${title?.replace(/,? on (?:%s|\$name)$/, '') ?? ''}`.trimEnd();
});
process.stdout.write(`\nnpm run test:long adds ${files.length} files:\n${lines.join('\n')}\n`);
