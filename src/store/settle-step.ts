import { subjectOf, termsOf } from '../callback/callback.ts';
import type { Choice, Proposal } from '../policy/proposal.ts';
import type { NotificationRequest, SettleRequest } from './store.ts';

/** A settle request as a store's atomic step needs it: short plain data, which can be sent to a thread. */
export type SettleStep = Readonly<ReturnType<typeof settleStepOf>>;

export function settleStepOf({ callback, proposal, scheme, detail }: SettleRequest) {
  return {
    source: callback.source,
    subject: subjectOf(callback),
    terms: termsOf(callback),
    scheme,
    question: callback.question.type,
    speedUp: callback.question.speedUp,
    revision: proposal.revision,
    validFromMs: proposal.validFromMs,
    validUntilMs: proposal.validUntilMs,
    approves: proposal.approves,
    /** The code of the decision if the proposal itself refuses. */
    refusalCode: proposal.refusal ?? ('RULE_REFUSED' as const),
    retryable: proposal.retryable,
    /** Whether the proposal's refusal counts for lock-outs: see RefusalsClaim. */
    refusalCounts: !proposal.approves && proposal.refusal === undefined && proposal.failed !== true,
    prices: proposal.prices,
    claims: proposal.claims,
    choices: stepChoices(proposal),
    detail,
  };
}

/**
 * Alternatives, of which the store takes the first one whose claims all hold. An alternative is a list of
 * claims, by their indexes, and of further choices. The claims of alternatives are checked only as needed.
 */
export interface StepChoice {
  /** False for `mode: observe`: no alternative needs to hold. */
  readonly decides: boolean;
  /** See Choice. A refusal is also decided again if a claim of an alternative that failed says so. */
  readonly retryable: boolean;
  /** Whether its refusal counts for lock-outs: see RefusalsClaim. */
  readonly refusalCounts: boolean;
  readonly alternatives: readonly (readonly (number | StepChoice)[])[];
}

const NONE: readonly StepChoice[] = [];

/** In place of a result that has no claim, by which an alternative would hold unchecked. */
const NEVER: StepChoice = {
  decides: true,
  retryable: false,
  refusalCounts: false,
  alternatives: [],
};

function stepChoices({ choices, claims }: Pick<Proposal, 'choices' | 'claims'>): readonly StepChoice[] {
  if (choices === undefined) return NONE;
  const claimsOf = Map.groupBy(claims.keys(), (index) => claims[index]?.result);
  const stepChoice = ({ decides, retryable, failed, alternatives }: Choice): StepChoice => ({
    decides,
    retryable,
    refusalCounts: failed !== true,
    alternatives: alternatives
      .map(({ requires }) => requires)
      .filter((requires) => requires !== undefined)
      .map((requires) =>
        requires.flatMap((requirement): readonly (number | StepChoice)[] =>
          typeof requirement === 'object'
            ? [stepChoice(requirement)]
            : (claimsOf.get(requirement) ?? [NEVER]),
        ),
      ),
  });
  return choices.map(stepChoice);
}

/** The claims that belong to alternatives. */
export function claimsInChoices(choices: readonly StepChoice[]): ReadonlySet<number> {
  const found = new Set<number>();
  const add = ({ alternatives }: StepChoice): void => {
    for (const item of alternatives.flat()) {
      if (typeof item === 'number') found.add(item);
      else add(item);
    }
  };
  choices.forEach(add);
  return found;
}

/** A notification as a store's atomic step needs it. */
export type NotificationStep = Readonly<ReturnType<typeof notificationStepOf>>;

export function notificationStepOf({ callback, txid, detail }: NotificationRequest) {
  return { source: callback.source, subject: subjectOf(callback), terms: termsOf(callback), txid, detail };
}
