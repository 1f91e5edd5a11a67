import { z } from 'zod';

/** A detail, or a line that ends in one, with its proposal set apart. */
export interface ProposalApart {
  /** All but the proposal, if it could be set apart. */
  readonly rest: unknown;
  /** Reads it when it is asked for; undefined if there is none that can be read. */
  readonly proposal: () => unknown;
  /** The version of the prices that it was evaluated with; 0 if they did not matter. */
  readonly prices: number;
}

const BEGINNING = ',"proposal":{';
/** How a proposal ends that is the last member of a detail, or of a line whose last member is the detail. */
const END = /"prices":(\d{1,15}),"validFromMs":\d{1,16},"validUntilMs":\d{1,16}\}(\}{1,2})$/;
const END_CHARACTERS = 200;

/**
 * Reads JSON text but for the proposal at its end. That is most of an entry, and only those whose verdict has
 * changed are asked about it. Within a JSON string no quote stands unescaped, so what is looked for here is
 * never a part of one. Throws SyntaxError.
 */
export function readApart(text: string): ProposalApart {
  const at = text.indexOf(BEGINNING);
  const end = at === -1 ? null : END.exec(text.slice(-END_CHARACTERS));
  const [, prices = '0', closing = ''] = end ?? [];
  const rest = end === null ? undefined : readOrNone(text.slice(0, at) + closing);
  if (rest === undefined) return readWhole(text);
  const begin = at + BEGINNING.length - 1;
  return {
    rest,
    proposal: () => readOrNone(text.slice(begin, text.length - closing.length)),
    prices: Number(prices),
  };
}

const withProposal = z.object({ proposal: z.looseObject({ prices: z.number().optional() }) });
const holdingDetail = z.object({ detail: withProposal });

function readWhole(text: string): ProposalApart {
  const rest: unknown = JSON.parse(text);
  const proposal =
    withProposal.safeParse(rest).data?.proposal ?? holdingDetail.safeParse(rest).data?.detail.proposal;
  return { rest, proposal: () => proposal, prices: proposal?.prices ?? 0 };
}

function readOrNone(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
