import { stringify } from 'yaml';
import type { Json } from './canonical.ts';

/** A value of which every scalar is a text, as YAML that this program reads again as the same value. */
export const yamlText = (value: Json): string => stringify(value, { schema: 'failsafe', lineWidth: 0 });

/** The same on one line. */
export const yamlLine = (value: Json): string =>
  stringify(value, { schema: 'failsafe', lineWidth: 0, collectionStyle: 'flow' }).trimEnd();
