import type { z } from 'zod';
import { filePath, list, oneOf, section, wholeNumber } from './fields.ts';

const SERIAL_MAX = 999_999_999_999_999;

/** Who must sign what takes effect. */
export const signers = section({
  file: filePath.describe(
    'People who may always sign, in the form of people.yaml: the anchor of trust. Only an administrator of the ' +
      'service should be able to write it.',
  ),
  threshold: wholeNumber(1, 20)
    .optional()
    .describe('So many different people must sign a revision. Without it, 2.'),
  tighten: wholeNumber(1, 20)
    .optional()
    .describe(
      'So many suffice for a revision that approves nothing that was refused before, and changes no people, for a ' +
        'service that remembers in `state` what was in force. Without it, as many as `threshold`.',
    ),
  minSerial: wholeNumber(1, SERIAL_MAX)
    .optional()
    .describe(
      'Revisions with a lower serial are refused, such as an old one that somebody restores with the store. Raise ' +
        'it now and then to the serial in force (`countersign policy verify`), and after a thousand pushes where ' +
        'there is no `state`. Without it, 1.',
    ),
  state: filePath
    .optional()
    .describe(
      'File in which the service keeps the highest serial that it has followed. Without it, only `minSerial` refuses ' +
        'old revisions after a restart.',
    ),
});

const FOUR_EYES = ['unfreeze', 'lists', 'prices', 'orders', 'releases', 'lockouts', 'clock'] as const;

export const fourEyes = list(oneOf(FOUR_EYES), 0, FOUR_EYES.length, 'names')
  .default([])
  .describe(
    'What an operator does alone only as far as it tightens. What may approve more waits until a second person has ' +
      'signed it, of those in `signers.file` and in people.yaml with the role operate. The command line, the API and ' +
      'the console need the same list. See docs/signatures.md.',
  );

/** How many must sign. */
export const thresholdsOf = ({
  threshold = 2,
  tighten = threshold,
}: Partial<Pick<z.output<typeof signers>, 'threshold' | 'tighten'>>): {
  readonly threshold: number;
  readonly tighten: number;
} => ({ threshold, tighten });
