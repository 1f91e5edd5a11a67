import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

/**
 * Preloaded by `--import`: writes the address of each module to the file that LOADED_MODULES names, a line
 * each.
 */
const file = process.env['LOADED_MODULES'];
if (file === undefined) throw new Error('LOADED_MODULES names no file');
registerHooks({
  load(url, context, next) {
    appendFileSync(file, `${url}\n`);
    return next(url, context);
  },
});
